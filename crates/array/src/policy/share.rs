//! A threshold for each drive by the share algorithm: experts with fixed thresholds, weighed by what each would have
//! cost in the idle periods seen so far. A loser gives part of its weight to a common pool, so that another can win
//! when the load changes. Helmbold, Long, Sconyers & Sherrod, Mobile Networks and Applications 5(4), 2000.

use iojoule_disk::power::Standby;
use iojoule_units::Nanos;

use super::{Orders, Policy, Rest, View, Wants, cost};

/// The experts and how fast their weights move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experts {
    /// At least 2. Thresholds are spaced evenly from 0 to `most`.
    pub number: u16,
    pub most: Nanos,
    /// Learning rate η: `w ← w e^(−η loss)`, the loss of a period between 0 and 1.
    pub eta: f64,
    /// Mixing α: a loser gives the part `1 − (1 − α)^loss` of its weight to be shared by all.
    pub alpha: f64,
}

/// A threshold for each drive, from experts by their weight.
#[derive(Clone, Debug)]
pub struct Share {
    figures: Standby,
    experts: Experts,
    to: Rest,
    /// Weights of the experts, by drive; each drive's sum is 1.
    weights: Vec<Vec<f64>>,
}

impl Share {
    pub fn new(drives: u16, figures: Standby, experts: Experts, to: Rest) -> Self {
        let even = vec![1.0 / f64::from(experts.number); usize::from(experts.number)];
        Self { figures, experts, to, weights: vec![even; usize::from(drives)] }
    }

    fn expert(&self, number: usize) -> Nanos {
        Nanos((self.experts.most.0 as f64 * number as f64 / f64::from(self.experts.number - 1)).round() as i64)
    }

    /// The mean of the experts' thresholds by weight.
    pub fn threshold(&self, drive: u16) -> Nanos {
        let weights = &self.weights[usize::from(drive)];
        let mean: f64 = weights.iter().enumerate().map(|(at, weight)| weight * self.expert(at).0 as f64).sum();
        Nanos(mean.round() as i64)
    }

    /// What the threshold costs above the oracle in one period, as a share of the most it can.
    fn loss(&self, threshold: Nanos, period: Nanos) -> f64 {
        let gain = self.figures.idle.0 - self.figures.standby.0;
        let penalty = cost::penalty(&self.figures).0;
        let excess = |spinning: Nanos, rests: bool| gain * spinning.as_secs_f64() + if rests { penalty } else { 0.0 };
        let ours = excess(threshold.min(period), period > threshold);
        let least = excess(period, false).min(penalty);
        let worst = penalty.max(gain * self.experts.most.as_secs_f64());
        ((ours - least) / worst).clamp(0.0, 1.0)
    }

    fn learn(&mut self, drive: u16, period: Nanos) {
        let losses: Vec<f64> =
            (0..usize::from(self.experts.number)).map(|e| self.loss(self.expert(e), period)).collect();
        let weights = &mut self.weights[usize::from(drive)];
        let mut pool = 0.0;
        for (weight, loss) in weights.iter_mut().zip(&losses) {
            *weight *= (-self.experts.eta * loss).exp();
            let kept = *weight * (1.0 - self.experts.alpha).powf(*loss);
            pool += *weight - kept;
            *weight = kept;
        }
        let part = pool / weights.len() as f64;
        let sum: f64 = weights.iter().map(|weight| weight + part).sum();
        weights.iter_mut().for_each(|weight| *weight = (*weight + part) / sum);
    }
}

impl Policy for Share {
    fn wants(&self) -> Wants {
        Wants { idle: true, ..Wants::default() }
    }

    fn idle(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        let last = view.drive(drive).last_idle;
        if last > Nanos::ZERO {
            self.learn(drive, last);
        }
        orders.wake(drive, view.now() + self.threshold(drive));
    }

    fn timer(&mut self, drive: u16, _: &dyn View, orders: &mut Orders) {
        orders.spin_down(drive, self.to);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::golden;
    use super::super::stage::{energy, play, seconds};
    use super::super::{Fixed, oracle_energy};
    use super::*;

    fn share() -> Share {
        let most = Nanos::from_secs_f64(30.0);
        Share::new(1, golden::ultrastar(), Experts { number: 31, most, eta: 4.0, alpha: 0.08 }, Rest::Standby)
    }

    #[test]
    fn among_long_periods_it_learns_to_rest_at_once_and_among_short_ones_to_wait() {
        let figures = golden::ultrastar();
        let mut policy = share();
        play(&mut policy, &figures, &seconds(&[600.0; 100]));
        assert!(policy.threshold(0) < Nanos::from_secs_f64(2.0));
        // Longer than the threshold just learned, too short to pay. The load has changed; the pool lets it follow.
        play(&mut policy, &figures, &seconds(&[12.0; 100]));
        assert!(policy.threshold(0) > Nanos::from_secs_f64(12.0), "{:?}", policy.threshold(0));
    }

    #[test]
    fn where_long_and_short_periods_come_in_spells_it_beats_the_break_even() {
        let figures = golden::ultrastar();
        let spells: Vec<f64> = [[300.0; 40], [10.0; 40]].concat().repeat(3);
        let periods = seconds(&spells);
        let fixed = play(&mut Fixed::new(figures.break_even().unwrap(), Rest::Standby), &figures, &periods);
        let ours = energy(&play(&mut share(), &figures, &periods));
        assert!(ours < energy(&fixed));
        assert!(ours > oracle_energy(periods, &figures).0);
    }

    proptest! {
        #[test]
        fn weights_stay_positive_and_sum_to_one(periods in prop::collection::vec(0.001_f64..10_000.0, 1..200)) {
            let mut policy = share();
            play(&mut policy, &golden::ultrastar(), &seconds(&periods));
            let sum: f64 = policy.weights[0].iter().sum();
            prop_assert!((sum - 1.0).abs() < 1e-9);
            prop_assert!(policy.weights[0].iter().all(|weight| *weight > 0.0));
        }
    }
}
