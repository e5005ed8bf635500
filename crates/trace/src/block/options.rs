//! How traces are to be read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde::{Deserialize, Serialize};

/// What a reader is told beside the paths; the default recognises everything by itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// A name of [`super::format::TABLE`]; recognised from the contents where it is absent.
    pub format: Option<String>,
    /// The unit of the times in the file, where it is not the format's own.
    pub time_unit: Option<TimeUnit>,
    /// Requests of any order: sorted on disk. Without it, disorder within [`super::WINDOW`] requests is mended.
    pub sort: bool,
    /// Where sorting keeps its runs; the system's temporary folder where it is absent.
    pub sort_folder: Option<PathBuf>,
    /// Broken records are counted and left out; the first of them is told in the notes.
    pub keep_going: bool,
    /// Sizes of devices in bytes; a request beyond the end of its device is an error.
    pub device_bytes: BTreeMap<u32, u64>,
    /// The size of every device that has none of its own.
    pub all_device_bytes: Option<u64>,
    /// Each file starts at time 0, instead of all sharing one clock.
    pub align_starts: bool,
    /// Bytes taken from the files until now, before decompression.
    #[serde(skip)]
    pub progress: Arc<AtomicU64>,
}

/// Unit of a time in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeUnit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "us")]
    Microseconds,
    /// Windows' ticks.
    #[serde(rename = "100ns")]
    Ticks,
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl TimeUnit {
    pub const ALL: [Self; 5] = [Self::Seconds, Self::Milliseconds, Self::Microseconds, Self::Ticks, Self::Nanoseconds];

    /// One unit is ten to this power nanoseconds.
    pub fn digits(self) -> u32 {
        match self {
            Self::Seconds => 9,
            Self::Milliseconds => 6,
            Self::Microseconds => 3,
            Self::Ticks => 2,
            Self::Nanoseconds => 0,
        }
    }

    /// As options write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Ticks => "100ns",
            Self::Nanoseconds => "ns",
        }
    }
}
