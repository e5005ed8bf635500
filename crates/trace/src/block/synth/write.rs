//! A synthetic trace as a file, in any format that traces are converted to.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Synth, SynthConfig};
use crate::block::TraceError;
use crate::block::convert::To;
use crate::block::convert::out::Sink;

/// Records between two looks at the request to stop.
const LOOK: u64 = 1 << 16;

/// What to write and where.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SynthOptions {
    pub output: PathBuf,
    #[serde(default)]
    pub force: bool,
    /// What is written; the name of the output tells it where this is absent.
    #[serde(default)]
    pub to: Option<To>,
    /// One of [`super::PROFILES`].
    #[serde(default)]
    pub profile: Option<String>,
    /// Keys of [`SynthConfig`] that are not the profile's.
    #[serde(default)]
    pub changes: Map<String, Value>,
}

/// What was written.
#[derive(Clone, Debug, Serialize)]
pub struct Synthesised {
    pub output: PathBuf,
    pub ios: u64,
    /// From the first request to the last.
    pub duration_s: f64,
    /// Read and written.
    pub bytes: u128,
    /// What the format could not say.
    pub warnings: Vec<String>,
    pub config: SynthConfig,
}

/// Writes the trace under a temporary name and moves it into place. The configuration goes into a table's metadata, as
/// `iojoule.source`.
///
/// # Errors
/// Those of [`Synth::new`] and of the writer; [`TraceError::Stopped`].
pub fn synth(options: &SynthOptions, stop: &AtomicBool) -> Result<Synthesised, TraceError> {
    let config = SynthConfig::resolve(options.profile.as_deref(), &options.changes)?;
    let trace = Synth::new(&config)?;
    let source = json!({ "synth": { "profile": options.profile, "config": config } });
    let devices = json!([{ "number": 0, "bytes": config.data_bytes / 512 * 512 }]);
    let metadata = [("iojoule.source", source), ("iojoule.devices", devices)];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_string()));
    let to = To::choose(options.to, &options.output)?;
    let mut sink = Sink::new(to, &options.output, &metadata, options.force)?;
    let (mut ios, mut bytes, mut last) = (0, 0, 0.0);
    for record in trace {
        if ios % LOOK == 0 && stop.load(Ordering::Relaxed) {
            return Err(TraceError::Stopped);
        }
        ios += 1;
        bytes += u128::from(record.bytes);
        last = record.at.as_secs_f64();
        // Reads and writes of whole sectors can be said in every format.
        sink.push(&record)?;
    }
    let warnings = sink.close()?;
    Ok(Synthesised { output: options.output.clone(), ios, duration_s: last, bytes, warnings, config })
}
