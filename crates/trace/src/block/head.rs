//! The first requests of a trace, as a person looks at a file before doing more with it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::notes::FileNote;
use super::{Options, TraceError, open};

/// Which traces to look at.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadOptions {
    pub paths: Vec<PathBuf>,
    /// How many requests.
    pub requests: u64,
    #[serde(default)]
    pub read: Options,
}

/// How they begin.
#[derive(Debug, Serialize)]
pub struct Headed {
    pub files: Vec<FileNote>,
    /// Time of the first request on the clock of the file.
    pub origin_ns: i64,
    pub requests: Vec<Row>,
    /// What can be told from these requests alone.
    pub warnings: Vec<String>,
}

/// One request.
#[derive(Debug, Serialize)]
pub struct Row {
    pub at_ns: i64,
    pub device: u32,
    /// Where the format names devices by text.
    pub device_name: Option<String>,
    pub op: &'static str,
    pub offset: u64,
    pub bytes: u64,
    pub asynchronous: Option<bool>,
    pub response_ns: Option<i64>,
}

/// The first requests in time order.
pub fn head(options: &HeadOptions) -> Result<Headed, TraceError> {
    let mut reader = open(&options.paths, &options.read)?;
    let mut records = Vec::new();
    while (records.len() as u64) < options.requests {
        match reader.next() {
            Some(record) => records.push(record?),
            None => break,
        }
    }
    let notes = reader.notes();
    let name = |device| notes.devices.iter().find(|d| d.number == device).and_then(|d| d.name.clone());
    let requests = records
        .iter()
        .map(|r| Row {
            at_ns: r.at.0,
            device: r.device,
            device_name: name(r.device),
            op: r.op.name(),
            offset: r.offset,
            bytes: r.bytes,
            asynchronous: r.asynchronous,
            response_ns: r.response.map(|r| r.0),
        })
        .collect();
    Ok(Headed { files: notes.files, origin_ns: notes.origin_ns, requests, warnings: notes.warnings })
}
