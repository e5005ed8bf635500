//! A web server's requests as requests to the array below it: a prepared log ([`iojoule_trace::weblog`]) says which
//! object was asked for and when, `Files` where its blocks lie, `Memory` which of them the server
//! still holds, and [`WebSource`] sends the reads for the others and writes down when the web request had its first
//! and its last block.
//!
//! The server reads a file from its start in reads of `read_bytes`, as a kernel's read-ahead does, `reads_ahead` at a
//! time, the next when one has come: a large file on four resting drives waits for one after the other.

mod files;
mod memory;
mod report;
mod source;
mod table;
mod visit;

use std::path::PathBuf;

use serde::Deserialize;

use crate::SimError;

pub use report::{Outcomes, WebReport};
pub use source::WebSource;

/// The unit in which files are placed and memory holds them, in bytes: a page and a block of the file system.
pub const BLOCK: u64 = 4096;

/// A prepared web log and the server that answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebLoad {
    /// The replay table.
    pub replay: PathBuf,
    /// The objects table; the one beside the replay table unless given.
    pub objects: Option<PathBuf>,
    /// More files, that nobody asks for but that take their room: a table with the columns `path` and `size`.
    pub tree: Option<PathBuf>,
    /// Part of the array, from its start, over which the files are spread evenly; packed one behind the other unless
    /// given.
    pub spread_bytes: Option<u64>,
    /// Files longer than this lie in pieces of it, each with its share of the free room behind it; whole unless given.
    pub fragment_bytes: Option<u64>,
    /// Memory for pages of files.
    #[serde(default = "defaults::memory_bytes")]
    pub memory_bytes: u64,
    #[serde(default = "defaults::read_bytes")]
    pub read_bytes: u64,
    /// Reads of one web request under way at once.
    #[serde(default = "defaults::reads_ahead")]
    pub reads_ahead: u32,
    /// Each file has a block of metadata ahead of its first, read before it and held in memory like any other.
    #[serde(default = "defaults::metadata")]
    pub metadata: bool,
    /// The time of last access is kept: a file that is read dirties its block of metadata, which is written when it
    /// has been dirty for this long.
    pub access_times_ns: Option<i64>,
}

mod defaults {
    pub fn memory_bytes() -> u64 {
        1 << 30
    }
    /// What Linux reads ahead at most, unless told otherwise.
    pub fn read_bytes() -> u64 {
        128 * 1024
    }
    pub fn reads_ahead() -> u32 {
        1
    }
    pub fn metadata() -> bool {
        true
    }
}

impl WebLoad {
    fn check(&self) -> Result<(), SimError> {
        let refuse = |text: String| Err(SimError::Config(format!("web load: {text}")));
        if self.read_bytes == 0 || !self.read_bytes.is_multiple_of(BLOCK) {
            return refuse(format!("read_bytes is a multiple of {BLOCK} above 0, not {}", self.read_bytes));
        }
        if self.read_bytes > 1 << 30 {
            return refuse(format!("read_bytes is at most a GiB, not {}", self.read_bytes));
        }
        if self.fragment_bytes.is_some_and(|bytes| bytes == 0 || !bytes.is_multiple_of(BLOCK)) {
            return refuse(format!("fragment_bytes is a multiple of {BLOCK} above 0"));
        }
        if self.reads_ahead == 0 {
            return refuse("reads_ahead is at least 1".into());
        }
        if self.access_times_ns.is_some_and(|ns| ns <= 0) {
            return refuse("access_times_ns is above 0".into());
        }
        if self.access_times_ns.is_some() && !self.metadata {
            return refuse(
                "access_times_ns writes blocks of metadata; without them (metadata = false) there are none".into(),
            );
        }
        Ok(())
    }

    fn objects(&self) -> PathBuf {
        self.objects.clone().unwrap_or_else(|| {
            let name = self.replay.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let stem = name.strip_suffix(".replay.parquet").or(name.strip_suffix(".parquet")).unwrap_or(name);
            self.replay.with_file_name(format!("{stem}.objects.parquet"))
        })
    }
}
