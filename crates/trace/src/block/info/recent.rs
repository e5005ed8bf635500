//! Which blocks were written within the last hour. Memory grows with the blocks written in an hour, not with the length
//! of the trace.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use iojoule_units::Nanos;

/// "Less than one hour after writing the same data" (Yu et al., OSDI 2000, Table 3).
pub(crate) const WINDOW: Nanos = Nanos(3_600_000_000_000);

/// Entries below which forgetting is not worth a sweep.
const SWEEP_FROM: usize = 4096;

/// A hash of block numbers: Fibonacci hashing. The keys are addresses of a trace, not of an adversary who gains by
/// collisions more than by a longer trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fibonacci(u64);

impl Hasher for Fibonacci {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(crate) type BlockMap<V> = HashMap<u64, V, BuildHasherDefault<Fibonacci>>;

/// When each block of one device was last written, forgetting what is an hour old.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    /// Bytes of a block.
    block: u64,
    written: BlockMap<Nanos>,
    sweep_at: usize,
}

impl Recent {
    pub fn new(block: u64) -> Self {
        Self { block, written: BlockMap::default(), sweep_at: SWEEP_FROM }
    }

    /// Takes note of a write. Times never decrease.
    pub fn write(&mut self, at: Nanos, offset: u64, bytes: u64) {
        for block in self.blocks(offset, bytes) {
            self.written.insert(block, at);
        }
        if self.written.len() >= self.sweep_at {
            self.written.retain(|_, &mut then| fresh(at, then));
            // Twice what stays: each entry is looked at a bounded number of times.
            self.sweep_at = SWEEP_FROM.max(2 * self.written.len());
        }
    }

    /// Whether any block of this range was written less than an hour before `at`.
    pub fn touches(&self, at: Nanos, offset: u64, bytes: u64) -> bool {
        !self.written.is_empty()
            && self.blocks(offset, bytes).any(|block| self.written.get(&block).is_some_and(|&then| fresh(at, then)))
    }

    fn blocks(&self, offset: u64, bytes: u64) -> std::ops::RangeInclusive<u64> {
        offset / self.block..=offset.saturating_add(bytes.max(1) - 1) / self.block
    }
}

pub(crate) fn fresh(now: Nanos, then: Nanos) -> bool {
    now - then < WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_remembered_for_less_than_an_hour() {
        let mut recent = Recent::new(4096);
        recent.write(Nanos(5), 8192, 4096);
        assert!(recent.touches(Nanos(5), 8192, 512));
        assert!(recent.touches(Nanos(WINDOW.0 + 4), 12_287, 1));
        assert!(!recent.touches(Nanos(WINDOW.0 + 5), 8192, 4096));
        assert!(!recent.touches(Nanos(6), 12_288, 4096) && !recent.touches(Nanos(6), 0, 8192));
    }

    #[test]
    fn memory_grows_with_an_hours_writes_and_not_with_the_trace() {
        let mut recent = Recent::new(4096);
        for second in 0..1_000_000i64 {
            recent.write(Nanos(second * 1_000_000_000), second as u64 * 4096, 4096);
        }
        assert!(recent.written.len() <= 2 * 3600 + SWEEP_FROM, "{}", recent.written.len());
    }
}
