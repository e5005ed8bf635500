//! What one engine thread counts, beside the records.

use iojoule_record::{ErrorClass, Request};

use crate::timing::Timing;

/// Counts of one thread; the summary adds them up.
pub(crate) struct Tally {
    pub requests: u64,
    pub bytes: u64,
    /// By [`ErrorClass`].
    pub by_error: [u64; ErrorClass::ALL.len()],
    pub timing: Timing,
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

impl Tally {
    pub fn new() -> Self {
        Self {
            requests: 0,
            bytes: 0,
            by_error: [0; ErrorClass::ALL.len()],
            timing: Timing::new(),
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
        if issued {
            self.timing.add(request.phase, request.planned_ns, request.issued_ns);
        }
    }

    pub fn join(&mut self, other: &Tally) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        for (mine, theirs) in self.by_error.iter_mut().zip(other.by_error) {
            *mine += theirs;
        }
        self.timing.join(&other.timing);
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
