//! Where devices lie when they are put behind one another, and how large they are.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use iojoule_record::Op;
use serde::Serialize;

use super::super::{Record, TraceError, open};
use super::fit::How;
use super::options::ConvertOptions;
use super::select::{Chosen, Left};

/// What a size that nobody told is rounded up to.
const ROUND: u64 = 1 << 20;

/// Where a size is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeFrom {
    /// By the options, or by the trace.
    Told,
    /// The highest byte touched, rounded up to 1 MiB.
    Reach,
}

/// One device among the others.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    pub device: u32,
    pub name: Option<String>,
    pub first_byte: u64,
    pub bytes: u64,
    pub size_from: SizeFrom,
}

/// The devices of the requests that stay, in order of their numbers; found by reading the trace once. Empty where
/// nothing that is asked for needs it.
pub(crate) fn of(options: &ConvertOptions, select: &Chosen, stop: &AtomicBool) -> Result<Vec<Place>, TraceError> {
    let scales = options.fit.as_ref().is_some_and(|fit| fit.how == How::Scale);
    if !options.concatenate && !scales {
        return Ok(Vec::new());
    }
    refuse_pipes(&options.paths)?;
    let mut reader = open(&options.paths, &options.read)?;
    let mut reach: std::collections::BTreeMap<u32, u64> = std::collections::BTreeMap::new();
    for (number, record) in reader.by_ref().enumerate() {
        if number % 4096 == 0 && stop.load(Ordering::Relaxed) {
            return Err(TraceError::Stopped);
        }
        let mut record = record?;
        if select.keeps(&mut record, &mut Left::default()) {
            let end = reach.entry(record.device).or_default();
            *end = (*end).max(record.offset + record.bytes);
        } else if select.is_over(record.at) {
            break;
        }
    }
    let notes = reader.notes();
    let mut first_byte = 0u64;
    let mut places = Vec::new();
    for (device, end) in reach {
        let noted = notes.devices.iter().find(|d| d.number == device);
        let told = noted.and_then(|d| d.bytes);
        let beyond = || TraceError::Option("the devices together are beyond 2^64 bytes".into());
        let bytes = match told {
            Some(bytes) => bytes,
            None => end.max(1).checked_next_multiple_of(ROUND).ok_or_else(beyond)?,
        };
        let size_from = if told.is_some() { SizeFrom::Told } else { SizeFrom::Reach };
        let name = noted.and_then(|d| d.name.clone());
        places.push(Place { device, name, first_byte, bytes, size_from });
        if options.concatenate {
            first_byte = first_byte.checked_add(bytes).ok_or_else(beyond)?;
        }
    }
    Ok(places)
}

fn refuse_pipes(paths: &[PathBuf]) -> Result<(), TraceError> {
    match paths.iter().find(|path| path.exists() && !path.is_file()) {
        None => Ok(()),
        Some(path) => Err(TraceError::Option(format!(
            "{} can be read only once, and the sizes of devices must be found first: give it as a file",
            path.display()
        ))),
    }
}

/// Device numbers and the bytes each has, once they are put behind one another or as they are.
pub(crate) fn sizes(places: &[Place], concatenated: bool) -> Vec<(u32, u64)> {
    match concatenated {
        true => vec![(0, places.last().map_or(0, |p| p.first_byte + p.bytes))],
        false => places.iter().map(|p| (p.device, p.bytes)).collect(),
    }
}

/// Moves a request to where its device lies.
pub(crate) fn concatenated(places: &[Place], record: &mut Record) -> Result<(), TraceError> {
    let place = places.binary_search_by_key(&record.device, |p| p.device).map(|at| &places[at]);
    let Ok(place) = place else {
        return Err(TraceError::Option(format!("device {} was not there before: the trace changed", record.device)));
    };
    record.device = 0;
    if record.op != Op::Flush {
        record.offset += place.first_byte;
    }
    Ok(())
}
