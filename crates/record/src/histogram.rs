//! Mergeable latency histograms (HDR, three significant digits, 1 ns to one hour), one per phase and kind of
//! time, written as HDR V2 deflate-free serialisations: `hist/<phase>.<kind>.hdr`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use crate::{Phase, RecordError, Request};

const MAX_NS: u64 = 3_600_000_000_000;

/// Which two instants of a request a histogram measures between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// First byte − planned: what a user would have waited; free of coordinated omission.
    LatencyPlanned,
    /// First byte − issued: what the target took.
    LatencyIssued,
    /// Done − planned.
    CompletionPlanned,
    /// Done − issued.
    CompletionIssued,
    /// Issued − planned.
    Lateness,
}

impl Kind {
    const ALL: [Kind; 5] =
        [Kind::LatencyPlanned, Kind::LatencyIssued, Kind::CompletionPlanned, Kind::CompletionIssued, Kind::Lateness];

    fn name(self) -> &'static str {
        match self {
            Kind::LatencyPlanned => "latency_planned",
            Kind::LatencyIssued => "latency_issued",
            Kind::CompletionPlanned => "completion_planned",
            Kind::CompletionIssued => "completion_issued",
            Kind::Lateness => "lateness",
        }
    }

    fn of(self, r: &Request) -> Option<i64> {
        let first = (r.first_byte_ns != Request::NEVER).then_some(r.first_byte_ns);
        match self {
            Kind::LatencyPlanned => first.map(|t| t - r.planned_ns),
            Kind::LatencyIssued => first.map(|t| t - r.issued_ns),
            Kind::CompletionPlanned => r.succeeded().then_some(r.done_ns - r.planned_ns),
            Kind::CompletionIssued => r.succeeded().then_some(r.done_ns - r.issued_ns),
            Kind::Lateness => Some(r.issued_ns - r.planned_ns),
        }
    }
}

/// The histograms of one run, keyed by phase and kind.
#[derive(Default)]
pub struct Histograms(BTreeMap<(u8, Kind), Histogram<u64>>);

/// An empty histogram of the common shape, so that any two can be added.
pub fn empty() -> Histogram<u64> {
    Histogram::new_with_max(MAX_NS, 3).unwrap_or_else(|_| unreachable!("the bounds are constants HDR accepts"))
}

impl Histograms {
    pub fn add(&mut self, r: &Request) {
        for kind in Kind::ALL {
            if let Some(ns) = kind.of(r) {
                self.0.entry((r.phase as u8, kind)).or_insert_with(empty).saturating_record(ns.max(1) as u64);
            }
        }
    }

    /// Write every histogram under `folder`, replacing what a former call wrote.
    pub fn write(&self, folder: &Path) -> Result<(), RecordError> {
        for ((phase, kind), histogram) in &self.0 {
            let path = folder.join(format!("{}.{}.hdr", Phase::NAMES[*phase as usize], kind.name()));
            let file = File::create(&path).map_err(|e| RecordError::io(&path, e))?;
            V2Serializer::new()
                .serialize(histogram, &mut BufWriter::new(file))
                .map_err(|e| RecordError::Histogram { path: path.clone(), reason: e.to_string() })?;
        }
        Ok(())
    }
}
