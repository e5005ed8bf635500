//! Foreign traces to the canonical table, or to a format another program replays. On the way requests are, in this
//! order: selected, put into one address space, moved in time, thinned, fitted to a device. One pass in memory that
//! does not grow; a second one before it where sizes of devices must be found.

mod fit;
mod layout;
mod options;
pub(super) mod out;
mod select;
mod thin;
mod to;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use iojoule_record::Op;
use iojoule_units::Nanos;
use serde::Serialize;

pub use fit::{Fit, How};
pub use layout::{Place, SizeFrom};
pub use options::ConvertOptions;
pub use select::{Left, Select};
pub use thin::Thin;
pub use to::To;

use super::{Notes, Record, TraceError, open};

/// What a conversion did.
#[derive(Debug, Serialize)]
pub struct Converted {
    pub output: PathBuf,
    pub to: To,
    pub requests: u64,
    /// From the first request to the last that was written.
    pub duration_s: f64,
    /// Requests that were left out, by reason.
    pub left: Left,
    /// Where each device lies, when they were put behind one another.
    pub layout: Vec<Place>,
    pub read: Notes,
    pub warnings: Vec<String>,
}

/// Reads `options.paths`, writes `options.output`. Nothing stands there before all of it is written.
pub fn convert(options: &ConvertOptions, stop: &AtomicBool) -> Result<Converted, TraceError> {
    let to = To::choose(options.to, &options.output)?;
    let scale = options.time_scale.unwrap_or(1.0);
    if !(scale.is_finite() && scale > 0.0) {
        return Err(TraceError::Option(format!("time_scale: {scale} is not above 0")));
    }
    let select = select::Chosen::new(&options.select)?;
    let mut thin = options.thin.as_ref().map(thin::Thinner::new).transpose()?;
    let layout = layout::of(options, &select, stop)?;
    let sizes = layout::sizes(&layout, options.concatenate);
    let mut fit = options.fit.as_ref().map(|fit| fit::Fitter::new(fit, sizes)).transpose()?;
    let mut left = Left::default();
    let mut reader = open(&options.paths, &options.read)?;
    let places = if options.concatenate { layout.as_slice() } else { &[] };
    let mut sink = out::Sink::create(to, options, places)?;
    let (mut requests, mut first, mut last) = (0u64, None, Nanos::ZERO);
    for (number, record) in reader.by_ref().enumerate() {
        if number % 4096 == 0 && stop.load(Ordering::Relaxed) {
            return Err(TraceError::Stopped);
        }
        let mut record: Record = record?;
        if !select.keeps(&mut record, &mut left) {
            if select.is_over(record.at) {
                break;
            }
            continue;
        }
        if options.concatenate {
            layout::concatenated(&layout, &mut record)?;
        }
        if scale != 1.0 {
            record.at = scaled(record.at, scale)?;
        }
        if let Some(thin) = &mut thin
            && !thin.keeps()
        {
            left.thinned += 1;
            continue;
        }
        if let Some(fit) = &mut fit
            && record.op != Op::Flush
        {
            fit.fit(&mut record, number as u64)?;
        }
        if !sink.push(&record)? {
            left.inexpressible += 1;
            continue;
        }
        requests += 1;
        first.get_or_insert(record.at);
        last = record.at;
    }
    let read = reader.notes();
    if requests == 0 {
        return Err(TraceError::Option(format!(
            "nothing left to write of {} requests: {}",
            read.requests,
            left.told()
        )));
    }
    let mut warnings = read.warnings.clone();
    if read.skipped > 0 {
        let first = read.first_skipped.clone().unwrap_or_default();
        warnings.push(format!("{} broken records left out; the first: {first}", read.skipped));
    }
    warnings.extend(fit.iter().flat_map(fit::Fitter::warnings));
    warnings.extend(sink.close()?);
    let duration_s = (last - first.unwrap_or_default()).as_secs_f64();
    let layout = if options.concatenate { layout } else { Vec::new() };
    Ok(Converted { output: options.output.clone(), to, requests, duration_s, left, layout, read, warnings })
}

/// `at` times `scale`; responses stay as they were measured.
fn scaled(at: Nanos, scale: f64) -> Result<Nanos, TraceError> {
    let ns = at.0 as f64 * scale;
    if ns >= i64::MAX as f64 {
        return Err(TraceError::Option(format!("time_scale: {scale} makes the trace longer than 292 years")));
    }
    Ok(Nanos(ns.round() as i64))
}
