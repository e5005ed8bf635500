//! A seeded bijection of `0..n`, so that places that are hot lie all over the region and not side by side. Rounds of
//! odd multiplications and shifts, each of which can be undone, permute the next power of two; what falls outside of
//! `0..n` is sent through again until it is inside (cycle walking: Black & Rogaway, CT-RSA 2002, §3), fewer than two
//! times on average.

use rand_core::Rng;

/// Odd multipliers whose products depend well on all bits (MurmurHash3's finaliser, Appleby 2011).
const FIRST: u64 = 0xff51_afd7_ed55_8ccd;
const SECOND: u64 = 0xc4ce_b9fe_1a85_ec53;

#[derive(Clone, Debug)]
pub(super) struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 2],
}

impl Scatter {
    /// Of `0..n`, with `n` above 0.
    pub fn new(n: u64, random: &mut impl Rng) -> Self {
        let bits = (64 - (n - 1).leading_zeros()).max(1);
        let keys = [random.next_u64(), random.next_u64()];
        Self { n, mask: u64::MAX >> (64 - bits), shift: bits.div_ceil(2), keys }
    }

    /// Where `x` of `0..n` goes.
    #[inline]
    pub fn place(&self, mut x: u64) -> u64 {
        loop {
            x = self.permute(x);
            if x < self.n {
                return x;
            }
        }
    }

    #[inline]
    fn permute(&self, x: u64) -> u64 {
        let x = x.wrapping_add(self.keys[0]) & self.mask;
        let x = (x ^ (x >> self.shift)).wrapping_mul(FIRST) & self.mask;
        let x = ((x ^ (x >> self.shift)).wrapping_add(self.keys[1])).wrapping_mul(SECOND) & self.mask;
        x ^ (x >> self.shift)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn scatter(n: u64, seed: u64) -> Scatter {
        Scatter::new(n, &mut Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    proptest! {
        #[test]
        fn every_place_is_taken_by_exactly_one(n in 1u64..5000, seed: u64) {
            let scatter = scatter(n, seed);
            let mut taken = vec![false; n as usize];
            for x in 0..n {
                let place = scatter.place(x);
                prop_assert!(!std::mem::replace(&mut taken[place as usize], true), "{place} twice");
            }
        }

        #[test]
        fn places_stay_inside_of_any_region(n in 1u64.., x: u64, seed: u64) {
            prop_assert!(scatter(n, seed).place(x % n) < n);
        }
    }

    /// The first thousandth of a million falls into hundredths of the region as balls fall into urns.
    #[test]
    fn neighbours_are_spread_over_the_whole_region() {
        for seed in 0..20 {
            let (scatter, mut urns) = (scatter(1_000_000, seed), [0.0f64; 100]);
            (0..1000).for_each(|x| urns[(scatter.place(x) / 10_000) as usize] += 1.0);
            let chi_square: f64 = urns.iter().map(|found| (found - 10.0).powi(2) / 10.0).sum();
            // 99 degrees of freedom: mean 99, deviation 14.
            assert!(chi_square < 99.0 + 6.0 * 14.1, "{seed}: {chi_square}");
        }
    }
}
