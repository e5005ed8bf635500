//! What one engine thread counts, beside the records.

use hdrhistogram::Histogram;
use iojoule_record::{ErrorClass, Phase, Request, histogram};

/// Counts of one thread; the summary adds them up.
pub(crate) struct Tally {
    pub requests: u64,
    pub bytes: u64,
    /// By [`ErrorClass`].
    pub by_error: [u64; ErrorClass::ALL.len()],
    /// Issued − planned of the requests of phase `measure` that were issued.
    pub lateness: Histogram<u64>,
    /// Least and greatest planned and issued instant of the same requests.
    pub planned: Extent,
    pub issued: Extent,
    pub queued_at_cap: u64,
    pub reconnects: u64,
    pub connections_opened: u64,
    pub max_open: u64,
    pub max_in_flight: u64,
    pub ports_exhausted: u64,
    /// Requests of the trace whose time had not come when the load was ended.
    pub unplayed: u64,
    pub cpu_ns: i64,
    pub end_ns: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub least: i64,
    pub greatest: i64,
}

impl Extent {
    pub const NONE: Self = Self { least: i64::MAX, greatest: i64::MIN };

    pub fn add(&mut self, value: i64) {
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    pub fn join(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// Greatest − least; `None` of nothing.
    pub fn span(&self) -> Option<i64> {
        (self.least <= self.greatest).then(|| self.greatest - self.least)
    }
}

impl Tally {
    pub fn new() -> Self {
        Self {
            requests: 0,
            bytes: 0,
            by_error: [0; ErrorClass::ALL.len()],
            lateness: histogram::empty(),
            planned: Extent::NONE,
            issued: Extent::NONE,
            queued_at_cap: 0,
            reconnects: 0,
            connections_opened: 0,
            max_open: 0,
            max_in_flight: 0,
            ports_exhausted: 0,
            unplayed: 0,
            cpu_ns: 0,
            end_ns: 0,
        }
    }

    /// `issued` is false for a request that never reached a connection.
    #[inline]
    pub fn add(&mut self, request: &Request, issued: bool) {
        self.requests += 1;
        self.bytes += request.bytes;
        self.by_error[request.error as usize] += 1;
        if issued && request.phase == Phase::Measure {
            self.lateness.saturating_record((request.issued_ns - request.planned_ns).max(1) as u64);
            self.planned.add(request.planned_ns);
            self.issued.add(request.issued_ns);
        }
    }

    pub fn join(&mut self, other: &Tally) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        for (mine, theirs) in self.by_error.iter_mut().zip(other.by_error) {
            *mine += theirs;
        }
        // Both histograms have the common shape, so this cannot fail.
        let _ = self.lateness.add(&other.lateness);
        self.planned.join(other.planned);
        self.issued.join(other.issued);
        self.queued_at_cap += other.queued_at_cap;
        self.reconnects += other.reconnects;
        self.connections_opened += other.connections_opened;
        self.max_open += other.max_open;
        self.max_in_flight += other.max_in_flight;
        self.ports_exhausted += other.ports_exhausted;
        self.unplayed += other.unplayed;
        self.cpu_ns += other.cpu_ns;
        self.end_ns = self.end_ns.max(other.end_ns);
    }
}
