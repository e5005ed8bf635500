//! How a running load is told to end: once to finish what is under way, twice to stop now.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

/// What the load should do; set from any thread or signal handler, and never taken back.
#[derive(Debug, Default)]
pub struct Control {
    finish: AtomicBool,
    now: AtomicBool,
    /// Host time from which to measure; 0 where nobody has said so.
    measure_ns: AtomicI64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// Go on.
    Run,
    /// Issue nothing more; wait for what is in flight.
    Finish,
    /// Record what is in flight as `client_stop` and return.
    Now,
}

impl Control {
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for an end; a stronger wish stands beside a weaker one.
    pub fn ask(&self, wish: Wish) {
        match wish {
            Wish::Run => {}
            Wish::Finish => self.finish.store(true, Relaxed),
            Wish::Now => self.now.store(true, Relaxed),
        }
    }

    /// The flag behind [`Wish::Now`], for callers that have only a flag to set.
    pub fn now_flag(&self) -> &AtomicBool {
        &self.now
    }

    /// Begins the phase `measure` of a load that waits to be told, at this host time.
    pub fn measure(&self, from_ns: i64) {
        self.measure_ns.store(from_ns, Relaxed);
    }

    /// When the phase `measure` was told to begin.
    pub fn measure_from(&self) -> Option<i64> {
        Some(self.measure_ns.load(Relaxed)).filter(|ns| *ns != 0)
    }

    pub fn wish(&self) -> Wish {
        match (self.now.load(Relaxed), self.finish.load(Relaxed)) {
            (true, _) => Wish::Now,
            (false, true) => Wish::Finish,
            (false, false) => Wish::Run,
        }
    }
}
