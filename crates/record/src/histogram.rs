//! Mergeable latency histograms (HDR, three significant digits, 1 ns to one hour), one per phase and kind of
//! time, written as HDR V2 deflate-free serialisations: `hist/<phase>.<kind>.hdr`. Times are counted per second in
//! flat tables of the same buckets, and these added up: a second is needed by itself for the live figures and for the
//! interval log.

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
    pub const ALL: [Kind; 5] =
        [Kind::LatencyPlanned, Kind::LatencyIssued, Kind::CompletionPlanned, Kind::CompletionIssued, Kind::Lateness];

    pub fn name(self) -> &'static str {
        match self {
            Kind::LatencyPlanned => "latency_planned",
            Kind::LatencyIssued => "latency_issued",
            Kind::CompletionPlanned => "completion_planned",
            Kind::CompletionIssued => "completion_issued",
            Kind::Lateness => "lateness",
        }
    }
}

/// An empty histogram of the common shape, so that any two can be added.
pub fn empty() -> Histogram<u64> {
    Histogram::new_with_max(MAX_NS, 3).unwrap_or_else(|_| unreachable!("the bounds are constants HDR accepts"))
}

/// Three significant digits: 2^11 values of full resolution, then half as many buckets an octave.
const DIGIT_BITS: u32 = 11;
const HALF: usize = 1 << (DIGIT_BITS - 1);
const BUCKETS: usize = (64 - MAX_NS.leading_zeros() - DIGIT_BITS + 2) as usize * HALF;

/// Place of a time among the buckets; times out of range count as the nearest in it.
#[inline]
fn bucket(ns: i64) -> usize {
    let ns = (ns.max(1) as u64).min(MAX_NS);
    let octave = (64 - DIGIT_BITS).saturating_sub(ns.leading_zeros());
    octave as usize * HALF + (ns >> octave) as usize
}

/// Counts of one second, in HDR's own buckets but without its bookkeeping at every value.
struct Counts(Box<[u32; BUCKETS]>);

impl Counts {
    fn empty() -> Self {
        Self(Box::new([0; BUCKETS]))
    }

    #[inline]
    fn add(&mut self, ns: i64) {
        let bucket = &mut self.0[bucket(ns)];
        *bucket = bucket.saturating_add(1);
    }

    fn add_many(&mut self, ns: i64, count: usize) {
        let bucket = &mut self.0[bucket(ns)];
        *bucket = bucket.saturating_add(count as u32);
    }

    /// Adds the counts to `sum` and forgets them; false where there were none.
    fn drain(&mut self, sum: &mut Histogram<u64>) -> bool {
        let mut any = false;
        for (octaves, counts) in (0_u32..).zip(self.0.chunks_exact_mut(HALF)) {
            if counts.iter().all(|c| *c == 0) {
                continue;
            }
            any = true;
            // The first two half-octaves are of full resolution.
            let octave = octaves.saturating_sub(1);
            for (at, count) in counts.iter_mut().enumerate().filter(|(_, c)| **c > 0) {
                let value = ((octaves - octave) as u64 * HALF as u64 + at as u64) << octave;
                sum.saturating_record_n(value, u64::from(*count));
                *count = 0;
            }
        }
        any
    }
}

/// What a second's times are counted by: the kinds of which files are made, and done − planned = done − issued, which
/// is both at once.
#[derive(Default)]
struct Second {
    kinds: [Option<Counts>; Kind::ALL.len()],
    unplanned: Option<Counts>,
}

impl Second {
    fn add(&mut self, records: &[Request]) {
        let [latency_planned, latency_issued, planned, issued, lateness] = &mut self.kinds;
        let answered = || records.iter().filter(|r| r.first_byte_ns != Request::NEVER);
        if answered().next().is_some() {
            let counts = latency_planned.get_or_insert_with(Counts::empty);
            answered().for_each(|r| counts.add(r.first_byte_ns - r.planned_ns));
            let counts = latency_issued.get_or_insert_with(Counts::empty);
            answered().for_each(|r| counts.add(r.first_byte_ns - r.issued_ns));
        }
        let succeeded = records.iter().filter(|r| r.succeeded());
        let lateness = lateness.get_or_insert_with(Counts::empty);
        if records.iter().all(|r| r.planned_ns == r.issued_ns) {
            lateness.add_many(1, records.len());
            let counts = self.unplanned.get_or_insert_with(Counts::empty);
            succeeded.for_each(|r| counts.add(r.done_ns - r.issued_ns));
            return;
        }
        records.iter().for_each(|r| lateness.add(r.issued_ns - r.planned_ns));
        let counts = planned.get_or_insert_with(Counts::empty);
        succeeded.clone().for_each(|r| counts.add(r.done_ns - r.planned_ns));
        let counts = issued.get_or_insert_with(Counts::empty);
        succeeded.for_each(|r| counts.add(r.done_ns - r.issued_ns));
    }
}

/// One kind of time in one phase, over a second.
pub struct Interval {
    pub phase: Phase,
    pub kind: Kind,
    pub histogram: Histogram<u64>,
}

/// The histograms of one run, keyed by phase and kind.
#[derive(Default)]
pub struct Histograms {
    second: [Second; Phase::ALL.len()],
    all: BTreeMap<(u8, Kind), Histogram<u64>>,
}

impl Histograms {
    pub fn add(&mut self, records: &[Request]) {
        for records in records.chunk_by(|a, b| a.phase == b.phase) {
            self.second[records[0].phase as usize].add(records);
        }
    }

    /// Ends the second: what it had, by phase and kind, after it was added to the run's.
    pub fn end_second(&mut self) -> Vec<Interval> {
        let mut intervals = Vec::new();
        for (phase, second) in Phase::ALL.iter().zip(&mut self.second) {
            let mut unplanned = empty();
            if let Some(counts) = &mut second.unplanned {
                counts.drain(&mut unplanned);
            }
            for (kind, counts) in Kind::ALL.into_iter().zip(&mut second.kinds) {
                let mut histogram = match kind {
                    Kind::CompletionPlanned | Kind::CompletionIssued => unplanned.clone(),
                    _ => empty(),
                };
                let counted = counts.as_mut().is_some_and(|c| c.drain(&mut histogram));
                if !counted && histogram.is_empty() {
                    continue;
                }
                let sum = self.all.entry((*phase as u8, kind)).or_insert_with(empty);
                sum.add(&histogram).unwrap_or_else(|_| unreachable!("all histograms have one shape"));
                intervals.push(Interval { phase: *phase, kind, histogram });
            }
        }
        intervals
    }

    /// Write every histogram of the seconds that have ended under `folder`, replacing what a former call wrote.
    pub fn write(&self, folder: &Path) -> Result<(), RecordError> {
        for ((phase, kind), histogram) in &self.all {
            let path = folder.join(format!("{}.{}.hdr", Phase::NAMES[*phase as usize], kind.name()));
            let file = File::create(&path).map_err(|e| RecordError::io(&path, e))?;
            V2Serializer::new()
                .serialize(histogram, &mut BufWriter::new(file))
                .map_err(|e| RecordError::Histogram { path: path.clone(), reason: e.to_string() })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_falls_into_the_bucket_hdr_itself_would_take() {
        let shape = empty();
        for ns in (0..42).flat_map(|bit| [(1_i64 << bit) - 1, 1 << bit, (1 << bit) + 1, (1 << bit) * 3 / 2 + 7]) {
            let mut counts = Counts::empty();
            counts.add(ns);
            let mut sum = empty();
            assert!(counts.drain(&mut sum) && !counts.drain(&mut sum));
            let value = (ns.max(1) as u64).min(MAX_NS);
            assert_eq!((sum.len(), sum.count_at(value)), (1, 1), "{ns}");
            assert!(shape.equivalent(sum.min(), value), "{ns}");
        }
    }
}
