//! Buffers filled ahead, while a thread has nothing to do but wait: what is to be written takes as long to make as to
//! hand over, and a place among the outstanding requests would stay empty for that time. Contents are taken in the order
//! they are made in, so that a seed writes the same bytes however much was made ahead.

use std::collections::VecDeque;

use crate::block::buffers::Buffers;
use crate::block::content::Filler;

/// Filled in one go; in between the thread looks whether something has come back.
const STEP: usize = 4096;
/// Memory of the buffers beyond those of the outstanding requests, save that there is always one.
const BYTES: usize = 8 << 20;

/// Spare buffers for writes of one size. Who takes a filled one gives an empty one for it.
pub(crate) struct Stock {
    bytes: u32,
    filled: VecDeque<u32>,
    empty: VecDeque<u32>,
    /// The first of the empty ones is filled up to here.
    at: usize,
}

impl Stock {
    /// How many buffers it takes to have one ready for each of so many outstanding requests, within the memory.
    pub fn size(slots: u32, bytes: u32) -> u32 {
        slots.min((BYTES / bytes.max(1) as usize) as u32).max(1)
    }

    pub fn new(buffers: impl Iterator<Item = u32>, bytes: u32) -> Self {
        Self { bytes, filled: VecDeque::new(), empty: buffers.collect(), at: 0 }
    }

    /// A buffer with new contents for one without; the same one, filled now, where none was filled ahead.
    #[inline]
    pub fn swap(&mut self, buffer: u32, filler: &mut Filler, buffers: &Buffers) -> u32 {
        // What is begun comes next.
        while self.filled.is_empty() && self.at > 0 {
            self.step(filler, buffers);
        }
        let Some(filled) = self.filled.pop_front() else {
            // SAFETY: the engine holds the buffer, which is not handed over yet.
            filler.fill(unsafe { buffers.of(buffer, self.bytes) });
            return buffer;
        };
        self.empty.push_back(buffer);
        filled
    }

    /// Fills a little more; false where nothing is left to fill.
    #[inline]
    pub fn step(&mut self, filler: &mut Filler, buffers: &Buffers) -> bool {
        let Some(buffer) = self.empty.front() else { return false };
        // SAFETY: a buffer in stock is nobody else's.
        let contents = unsafe { buffers.of(*buffer, self.bytes) };
        let to = (self.at + STEP).min(contents.len());
        filler.fill(&mut contents[self.at..to]);
        self.at = to;
        if to == contents.len() {
            self.filled.extend(self.empty.pop_front());
            self.at = 0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::config::Content;

    const BYTES: u32 = 10_000;

    fn filler() -> Filler {
        Filler::new(Content::default(), 7).unwrap()
    }

    /// What is taken is whole, never twice the same, and another buffer than any in use.
    #[test]
    fn a_taken_buffer_is_new_all_over_and_nobody_elses() {
        let (mut filler, buffers) = (filler(), Buffers::new(5, BYTES).unwrap());
        let mut stock = Stock::new(2..5, BYTES);
        let (mut used, mut seen) = (vec![0, 1], std::collections::HashSet::new());
        for turn in 0..40 {
            for _ in 0..turn % 11 {
                stock.step(&mut filler, &buffers);
            }
            let taken = stock.swap(used[turn % 2], &mut filler, &buffers);
            used[turn % 2] = taken;
            assert_ne!(used[0], used[1]);
            // SAFETY: taken.
            let contents = unsafe { buffers.of(taken, BYTES) };
            for piece in contents.chunks(8) {
                assert!(seen.insert(piece.to_vec()));
            }
            contents.fill(0);
        }
        assert_eq!(seen.len(), 40 * (BYTES as usize).div_ceil(8));
    }

    #[test]
    fn however_much_is_made_ahead_the_same_bytes_are_written() {
        let written = |ahead: &dyn Fn(usize) -> usize| {
            let (mut filler, buffers) = (filler(), Buffers::new(5, BYTES).unwrap());
            let mut stock = Stock::new(1..5, BYTES);
            let mut buffer = 0;
            let mut bytes = Vec::new();
            for turn in 0..30 {
                for _ in 0..ahead(turn) {
                    stock.step(&mut filler, &buffers);
                }
                buffer = stock.swap(buffer, &mut filler, &buffers);
                // SAFETY: taken.
                bytes.extend_from_slice(unsafe { buffers.of(buffer, BYTES) });
            }
            bytes
        };
        let (none, some) = (written(&|_| 0), written(&|turn| turn % 7));
        assert!(none == some);
    }

    #[test]
    fn it_fills_all_it_has_and_then_rests() {
        let (mut filler, buffers) = (filler(), Buffers::new(3, BYTES).unwrap());
        let mut stock = Stock::new(0..3, BYTES);
        let steps = (0..).take_while(|_| stock.step(&mut filler, &buffers)).count();
        assert_eq!(steps, 3 * (BYTES as usize).div_ceil(STEP));
        let taken: Vec<_> = (0..3).map(|_| stock.swap(9, &mut filler, &buffers)).collect();
        assert_eq!(taken, [0, 1, 2]);
    }

    #[test]
    fn its_memory_is_bounded_and_it_holds_at_least_one() {
        assert_eq!(Stock::size(32, 4096), 32);
        assert_eq!(Stock::size(1024, 1 << 20), 8);
        assert_eq!(Stock::size(4, 64 << 20), 1);
    }
}
