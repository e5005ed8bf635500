//! Blocks of noise at the speed of a copy: one pad of noise, and each block is the pad with one 64-bit word of its own
//! folded into all of it. Blocks of different words differ in every eight bytes, and no run of more than a few bytes
//! of one is found in another, so that neither deduplication nor a dictionary of any size gains by them.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The block of most storage systems that compress or deduplicate.
pub(in crate::block) const BLOCK: usize = 4096;

pub(in crate::block) struct Pad(Box<[u64; BLOCK / 8]>);

impl Pad {
    pub fn new(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut pad = Box::new([0; BLOCK / 8]);
        pad.iter_mut().for_each(|word| *word = random.next_u64());
        Self(pad)
    }

    /// The block of `word`, or as much of it as `block` has room for.
    #[inline]
    pub fn fill(&self, word: u64, block: &mut [u8]) {
        let (words, rest) = block.as_chunks_mut::<8>();
        for (out, noise) in words.iter_mut().zip(self.0.iter()) {
            *out = (noise ^ word).to_le_bytes();
        }
        if !rest.is_empty() {
            let last = (self.0[words.len()] ^ word).to_le_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

/// A word for each number, never the same for two (the finaliser of SplitMix64, Steele, Lea & Flood, OOPSLA 2014).
#[inline]
pub(in crate::block) fn word(number: u64) -> u64 {
    let x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
