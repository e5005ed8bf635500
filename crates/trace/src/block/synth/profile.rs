//! The three traces of Table 3 of Yu et al. (OSDI 2000), which are not public, as configurations. I/Os, duration, data size,
//! reads, asynchronous writes, L and reads after writes are the table's; where the rest comes from stands at each line.
//! Nothing here was chosen by what any array does with the trace.

use serde_json::{Map, Value};

use super::config::{Size, SynthConfig};
use crate::block::TraceError;

/// Names and what they stand for.
pub const PROFILES: [(&str, &str); 3] = [
    ("cello-base", "HP Labs' timesharing server, a week, all disks but the news"),
    ("cello-disk6", "the disk of /usr/spool/news of the same server and week"),
    ("tpcc", "a client/server TPC-C run on 31 disks, two hours"),
];

const WEEK_S: f64 = 604_800.0;
/// Table 3 counts in powers of ten: its 8.4 GB fill the 9.1 GB disk.
const GB: f64 = 1e9;

impl SynthConfig {
    /// A profile, or the default, with these keys changed.
    ///
    /// # Errors
    /// [`TraceError::Option`] for a profile or key that there is not, and for a value of the wrong kind.
    pub fn resolve(profile: Option<&str>, changes: &Map<String, Value>) -> Result<Self, TraceError> {
        let base = match profile {
            None => Self::default(),
            Some(name) => Self::profile(name).ok_or_else(|| {
                let known = PROFILES.map(|(name, _)| name).join(", ");
                TraceError::Option(format!("profile: {name:?} is none of {known}"))
            })?,
        };
        let wrong = |e: serde_json::Error| TraceError::Option(e.to_string());
        let mut keys = serde_json::to_value(base).map_err(wrong)?;
        if let Value::Object(keys) = &mut keys {
            keys.extend(changes.clone());
        }
        serde_json::from_value(keys).map_err(wrong)
    }

    /// One of [`PROFILES`].
    pub fn profile(name: &str) -> Option<Self> {
        match name {
            "cello-base" => Some(Self {
                ios: 1_717_483,
                data_bytes: (8.4 * GB) as u64,
                reads: 0.552,
                async_writes: 0.189,
                seek_locality: 4.14,
                read_after_write_1h: 0.0415,
                swing: 0.7,
                ..cello()
            }),
            "cello-disk6" => Some(Self {
                ios: 1_545_341,
                data_bytes: (1.3 * GB) as u64,
                reads: 0.358,
                async_writes: 0.161,
                seek_locality: 16.67,
                read_after_write_1h: 0.038,
                // News comes in and goes out around the clock: less of a day than users make.
                swing: 0.3,
                ..cello()
            }),
            "tpcc" => Some(Self {
                ios: 3_598_422,
                duration_s: 7200.0,
                data_bytes: (9.0 * GB) as u64,
                reads: 0.548,
                async_writes: 0.0,
                seek_locality: 1.04,
                read_after_write_1h: 0.148,
                // Many terminals that know nothing of each other are together a Poisson process (Palm, Khintchine).
                burstiness: 0.5,
                swing: 0.0,
                // Keys spread over warehouses and districts, and the server's buffers take what is hot: uniform.
                zipf: 0.0,
                // L = 1.04 leaves 4 % for requests that stay near; half of it follow at once. Our assumption.
                sequential_reads: 0.02,
                sequential_writes: 0.02,
                // Pages of the databases of the time, small multiples of 2 KiB. Our assumption.
                sizes: sizes(&[(2, 0.5), (4, 0.25), (8, 0.25)]),
                ..Self::default()
            }),
            _ => None,
        }
    }
}

/// What the two Cello traces share.
fn cello() -> SynthConfig {
    SynthConfig {
        duration_s: WEEK_S,
        // The sync daemon of the paper's §4.1.
        flush_period_s: Some(30.0),
        // Ruemmler & Wilkes, "UNIX disk access patterns", USENIX Winter 1993: 18 to 33 % of the reads and 8 to 12 % of the
        // writes of their three systems, Cello among them, are sequential at the disk.
        sequential_reads: 0.25,
        sequential_writes: 0.10,
        // Between Poisson (0.5) and the 0.8 that the published week of hplajw, a workstation of the same study with one
        // user, has from an hour to 10 ms; Cello has twenty users. Our assumption.
        burstiness: 0.7,
        // A few blocks of a file system get most requests (Akyürek & Salem, ACM TOCS 13(2), 1995). Near the exponent at
        // which reads and writes that know nothing of each other meet as often as Table 3 says. Our assumption.
        zipf: 0.9,
        // Blocks of the BSD file system of HP-UX, 8 KiB, and their fragments, as often as in the week of hplajw.
        sizes: sizes(&[(1, 0.12), (2, 0.21), (4, 0.05), (8, 0.62)]),
        ..SynthConfig::default()
    }
}

fn sizes(kib: &[(u64, f64)]) -> Vec<Size> {
    kib.iter().map(|&(kib, weight)| Size { bytes: kib << 10, weight }).collect()
}
