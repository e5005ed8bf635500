//! What one engine thread counts beside the records.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use iojoule_record::{ErrorClass, Request, histogram};

use crate::timing::Timing;

pub(crate) struct Tally {
    pub requests: u64,
    pub bytes: u64,
    /// By [`ErrorClass`].
    pub by_error: [u64; ErrorClass::ALL.len()],
    pub by_errno: BTreeMap<u16, u64>,
    pub timing: Timing,
    pub queued_at_cap: u64,
    pub unplayed: u64,
    pub left_out: u64,
    pub verified: u64,
    pub corruptions: Vec<String>,
    pub max_in_flight: u64,
    pub submitted: u64,
    pub batches: u64,
    /// Time of handing over, of the calls where it could be told apart.
    pub submit: Histogram<u64>,
    pub cpu_ns: i64,
    pub end_ns: i64,
    pub warnings: Vec<String>,
}

impl Tally {
    pub fn new() -> Self {
        Self {
            requests: 0,
            bytes: 0,
            by_error: [0; ErrorClass::ALL.len()],
            by_errno: BTreeMap::new(),
            timing: Timing::new(),
            queued_at_cap: 0,
            unplayed: 0,
            left_out: 0,
            verified: 0,
            corruptions: Vec::new(),
            max_in_flight: 0,
            submitted: 0,
            batches: 0,
            submit: histogram::empty(),
            cpu_ns: 0,
            end_ns: 0,
            warnings: Vec::new(),
        }
    }

    #[inline]
    pub fn add(&mut self, request: &Request) {
        self.requests += 1;
        self.bytes += request.bytes;
        self.by_error[request.error as usize] += 1;
        if request.error == ErrorClass::Io {
            *self.by_errno.entry(request.status).or_default() += 1;
        }
    }

    pub fn join(&mut self, other: Tally) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        for (mine, theirs) in self.by_error.iter_mut().zip(other.by_error) {
            *mine += theirs;
        }
        for (errno, count) in other.by_errno {
            *self.by_errno.entry(errno).or_default() += count;
        }
        self.timing.join(&other.timing);
        // Both histograms have the common shape, so this cannot fail.
        let _ = self.submit.add(&other.submit);
        self.queued_at_cap += other.queued_at_cap;
        self.unplayed += other.unplayed;
        self.left_out += other.left_out;
        self.verified += other.verified;
        self.corruptions.extend(other.corruptions);
        self.max_in_flight += other.max_in_flight;
        self.submitted += other.submitted;
        self.batches += other.batches;
        self.cpu_ns += other.cpu_ns;
        self.end_ns = self.end_ns.max(other.end_ns);
        for warning in other.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}
