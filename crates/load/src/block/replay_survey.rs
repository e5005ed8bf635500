//! A trace looked through before its first request is sent: what cannot be played is refused here, and what a replay
//! will do differently from the trace is counted.

use std::collections::BTreeSet;
use std::path::Path;

use iojoule_record::Op;
use serde::Serialize;

use crate::LoadError;
use crate::block::config::{Align, Remap, ReplayLoad};
use crate::block::remap::{Ground, Misfit, Placed};
use crate::block::replay_rows::{Row, Rows, reach};
use crate::block::target::{Place, Target};

/// Too few requests say nothing about a rate.
const ENOUGH: u64 = 100;
/// Requests a second that no storage serves, and that nobody records over more than a moment.
const PLAUSIBLE: std::ops::Range<f64> = 0.001..20e6;

/// What is going to be played.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReplayFacts {
    /// Requests played, and the bytes they ask for.
    pub requests: u64,
    pub bytes: u64,
    /// Requests of the trace that write, trim or flush, left out because writing was not allowed.
    pub left_out: u64,
    /// Left out because they ask for no bytes and are no flushes.
    pub empty: u64,
    /// Left out by `keep`.
    pub thinned: u64,
    /// Trace time of the first request played; the replay begins there.
    pub origin_ns: i64,
    /// Trace time from the first request played to the last.
    pub span_ns: i64,
    /// Trace time over host time; none where each request is sent as soon as it can be.
    pub speedup: Option<f64>,
    /// Requests that go elsewhere than the trace says, those of them that were moved back to end on the target, and
    /// those made longer to whole blocks.
    pub remapped: u64,
    pub moved_back: u64,
    pub rounded: u64,
    /// Bytes that rounding adds.
    pub rounded_bytes: u64,
    /// Size of the largest read or write.
    pub largest_bytes: u32,
}

/// Where requests of each device go.
pub(crate) struct Mapping {
    files: Vec<Ground>,
    devices: Option<Vec<u32>>,
    remap: Remap,
    align: Align,
}

impl Mapping {
    /// Devices named are played on the target's files in the order in which they are named. Without names device k is
    /// played on file k, and everything on the only file where there is one.
    pub fn new(load: &ReplayLoad, target: &Target) -> Result<Self, LoadError> {
        let files = target.files.len();
        if let Some(devices) = &load.devices {
            if devices.iter().collect::<BTreeSet<_>>().len() < devices.len() {
                return Err(LoadError::config("devices", "names one twice"));
            }
            if files > 1 && devices.len() != files {
                let reason = format!("names {} for the {files} files of the target", devices.len());
                return Err(LoadError::config("devices", reason));
            }
        }
        let ground = |(index, place): (usize, &Place)| -> Result<Ground, LoadError> {
            let own = match &load.devices {
                _ if files == 1 => load.devices.clone(),
                Some(devices) => Some(vec![devices[index]]),
                None => Some(vec![index as u32]),
            };
            // Only a proportion needs the trace's size, and finding it takes a pass.
            let trace_bytes = if load.remap == Remap::Scale { reach(&load.trace, own.as_deref())? } else { 0 };
            Ok(Ground { bytes: place.bytes, block_bytes: target.align as u32, trace_bytes })
        };
        let files = target.files.iter().enumerate().map(ground).collect::<Result<_, _>>()?;
        Ok(Self { files, devices: load.devices.clone(), remap: load.remap, align: load.align })
    }

    fn file_of(&self, device: u32) -> Option<u32> {
        match &self.devices {
            _ if self.files.len() == 1 => Some(0),
            Some(devices) => devices.iter().position(|one| *one == device).map(|k| k as u32),
            None => ((device as usize) < self.files.len()).then_some(device),
        }
    }

    /// File and place of a request; the error names its row and what helps.
    pub fn place(&self, row: &Row, trace: &Path) -> Result<(u32, Placed), LoadError> {
        let file = self.file_of(row.device).ok_or_else(|| {
            let (device, files) = (row.device, self.files.len());
            let reason =
                format!("device {device} of the trace has no file among {files}: say which go there, in order");
            LoadError::config("devices", reason)
        })?;
        if row.op == Op::Flush {
            let nowhere = Placed { offset: 0, bytes: 0, remapped: false, moved_back: false, rounded: None };
            return Ok((file, nowhere));
        }
        let placed = self.files[file as usize].place(row.op, row.offset, row.bytes, self.remap, self.align);
        placed.map(|placed| (file, placed)).map_err(|misfit| refusal(row, misfit, trace))
    }
}

fn refusal(row: &Row, misfit: Misfit, trace: &Path) -> LoadError {
    let Row { number, device, op, offset, bytes, .. } = *row;
    let what =
        format!("{}, row {number}: {} of {bytes} bytes at {offset} of device {device}", trace.display(), op.name());
    match misfit {
        Misfit::Misaligned(block) => LoadError::config(
            "align",
            format!(
                "{what} is not whole blocks of {block} bytes, which direct access to this target asks for; play it \
                 buffered (direct = false), or on whole blocks around it (align = \"round\")"
            ),
        ),
        Misfit::Beyond(size) => LoadError::config(
            "remap",
            format!("{what} ends beyond a target of {size} bytes; remap = \"wrap\" or \"scale\" brings it there"),
        ),
        Misfit::TooLong(most) => LoadError::config("trace", format!("{what} is longer than the {most} bytes possible")),
    }
}

/// Looks at every request that will be played.
pub(crate) fn survey(load: &ReplayLoad, mapping: &Mapping) -> Result<(ReplayFacts, Vec<String>), LoadError> {
    let mut rows = Rows::open(load)?;
    let mut facts = ReplayFacts::default();
    let mut devices = BTreeSet::new();
    let (mut first, mut last) = (0, 0);
    while let Some(row) = rows.next()? {
        let (_, placed) = mapping.place(&row, &load.trace)?;
        if facts.requests == 0 {
            first = row.at_ns;
        }
        last = row.at_ns;
        facts.requests += 1;
        facts.bytes += u64::from(placed.bytes);
        facts.remapped += u64::from(placed.remapped);
        facts.moved_back += u64::from(placed.moved_back);
        facts.rounded += u64::from(placed.rounded.is_some());
        facts.rounded_bytes += placed.rounded.unwrap_or(0);
        if row.op != Op::Trim {
            facts.largest_bytes = facts.largest_bytes.max(placed.bytes);
        }
        devices.insert(row.device);
    }
    (facts.left_out, facts.empty, facts.thinned) = (rows.passed.left_out, rows.passed.empty, rows.passed.thinned);
    if facts.requests == 0 {
        let reason = format!("{} holds no request to play{}", load.trace.display(), why_none(&facts));
        return Err(LoadError::config("trace", reason));
    }
    facts.origin_ns = first;
    facts.span_ns =
        last.checked_sub(first).ok_or_else(|| LoadError::table(&load.trace, "spans more than 292 years"))?;
    facts.speedup = speedup(load, &facts)?;
    let warnings = warnings(&facts, devices.len(), mapping.files.len());
    Ok((facts, warnings))
}

fn why_none(facts: &ReplayFacts) -> String {
    match facts.left_out {
        0 => String::new(),
        n => format!("; {n} write, trim or flush, which writes = true plays"),
    }
}

fn speedup(load: &ReplayLoad, facts: &ReplayFacts) -> Result<Option<f64>, LoadError> {
    if load.as_fast_as_possible {
        return Ok(None);
    }
    let speedup = match load.fit_ns {
        None => load.speedup,
        Some(_) if facts.span_ns == 0 => 1.0,
        Some(fit) => facts.span_ns as f64 / fit as f64,
    };
    if !(speedup.is_finite() && speedup > 0.0) {
        return Err(LoadError::config("speedup", format!("{speedup} is not above 0")));
    }
    if facts.span_ns as f64 / speedup > i64::MAX as f64 / 4.0 {
        return Err(LoadError::config("speedup", format!("{speedup} makes a replay of decades")));
    }
    Ok(Some(speedup))
}

fn warnings(facts: &ReplayFacts, devices: usize, files: usize) -> Vec<String> {
    let mut said = Vec::new();
    let all = facts.requests + facts.left_out + facts.empty + facts.thinned;
    if facts.left_out > 0 {
        said.push(format!(
            "{} of {all} requests write, trim or flush and are left out (writes = false)",
            facts.left_out
        ));
    }
    if facts.empty > 0 {
        said.push(format!("{} of {all} requests ask for no bytes and are left out", facts.empty));
    }
    if facts.rounded > 0 {
        let (n, more) = (facts.rounded, facts.rounded_bytes);
        said.push(format!("{n} of {} requests are rounded to whole blocks, {more} bytes more", facts.requests));
    }
    if facts.moved_back > 0 {
        said.push(format!("{} requests would cross the target's end and end there instead", facts.moved_back));
    }
    if devices > 1 && files == 1 {
        said.push(format!("{devices} devices of the trace share one file, each from its beginning on"));
    }
    let seconds = facts.span_ns as f64 / 1e9;
    let rate = facts.requests as f64 / seconds;
    if facts.requests >= ENOUGH && !PLAUSIBLE.contains(&rate) {
        said.push(format!(
            "{} requests in {seconds} s of trace time are {rate:.4} a second: was the trace converted with the right \
             --time-unit?",
            facts.requests
        ));
    }
    said
}
