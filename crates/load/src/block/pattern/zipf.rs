//! Zipf's law over any number of ranks in constant time and memory, by rejection-inversion: Hörmann & Derflinger,
//! "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996. The density
//! `x^-theta` is inverted, and rejected where its integral around a rank exceeds the rank's probability.

/// Ranks `1..=ranks` with probability proportional to `rank^-theta`, for any `theta` above 0.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    ranks: f64,
    theta: f64,
    /// The integral at the lower end (where rank 1 takes as much as it weighs) and at the upper.
    low: f64,
    high: f64,
    /// A rank at most this far above its inverted point is taken without a second look.
    squeeze: f64,
}

impl Zipf {
    pub fn new(ranks: u64, theta: f64) -> Self {
        let mut zipf = Self { ranks: ranks as f64, theta, low: 0.0, high: 0.0, squeeze: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.ranks + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// A rank counted from 0. `uniform` draws from `[0, 1)`, once or (seldom) more often.
    #[inline]
    pub fn draw(&self, mut uniform: impl FnMut() -> f64) -> u64 {
        loop {
            let area = self.high + uniform() * (self.low - self.high);
            let x = self.inverse(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.ranks);
            if rank - x <= self.squeeze || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    #[inline]
    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// ∫ t^-theta dt from 1 to x: (x^(1−theta) − 1) / (1 − theta), or ln x at theta 1, without a jump between them.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.theta) * log;
        if power.abs() > 1e-8 { power.exp_m1() / (1.0 - self.theta) } else { log * (1.0 + power / 2.0) }
    }

    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        // Below −1 only by rounding.
        let power = (area * (1.0 - self.theta)).max(-1.0);
        if power.abs() > 1e-8 { (power.ln_1p() / (1.0 - self.theta)).exp() } else { (area * (1.0 - power / 2.0)).exp() }
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::super::uniform;
    use super::*;

    /// Pearson's statistic in deviations of its law, cells of fewer than ten expected draws put together.
    fn deviations(found: &[u64], probabilities: &[f64], draws: f64) -> f64 {
        let (mut statistic, mut cells) = (0.0, 0.0);
        let (mut seen, mut expected) = (0.0, 0.0);
        for (found, probability) in found.iter().zip(probabilities) {
            seen += *found as f64;
            expected += probability * draws;
            if expected >= 10.0 {
                statistic += (seen - expected).powi(2) / expected;
                cells += 1.0;
                (seen, expected) = (0.0, 0.0);
            }
        }
        let freedom: f64 = cells - 1.0;
        (statistic - freedom) / (2.0 * freedom.max(1.0)).sqrt()
    }

    #[test]
    fn ranks_have_the_probabilities_of_zipfs_law() {
        for (seed, theta) in [0.01, 0.5, 0.9, 0.999_999, 1.0, 1.000_001, 1.2, 2.0, 4.5].into_iter().enumerate() {
            for ranks in [2u64, 10, 1000] {
                let weights: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).powf(-theta)).collect();
                let total: f64 = weights.iter().sum();
                let probabilities: Vec<f64> = weights.iter().map(|w| w / total).collect();
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
                let (zipf, mut found) = (Zipf::new(ranks, theta), vec![0u64; ranks as usize]);
                (0..400_000).for_each(|_| found[zipf.draw(|| uniform(&mut random)) as usize] += 1);
                let off = deviations(&found, &probabilities, 400_000.0);
                assert!(off < 5.0, "theta {theta}, {ranks} ranks: {off} deviations");
            }
        }
    }

    /// H(n, theta) by Euler and Maclaurin from rank 1000 on: the share of the first rank, and of the first million, of
    /// ten billion.
    #[test]
    fn billions_of_ranks_follow_the_same_law() {
        for theta in [0.8, 1.0, 1.1] {
            let harmonic = |n: f64| {
                let direct: f64 = (1..1000).map(|rank| f64::from(rank).powf(-theta)).sum();
                let integral = |x: f64| if theta == 1.0 { x.ln() } else { x.powf(1.0 - theta) / (1.0 - theta) };
                let ends = (1000f64.powf(-theta) + n.powf(-theta)) / 2.0;
                let slopes = theta * (1000f64.powf(-theta - 1.0) - n.powf(-theta - 1.0)) / 12.0;
                direct + integral(n) - integral(1000.0) + ends + slopes
            };
            let (zipf, mut random) = (Zipf::new(10_000_000_000, theta), Xoshiro256PlusPlus::seed_from_u64(7));
            let (mut first, mut million) = (0.0, 0.0);
            for _ in 0..1_000_000 {
                let rank = zipf.draw(|| uniform(&mut random));
                assert!(rank < 10_000_000_000);
                first += f64::from(u8::from(rank == 0));
                million += f64::from(u8::from(rank < 1_000_000));
            }
            for (found, share) in [(first, 1.0 / harmonic(1e10)), (million, harmonic(1e6) / harmonic(1e10))] {
                let error = (share * (1.0 - share) * 1e6).sqrt();
                assert!((found - share * 1e6).abs() < 5.0 * error, "theta {theta}: {found} of 1e6, share {share}");
            }
        }
    }

    #[test]
    fn steep_laws_and_single_ranks_end() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for (ranks, theta) in [(1, 1.0), (1, 30.0), (1 << 50, 30.0), (1 << 50, 1e-6)] {
            let zipf = Zipf::new(ranks, theta);
            assert!((0..10_000).all(|_| zipf.draw(|| uniform(&mut random)) < ranks));
        }
    }
}
