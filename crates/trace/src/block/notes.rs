//! What was learnt of a trace while it was read.

use std::path::PathBuf;

use serde::Serialize;

/// What a reader knows of its traces beside the requests.
#[derive(Clone, Debug, Serialize)]
pub struct Notes {
    pub files: Vec<FileNote>,
    /// In order of their numbers.
    pub devices: Vec<Device>,
    pub requests: u64,
    /// Time of the first request on the clock of the file.
    pub origin_ns: i64,
    /// Requests that stood behind a later one in their file and were put in order.
    pub late: u64,
    /// Broken records left out.
    pub skipped: u64,
    pub first_skipped: Option<String>,
    pub warnings: Vec<String>,
}

/// One input.
#[derive(Clone, Debug, Serialize)]
pub struct FileNote {
    pub path: PathBuf,
    /// A name of [`super::format::TABLE`].
    pub format: &'static str,
    /// `plain`, `gzip`, `zstd`, `bzip2` or `xz`.
    pub compression: &'static str,
    pub requests: u64,
}

/// One device of the trace.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    pub number: u32,
    /// Where the format names devices by text.
    pub name: Option<String>,
    /// Where the trace tells it or it was given.
    pub bytes: Option<u64>,
    pub requests: u64,
    /// Highest byte touched, plus one.
    pub reach_bytes: u64,
}
