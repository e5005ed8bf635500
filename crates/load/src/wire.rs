//! Requests as they go over the wire, formatted ahead of time: a [`Batch`] holds the bytes of many requests in one
//! piece of memory, an [`Order`] is a place in it.

use std::sync::Arc;

use iojoule_record::{Op, Phase};

use crate::url::Url;

/// One request of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Trace time; 0 in a closed loop.
    pub offset_ns: i64,
    /// Number of the request in the whole load.
    pub seq: u64,
    pub object: u32,
    pub client: u32,
    /// Where in [`Batch::bytes`] the request stands.
    pub start: u32,
    pub end: u32,
    pub op: Op,
    pub phase: Phase,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub bytes: Vec<u8>,
    pub rows: Vec<Row>,
}

/// A request to be sent, with the instant it should be sent at.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub batch: Arc<Batch>,
    pub row: u32,
    pub seq: u64,
    pub planned_ns: i64,
    pub phase: Phase,
    /// It was sent once on a connection the server had already closed.
    pub retried: bool,
}

impl Order {
    pub fn row(&self) -> &Row {
        &self.batch.rows[self.row as usize]
    }

    pub fn bytes(&self) -> &[u8] {
        let row = self.row();
        &self.batch.bytes[row.start as usize..row.end as usize]
    }
}

/// Writes requests for one base URL.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    prefix: String,
    /// Everything behind the request line, the empty line apart.
    headers: String,
}

impl Format {
    /// `keep_alive` false asks the server to close after the answer.
    pub fn new(url: &Url, host: Option<&str>, keep_alive: bool) -> Self {
        let host = host.unwrap_or(&url.authority);
        let close = if keep_alive { "" } else { "Connection: close\r\n" };
        let agent = concat!("iojoule/", env!("CARGO_PKG_VERSION"));
        let headers = format!(" HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\nAccept: */*\r\n{close}");
        Self { prefix: url.prefix.clone(), headers }
    }

    /// Adds the request `method path` to `batch`.
    pub fn add(&self, batch: &mut Batch, method: &str, path: &str, mut row: Row) {
        let out = &mut batch.bytes;
        row.start = out.len() as u32;
        row.op = operation(method);
        out.extend_from_slice(method.as_bytes());
        out.push(b' ');
        if path != "*" {
            out.extend_from_slice(self.prefix.as_bytes());
            if !path.starts_with('/') {
                out.push(b'/');
            }
        }
        // A blank or a line end of a hand-made table would end the request line early.
        for &byte in path.as_bytes() {
            match byte {
                0..=b' ' | 0x7f.. => {
                    const HEX: &[u8; 16] = b"0123456789ABCDEF";
                    out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
                }
                _ => out.push(byte),
            }
        }
        out.extend_from_slice(self.headers.as_bytes());
        // A log tells that something was sent, not what: these go with no content.
        if matches!(method, "POST" | "PUT" | "PATCH") {
            out.extend_from_slice(b"Content-Length: 0\r\n");
        }
        out.extend_from_slice(b"\r\n");
        row.end = out.len() as u32;
        batch.rows.push(row);
    }
}

/// True where `method` is a token and can stand in a request line.
pub(crate) fn is_method(method: &str) -> bool {
    !method.is_empty() && method.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn operation(method: &str) -> Op {
    match method {
        "GET" => Op::Get,
        "HEAD" => Op::Head,
        "POST" => Op::Post,
        "PUT" => Op::Put,
        "DELETE" => Op::Delete,
        "OPTIONS" => Op::Options,
        _ => Op::Other,
    }
}

impl Row {
    /// A row yet without its bytes.
    pub fn new(seq: u64, offset_ns: i64, object: u32, client: u32, phase: Phase) -> Self {
        Self { offset_ns, seq, object, client, start: 0, end: 0, op: Op::Other, phase }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(method: &str, path: &str, keep_alive: bool) -> String {
        let url = Url::parse("http://h:81/base/").unwrap();
        let mut batch = Batch::default();
        Format::new(&url, None, keep_alive).add(&mut batch, method, path, Row::new(0, 0, 0, 0, Phase::Measure));
        String::from_utf8(batch.bytes).unwrap()
    }

    #[test]
    fn a_request_names_its_host_and_ends_with_an_empty_line() {
        let text = written("GET", "/a?b=c", true);
        assert!(text.starts_with("GET /base/a?b=c HTTP/1.1\r\nHost: h:81\r\n"));
        assert!(text.ends_with("\r\n\r\n") && !text.contains("close"));
        assert!(written("POST", "/", false).contains("\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
        assert!(written("OPTIONS", "*", true).starts_with("OPTIONS * HTTP/1.1\r\n"));
    }

    #[test]
    fn a_path_cannot_smuggle_a_second_request() {
        assert!(written("GET", "/a b\r\nX: y", true).starts_with("GET /base/a%20b%0D%0AX:%20y HTTP/1.1\r\n"));
        assert!(!is_method("GET /") && !is_method("") && is_method("M-SEARCH"));
    }
}
