//! How a running load is told to end: once to finish what is under way, twice to stop now.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// What the load should do; set from any thread or signal handler.
#[derive(Debug, Default)]
pub struct Control(AtomicU8);

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

    /// Asks for an end; a stronger wish is never taken back by a weaker one.
    pub fn ask(&self, wish: Wish) {
        self.0.fetch_max(wish as u8, Relaxed);
    }

    pub fn wish(&self) -> Wish {
        match self.0.load(Relaxed) {
            0 => Wish::Run,
            1 => Wish::Finish,
            _ => Wish::Now,
        }
    }
}
