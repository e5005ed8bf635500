//! Draws from distributions; one seeded stream each.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Below it a binomial draw is made of single coins, above it of the normal distribution.
const COINS: u64 = 64;

#[derive(Clone, Debug)]
pub(crate) struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// Streams of one seed that differ in their number have nothing to do with each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..stream).for_each(|_| random.jump());
        Self(random)
    }

    /// Uniform in `[0, 1)` with 53 bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..n`, to within `n / 2^64`.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    #[inline]
    pub fn coin(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// Successes among `n` trials of probability `p`; above 64 trials the rounded normal approximation.
    pub fn binomial(&mut self, n: u64, p: f64) -> u64 {
        if n <= COINS {
            return match p == 0.5 {
                true => u64::from((self.0.next_u64() >> (64 - n.max(1))).count_ones()) * u64::from(n > 0),
                false => (0..n).filter(|_| self.coin(p)).count() as u64,
            };
        }
        let mean = n as f64 * p;
        let drawn = mean + (mean * (1.0 - p)).sqrt() * self.gaussian();
        (drawn.round().max(0.0) as u64).min(n)
    }

    /// Standard normal (Marsaglia & Bray, SIAM Review 6(3), 1964).
    fn gaussian(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean `n p` and variance `n p (1 − p)`; within five standard errors of 100,000 draws.
    #[test]
    fn binomial_draws_have_their_mean_and_variance() {
        let mut draw = Draw::new(1, 0);
        for (n, p) in [(0u64, 0.5), (1, 0.5), (64, 0.5), (10, 0.3), (64, 0.7), (65, 0.5), (1000, 0.7)] {
            let drawn: Vec<f64> = (0..100_000).map(|_| draw.binomial(n, p) as f64).collect();
            assert!(drawn.iter().all(|d| *d <= n as f64));
            let mean = drawn.iter().sum::<f64>() / 1e5;
            let variance = drawn.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 1e5;
            let expected = n as f64 * p * (1.0 - p);
            assert!((mean - n as f64 * p).abs() <= 5.0 * (expected / 1e5).sqrt(), "{n} {p}: {mean}");
            assert!((variance - expected).abs() <= 0.03 * expected.max(0.1), "{n} {p}: {variance}");
        }
    }
}
