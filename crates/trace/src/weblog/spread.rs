//! Where inside its second each request is placed. Logs stamp whole seconds; requests of one second sent all at once
//! would be a burst that never was. Given their number, the instants of a Poisson process in a second are sorted
//! uniform draws; that is what is drawn here. The draws of a second depend on the seed, the second and the number alone.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const SECOND_NS: u64 = 1_000_000_000;

/// `count` offsets into the second `utc_s`, ascending, each in `0..10^9` ns.
pub fn offsets_ns(seed: u64, utc_s: i64, count: usize) -> Vec<i64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ (utc_s as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // The high half of a 128-bit product: uniform to within 10^9 / 2^64.
    let draw = |bits: u64| ((u128::from(bits) * u128::from(SECOND_NS)) >> 64) as i64;
    let mut offsets: Vec<i64> = (0..count).map(|_| draw(random.next_u64())).collect();
    offsets.sort_unstable();
    offsets
}

/// A uniform draw in `[0, 1)` with 53 bits.
pub(crate) fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn offsets_ascend_and_stay_inside_their_second(seed: u64, utc_s: i64, count in 0usize..500) {
            let offsets = offsets_ns(seed, utc_s, count);
            prop_assert_eq!(offsets.len(), count);
            prop_assert!(offsets.is_sorted());
            prop_assert!(offsets.iter().all(|ns| (0..SECOND_NS as i64).contains(ns)));
            prop_assert_eq!(offsets, offsets_ns(seed, utc_s, count));
        }
    }

    /// Mean of one uniform draw 1/2, of the first of four 1/5; standard errors over 10,000 seconds below 0.003.
    #[test]
    fn offsets_are_uniform() {
        let mean = |count: usize| (0..10_000).map(|s| offsets_ns(7, s, count)[0] as f64 / 1e9).sum::<f64>() / 10_000.0;
        assert!((mean(1) - 0.5).abs() < 0.012, "{}", mean(1));
        assert!((mean(4) - 0.2).abs() < 0.008, "{}", mean(4));
    }
}
