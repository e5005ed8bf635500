//! How many different strings were seen, in bounded memory: exact over 64-bit hashes up to [`EXACT_LIMIT`], beyond it
//! by HyperLogLog (Flajolet et al., AofA 2007) with 2^16 registers: relative standard error 1.04/√65536 = 0.4 %.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Two tables of this many entries stay within 80 MB, and 120 MB while they grow.
pub const EXACT_LIMIT: usize = 3_500_000;
const INDEX_BITS: u32 = 16;

/// The key is a good hash already.
#[derive(Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u64");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

pub(crate) type ByHash = BuildHasherDefault<AsItIs>;

pub(crate) enum Distinct {
    Exact(HashSet<u64, ByHash>, usize),
    Estimated(Box<[u8]>),
}

impl Distinct {
    pub fn new() -> Self {
        Self::with_limit(EXACT_LIMIT)
    }

    fn with_limit(limit: usize) -> Self {
        Self::Exact(HashSet::default(), limit)
    }

    #[inline]
    pub fn add(&mut self, key: u64) {
        match self {
            Self::Exact(keys, limit) => {
                if keys.insert(key) && keys.len() > *limit {
                    let mut registers = vec![0u8; 1 << INDEX_BITS].into_boxed_slice();
                    keys.iter().for_each(|&key| register(&mut registers, key));
                    *self = Self::Estimated(registers);
                }
            }
            Self::Estimated(registers) => register(registers, key),
        }
    }

    pub fn count(&self) -> u64 {
        match self {
            Self::Exact(keys, _) => keys.len() as u64,
            Self::Estimated(registers) => {
                let m = registers.len() as f64;
                let sum: f64 = registers.iter().map(|&r| (-f64::from(r)).exp2()).sum();
                (0.7213 / (1.0 + 1.079 / m) * m * m / sum).round() as u64
            }
        }
    }

    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(..))
    }
}

fn register(registers: &mut [u8], key: u64) {
    let rank = (key << INDEX_BITS).leading_zeros().min(64 - INDEX_BITS) as u8 + 1;
    let at = &mut registers[(key >> (64 - INDEX_BITS)) as usize];
    *at = rank.max(*at);
}

/// A 64-bit hash by folded 128-bit multiplication (the construction of wyhash). Not keyed: for counting only.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const K: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3];
    let word = |at: &[u8]| at.first_chunk::<8>().map_or(0, |w| u64::from_le_bytes(*w));
    let mut state = K[0] ^ bytes.len() as u64;
    let mut rest = bytes;
    while rest.len() >= 16 {
        state = fold(state ^ word(rest), K[1] ^ word(&rest[8..]));
        rest = &rest[16..];
    }
    let mut last = [0u8; 16];
    last[..rest.len()].copy_from_slice(rest);
    fold(fold(state ^ word(&last), K[1] ^ word(&last[8..])), K[2])
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_counted_exactly_and_many_within_two_percent() {
        for (n, limit) in [(0, 100), (77, 100), (300_000, 1000), (1_000_000, 100_000)] {
            let mut seen = Distinct::with_limit(limit);
            for i in (0..n).chain(0..n / 2) {
                seen.add(hash(format!("/object/{i}.html").as_bytes()));
            }
            assert_eq!(seen.is_exact(), n <= limit);
            let error = seen.count() as f64 - n as f64;
            assert!(error.abs() <= if n <= limit { 0.0 } else { 0.02 * n as f64 }, "{n}: {error}");
        }
    }

    #[test]
    fn strings_that_differ_only_in_length_or_one_bit_hash_apart() {
        let keys: HashSet<u64> = (0..100).map(|n| hash(&vec![0; n])).collect();
        assert_eq!(keys.len(), 100);
        assert_ne!(hash(b"/a/b/c/d/e/f/g/h/i"), hash(b"/a/b/c/d/e/f/g/h/h"));
    }
}
