//! The live figures of a run: counters the engine bumps and one-second percentiles the writer sums up.
//! Anyone may read them at any time; nobody waits for anybody.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Shared between the engine, the writer and whoever shows progress.
#[derive(Debug, Default)]
pub struct Live {
    pub issued: AtomicU64,
    pub done: AtomicU64,
    pub errors: AtomicU64,
    pub bytes: AtomicU64,
    pub in_flight: AtomicU64,
    /// Requests the whole workload will issue; 0 where nobody knows.
    pub planned: AtomicU64,
    /// 1 + index of [`crate::Phase`]; 0 before the first.
    pub phase: AtomicU64,
    pub p50_ns: AtomicU64,
    pub p99_ns: AtomicU64,
}

/// One reading of [`Live`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    pub issued: u64,
    pub done: u64,
    pub errors: u64,
    pub bytes: u64,
    pub in_flight: u64,
    pub planned: u64,
    pub phase: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
}

impl Live {
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            issued: self.issued.load(Relaxed),
            done: self.done.load(Relaxed),
            errors: self.errors.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            planned: self.planned.load(Relaxed),
            phase: self.phase.load(Relaxed),
            p50_ns: self.p50_ns.load(Relaxed),
            p99_ns: self.p99_ns.load(Relaxed),
        }
    }
}
