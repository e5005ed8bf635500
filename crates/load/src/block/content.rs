//! What is written: incompressible and never twice the same, or compressible to a ratio, or with duplicates. A block
//! that is to compress is noise first and zeros behind it, as fio's and vdbench's are.

pub(super) mod pad;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use self::pad::{BLOCK, Pad, word};
use crate::LoadError;
use crate::block::config::Content;

/// Bytes that a compressor adds to the noise of a block for its headers, its tables and the run of zeros: zstd about 20,
/// zlib 57 (at ratio 10) to 78; between them, so that both stay within 5 % of any ratio up to 10.
const OVERHEAD: f64 = 38.0;
/// Above it there would be next to no noise left, and blocks would be the same.
const HIGHEST_COMPRESSION: f64 = 50.0;
/// Noise that even the part of a block keeps, for the same reason.
const LEAST_NOISE: usize = 8;

/// Fills buffers; one each engine thread, each with a seed of its own.
pub(crate) struct Filler {
    pad: Pad,
    /// Noise at the start of each block, in bytes; zeros follow.
    noise: usize,
    /// Distinct blocks over all, as a threshold for 64 random bits; none where every block is a new one.
    fresh: Option<u64>,
    /// Distinct blocks made.
    made: u64,
    random: Xoshiro256PlusPlus,
}

impl Filler {
    /// The same seed writes the same bytes again, which a device that deduplicates will notice.
    pub fn new(content: Content, seed: u64) -> Result<Self, LoadError> {
        let Content { compression, deduplication } = content;
        if !(1.0..=HIGHEST_COMPRESSION).contains(&compression) {
            let reason = format!("{compression} is not from 1 to {HIGHEST_COMPRESSION}");
            return Err(LoadError::config("content.compression", reason));
        }
        if !(deduplication >= 1.0 && deduplication.is_finite()) {
            return Err(LoadError::config("content.deduplication", format!("{deduplication} is below 1")));
        }
        let compressed = BLOCK as f64 / compression;
        let noise = if compression == 1.0 { BLOCK } else { (compressed - OVERHEAD).round() as usize };
        let fresh = (deduplication > 1.0).then_some((2f64.powi(64) / deduplication) as u64);
        Ok(Self { pad: Pad::new(seed), noise, fresh, made: 0, random: Xoshiro256PlusPlus::seed_from_u64(!seed) })
    }

    /// Fills a buffer that is about to be written, in blocks of 4 KiB; a last, smaller one is part of a block.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for block in buffer.chunks_mut(BLOCK) {
            let share = (self.noise * block.len()).div_ceil(BLOCK).max(LEAST_NOISE);
            let (noise, zeros) = block.split_at_mut(share.min(block.len()));
            let number = self.number();
            self.pad.fill(word(number), noise);
            zeros.fill(0);
        }
    }

    /// A new block, or any of those before.
    #[inline]
    fn number(&mut self) -> u64 {
        if let Some(fresh) = self.fresh.filter(|_| self.made > 0)
            && self.random.next_u64() >= fresh
        {
            return ((u128::from(self.random.next_u64()) * u128::from(self.made)) >> 64) as u64;
        }
        self.made += 1;
        self.made - 1
    }
}

#[cfg(test)]
mod tests;
