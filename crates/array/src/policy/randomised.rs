//! A threshold drawn anew for every idle period, with the density `e^(t/T) / (T (e − 1))` on `0 ≤ t ≤ T`, `T` the
//! break-even: the expected excess is at most e/(e − 1) = 1.58 times the oracle's whatever the periods are, where a
//! fixed threshold can be led to 2 (Karlin et al., Algorithmica 11(6), 1994).

use std::f64::consts::E;

use iojoule_units::Nanos;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Orders, Policy, Rest, View, Wants};

/// A threshold drawn anew for every idle period.
#[derive(Clone, Debug)]
pub struct Randomised {
    break_even: Nanos,
    to: Rest,
    random: Xoshiro256PlusPlus,
}

impl Randomised {
    pub fn new(break_even: Nanos, to: Rest, seed: u64) -> Self {
        Self { break_even, to, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }
}

/// The threshold, as a share of the break-even, below which a share `u` of the draws lie: the inverse of
/// `(e^x − 1) / (e − 1)`.
fn quantile(u: f64) -> f64 {
    (1.0 + u * (E - 1.0)).ln()
}

impl Policy for Randomised {
    fn wants(&self) -> Wants {
        Wants { idle: true, ..Wants::default() }
    }

    fn idle(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        // 53 random bits are a uniform double in [0, 1).
        let u = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let threshold = Nanos::from_secs_f64(self.break_even.as_secs_f64() * quantile(u));
        orders.wake(drive, view.now() + threshold);
    }

    fn timer(&mut self, drive: u16, _: &dyn View, orders: &mut Orders) {
        orders.spin_down(drive, self.to);
    }
}

#[cfg(test)]
mod tests {
    use super::super::golden::{self, table};
    use super::super::stage::play;
    use super::*;

    #[test]
    fn thresholds_are_distributed_as_the_golden_table_says() {
        let figures = golden::ultrastar();
        let break_even = figures.break_even().unwrap();
        let long = vec![Nanos(break_even.0 * 2); 20_000];
        let played = play(&mut Randomised::new(break_even, Rest::Standby, 7), &figures, &long);
        for row in table("000_spin_down_randomized.csv") {
            let at = row.number("idle_over_break_even").min(1.0);
            let below = played.iter().filter(|p| p.down_after.unwrap().0 as f64 <= at * break_even.0 as f64).count();
            let share = below as f64 / played.len() as f64;
            // Three standard errors of a share of 20,000 draws are at most 0.0106.
            assert!((share - row.number("recomputed_timeout_cdf")).abs() < 0.011, "{at} {share}");
        }
    }

    #[test]
    fn the_expected_cost_is_e_over_e_minus_one_times_the_oracles() {
        for row in table("000_spin_down_randomized.csv") {
            // Cost in units of the penalty: the time spun, and one where the drive has rested.
            let idle = row.number("idle_over_break_even");
            let steps = 1_000_000;
            let cost = (0..steps)
                .map(|i| quantile((f64::from(i) + 0.5) / f64::from(steps)))
                .map(|threshold| if idle > threshold { threshold + 1.0 } else { idle })
                .sum::<f64>()
                / f64::from(steps);
            assert!((cost - row.number("recomputed_expected_cost")).abs() < 2e-6, "{idle} {cost}");
            assert!((cost / idle.min(1.0) - row.number("recomputed_ratio")).abs() < 5e-6);
        }
    }
}
