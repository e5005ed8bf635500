//! The answer to one request, read as it comes: RFC 9112 message framing. The head is parsed by `httparse`, the
//! body is counted and thrown away.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Status};

use crate::chunked::Chunked;

/// A head longer than this is called nonsense.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;
/// More interim answers (1xx) than this before the true one are called nonsense.
const MAX_INTERIM: u8 = 16;

#[derive(Clone, Copy, Debug)]
enum Body {
    /// The head is not whole yet.
    Head,
    /// This many bytes are still to come.
    Sized(u64),
    Chunked(Chunked),
    /// Everything until the server closes.
    UntilClose,
}

/// How far the answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    /// The answer is whole; the connection may carry another request where `reusable`.
    Whole {
        reusable: bool,
    },
    /// This is not HTTP.
    Broken,
}

/// Reads one answer at a time; one of these lives as long as its connection.
#[derive(Debug)]
pub(crate) struct Response {
    body: Body,
    /// A head that did not come in one piece.
    partial: Vec<u8>,
    /// The request was HEAD: whatever the head says, no body follows.
    bodyless: bool,
    keep_alive: bool,
    interim: u8,
    /// 0 until the head is whole.
    pub status: u16,
    /// Content received.
    pub bytes: u64,
}

impl Response {
    pub fn new() -> Self {
        Self {
            body: Body::Head,
            partial: Vec::new(),
            bodyless: false,
            keep_alive: true,
            interim: 0,
            status: 0,
            bytes: 0,
        }
    }

    /// Forget the last answer and await that to a new request.
    pub fn expect(&mut self, to_head: bool) {
        self.body = Body::Head;
        self.partial.clear();
        self.bodyless = to_head;
        self.keep_alive = true;
        self.interim = 0;
        self.status = 0;
        self.bytes = 0;
    }

    /// Bytes that are certain to be content of this answer, and nothing else, whatever they are.
    pub fn certain(&self) -> u64 {
        if let Body::Sized(left) = self.body { left } else { 0 }
    }

    /// `n` of the [`certain`](Self::certain) bytes came.
    pub fn skipped(&mut self, n: u64) -> Progress {
        self.bytes += n;
        match &mut self.body {
            Body::Sized(left) if *left > n => {
                *left -= n;
                Progress::More
            }
            _ => Progress::Whole { reusable: self.keep_alive },
        }
    }

    /// Takes the next bytes of the connection.
    pub fn feed(&mut self, input: &[u8]) -> Progress {
        if let Body::Head = self.body { self.feed_head(input) } else { self.feed_body(input) }
    }

    /// The server has closed. True where that ends the answer in good order.
    pub fn closed(&self) -> bool {
        matches!(self.body, Body::UntilClose)
    }

    fn feed_head(&mut self, input: &[u8]) -> Progress {
        if self.partial.is_empty() {
            return match self.parse(input) {
                Ok(Some(used)) => self.behind_head(&input[used..]),
                Ok(None) => self.keep(input),
                Err(()) => Progress::Broken,
            };
        }
        if self.keep(input) == Progress::Broken {
            return Progress::Broken;
        }
        // A head ends with a line end: without one in the new bytes there is nothing to parse, and a head that
        // comes byte by byte is not parsed at every byte.
        if !input.contains(&b'\n') {
            return Progress::More;
        }
        let whole = std::mem::take(&mut self.partial);
        let progress = match self.parse(&whole) {
            Ok(Some(used)) => self.behind_head(&whole[used..]),
            Ok(None) => {
                self.partial = whole;
                return Progress::More;
            }
            Err(()) => Progress::Broken,
        };
        if self.partial.is_empty() {
            self.partial = whole;
            self.partial.clear();
        }
        progress
    }

    fn keep(&mut self, input: &[u8]) -> Progress {
        self.partial.extend_from_slice(input);
        if self.partial.len() > MAX_HEAD { Progress::Broken } else { Progress::More }
    }

    /// The length of the head `input` starts with, once it is whole.
    fn parse(&mut self, input: &[u8]) -> Result<Option<usize>, ()> {
        let mut headers = [const { MaybeUninit::<Header<'_>>::uninit() }; MAX_HEADERS];
        let mut head = httparse::Response::new(&mut []);
        let parsed = ParserConfig::default().parse_response_with_uninit_headers(&mut head, input, &mut headers);
        let used = match parsed {
            Ok(Status::Complete(used)) if used <= MAX_HEAD => used,
            Ok(Status::Partial) => return Ok(None),
            _ => return Err(()),
        };
        self.status = head.code.unwrap_or(0);
        self.frame(head.version == Some(1), head.headers)?;
        Ok(Some(used))
    }

    /// Message body length, RFC 9112 §6.3.
    fn frame(&mut self, http11: bool, headers: &[Header<'_>]) -> Result<(), ()> {
        let (mut length, mut coded, mut chunked) = (None, false, false);
        self.keep_alive = http11;
        for header in headers {
            // The length of a name tells nearly all headers apart from the three that matter.
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    let value = decimal(header.value).ok_or(())?;
                    if length.is_some_and(|other| other != value) {
                        return Err(());
                    }
                    length = Some(value);
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    coded = true;
                    chunked = last_token_is(header.value, b"chunked");
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    if has_token(header.value, b"close") {
                        self.keep_alive = false;
                    } else if has_token(header.value, b"keep-alive") {
                        self.keep_alive = true;
                    }
                }
                _ => {}
            }
        }
        self.body = match self.status {
            101 => return Err(()),
            100..=199 if self.interim == MAX_INTERIM => return Err(()),
            100..=199 => {
                self.interim += 1;
                Body::Head
            }
            _ if self.bodyless => Body::Sized(0),
            204 | 304 => Body::Sized(0),
            _ if chunked => Body::Chunked(Chunked::new()),
            _ if coded => Body::UntilClose,
            _ => length.map_or(Body::UntilClose, Body::Sized),
        };
        if matches!(self.body, Body::UntilClose) || (coded && length.is_some()) {
            self.keep_alive = false;
        }
        Ok(())
    }

    fn behind_head(&mut self, rest: &[u8]) -> Progress {
        match self.body {
            // An interim answer (1xx): the true one follows.
            Body::Head => {
                self.status = 0;
                if rest.is_empty() { Progress::More } else { self.feed_head(rest) }
            }
            _ => self.feed_body(rest),
        }
    }

    fn feed_body(&mut self, input: &[u8]) -> Progress {
        let (used, whole) = match &mut self.body {
            Body::Head => return Progress::Broken,
            Body::Sized(left) => {
                let used = (*left).min(input.len() as u64);
                *left -= used;
                self.bytes += used;
                (used as usize, *left == 0)
            }
            Body::Chunked(coding) => match coding.feed(input) {
                Some(piece) => {
                    self.bytes += piece.content;
                    (piece.used, piece.end)
                }
                None => return Progress::Broken,
            },
            Body::UntilClose => {
                self.bytes += input.len() as u64;
                (input.len(), false)
            }
        };
        if !whole {
            return Progress::More;
        }
        // Bytes nobody asked for: what comes next on this connection cannot be trusted.
        Progress::Whole { reusable: self.keep_alive && used == input.len() }
    }
}

/// Digits and nothing else, RFC 9110 §8.6.
fn decimal(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|b| *b == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

fn last_token_is(value: &[u8], token: &[u8]) -> bool {
    value.rsplit(|b| *b == b',').next().is_some_and(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &[u8], cut: usize, to_head: bool) -> (Progress, u16, u64) {
        let mut response = Response::new();
        response.expect(to_head);
        let mut progress = Progress::More;
        for piece in [&answer[..cut], &answer[cut..]] {
            if progress == Progress::More && !piece.is_empty() {
                progress = response.feed(piece);
            }
        }
        (progress, response.status, response.bytes)
    }

    const WHOLE: Progress = Progress::Whole { reusable: true };

    #[test]
    fn an_answer_cut_anywhere_is_the_same_answer() {
        let answers: [&[u8]; 3] = [
            b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-LENGTH: 5\r\n\r\nhello",
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello",
        ];
        for answer in answers {
            for cut in 0..answer.len() {
                assert_eq!(read(answer, cut, false), (WHOLE, 200, 5), "cut at {cut}");
            }
        }
    }

    #[test]
    fn an_answer_byte_by_byte_is_the_same_answer() {
        let mut response = Response::new();
        response.expect(false);
        let answer = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
        let (last, before) = answer.split_last().unwrap();
        assert!(before.iter().all(|b| response.feed(&[*b]) == Progress::More));
        assert_eq!((response.feed(&[*last]), response.status, response.bytes), (WHOLE, 200, 2));
    }

    #[test]
    fn answers_to_head_and_those_without_content_end_with_their_head() {
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", 0, true).0, WHOLE);
        assert_eq!(read(b"HTTP/1.1 204 No Content\r\n\r\n", 0, false).0, WHOLE);
        assert_eq!(read(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 900\r\n\r\n", 0, false).0, WHOLE);
    }

    #[test]
    fn an_answer_without_length_ends_when_the_server_closes() {
        let mut response = Response::new();
        response.expect(false);
        assert_eq!(response.feed(b"HTTP/1.1 200 OK\r\n\r\nabc"), Progress::More);
        assert!(response.closed());
        assert_eq!(response.bytes, 3);
    }

    #[test]
    fn a_connection_is_not_reused_against_the_servers_wish_or_behind_stray_bytes() {
        for answer in [
            &b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na"[..],
            b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n1\r\na\r\n0\r\n\r\n",
        ] {
            assert_eq!(read(answer, 0, false).0, Progress::Whole { reusable: false });
        }
    }

    #[test]
    fn nonsense_is_broken() {
        let mut endless = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        endless.resize(MAX_HEAD + 1, b'a');
        for answer in [
            &b"SSH-2.0-OpenSSH\r\n"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            &endless,
        ] {
            assert_eq!(read(answer, 0, false).0, Progress::Broken);
        }
    }
}
