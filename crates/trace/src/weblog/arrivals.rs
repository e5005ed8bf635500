//! Arrivals of an inhomogeneous Poisson process with the rate `λ(t) ∝ 1 + swing·cos(2π(t − 15:00)/day)`. Given their
//! number, arrivals are independent draws from the normalised rate, sorted; they are drawn one after the other in
//! ascending order, so that a long log needs no more memory than a short one.

use std::f64::consts::TAU;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::spread::uniform;

const DAY_S: f64 = 86_400.0;
const PEAK_S: f64 = 15.0 * 3600.0;

/// The rate over the span of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    pub start_s: i64,
    pub duration_s: f64,
    pub swing: f64,
}

impl Curve {
    /// Integral of the rate from the start to `t` seconds behind it.
    fn integral(&self, t: f64) -> f64 {
        let phase = (self.start_s as f64).rem_euclid(DAY_S) - PEAK_S;
        let swung = |t: f64| (TAU * (t + phase) / DAY_S).sin() * DAY_S / TAU;
        t + self.swing * (swung(t) - swung(0.0))
    }

    /// The time at which the integral has reached `share` of its end, not before `from`. The rate may touch zero, so the
    /// root is bisected, not sought by Newton's steps.
    fn at(&self, share: f64, from: f64) -> f64 {
        let wanted = share * self.integral(self.duration_s);
        let (mut low, mut high) = (from, self.duration_s);
        while high - low > 1e-4 {
            let middle = (low + high) / 2.0;
            if self.integral(middle) < wanted { low = middle } else { high = middle }
        }
        low
    }
}

/// The arrivals still to come.
pub(crate) struct Arrivals {
    curve: Curve,
    left: u64,
    share: f64,
    at_s: f64,
}

impl Arrivals {
    pub fn new(curve: Curve, count: u64) -> Self {
        Self { curve, left: count, share: 0.0, at_s: 0.0 }
    }

    /// Seconds behind the start, ascending and below the duration.
    pub fn next(&mut self, random: &mut Xoshiro256PlusPlus) -> Option<f64> {
        if self.left == 0 {
            return None;
        }
        // The least of n uniform draws above `share` (Bentley & Saxe, ACM TOMS 6(3), 1980).
        let least = 1.0 - (1.0 - uniform(random)).powf(1.0 / self.left as f64);
        self.left -= 1;
        self.share += (1.0 - self.share) * least;
        self.at_s = self.curve.at(self.share, self.at_s);
        Some(self.at_s)
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn arrivals_ascend_and_crowd_in_the_afternoon() {
        let curve = Curve { start_s: 0, duration_s: DAY_S, swing: 0.7 };
        let (mut arrivals, mut random) = (Arrivals::new(curve, 50_000), Xoshiro256PlusPlus::seed_from_u64(1));
        let times: Vec<f64> = std::iter::from_fn(|| arrivals.next(&mut random)).collect();
        assert_eq!(times.len(), 50_000);
        assert!(times.is_sorted() && times.iter().all(|t| (0.0..DAY_S).contains(t)));
        // The share between 12:00 and 18:00 is 1/4 + 0.7·sin(π/4)/π = 0.4076; its standard error is 0.0022.
        let share = times.iter().filter(|t| (43_200.0..64_800.0).contains(*t)).count() as f64 / 50_000.0;
        assert!((share - 0.4076).abs() < 0.009, "{share}");
    }
}
