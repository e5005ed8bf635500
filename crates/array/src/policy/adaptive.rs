//! A threshold for each drive that learns: longer after a spin-down that did not pay, shorter after one that did.
//! Douglis, Krishnan & Bershad, USENIX Mobile and Location-Independent Computing 1995; here with multiplicative
//! steps, and a spin-down is bad where the idle period from it on was shorter than the break-even.

use iojoule_units::{ModelNs, Nanos};

use super::{Orders, Policy, Rest, View, Wants};

/// How the threshold moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    pub first: Nanos,
    pub least: Nanos,
    pub most: Nanos,
    /// Factor after a bad spin-down; above 1.
    pub up: f64,
    /// Factor after a good one; below 1.
    pub down: f64,
}

/// A threshold for each drive that follows what its last spin-down brought.
#[derive(Clone, Debug)]
pub struct Adaptive {
    break_even: Nanos,
    steps: Steps,
    to: Rest,
    /// By drive: its threshold, and when it last went to rest.
    drives: Vec<(Nanos, ModelNs)>,
}

impl Adaptive {
    pub fn new(drives: u16, break_even: Nanos, steps: Steps, to: Rest) -> Self {
        Self { break_even, steps, to, drives: vec![(steps.first, ModelNs::ZERO); usize::from(drives)] }
    }

    /// The drive's threshold now.
    pub fn threshold(&self, drive: u16) -> Nanos {
        self.drives[usize::from(drive)].0
    }
}

impl Policy for Adaptive {
    fn wants(&self) -> Wants {
        Wants { idle: true, arrived: true, ..Wants::default() }
    }

    fn idle(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        orders.wake(drive, view.now() + self.threshold(drive));
    }

    fn timer(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        self.drives[usize::from(drive)].1 = view.now();
        orders.spin_down(drive, self.to);
    }

    fn arrived(&mut self, drive: u16, view: &dyn View, _: &mut Orders) {
        let steps = self.steps;
        let (threshold, rested_at) = &mut self.drives[usize::from(drive)];
        let factor = if view.now() - *rested_at < self.break_even { steps.up } else { steps.down };
        let moved = Nanos((threshold.0 as f64 * factor).round() as i64);
        *threshold = moved.clamp(steps.least, steps.most);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::golden;
    use super::super::stage::{energy, play, seconds};
    use super::super::{Fixed, Rest};
    use super::*;

    fn adaptive() -> Adaptive {
        let of = Nanos::from_secs_f64;
        let steps = Steps { first: of(10.0), least: of(1.0), most: of(100.0), up: 2.0, down: 0.5 };
        Adaptive::new(1, golden::ultrastar().break_even().unwrap(), steps, Rest::Standby)
    }

    #[test]
    fn a_bad_spin_down_lengthens_the_threshold_and_a_good_one_shortens_it() {
        let figures = golden::ultrastar();
        let mut policy = adaptive();
        // 12 s: the drive rests after 10 s and is wanted 2 s later.
        play(&mut policy, &figures, &seconds(&[12.0]));
        assert_eq!(policy.threshold(0), Nanos::from_secs_f64(20.0));
        // Spinning through teaches nothing.
        play(&mut policy, &figures, &seconds(&[12.0]));
        assert_eq!(policy.threshold(0), Nanos::from_secs_f64(20.0));
        play(&mut policy, &figures, &seconds(&[600.0, 600.0]));
        assert_eq!(policy.threshold(0), Nanos::from_secs_f64(5.0));
    }

    #[test]
    fn among_long_idle_periods_it_draws_less_than_a_fixed_threshold_at_the_break_even() {
        let figures = golden::ultrastar();
        let periods = seconds(&[300.0; 50]);
        let fixed = play(&mut Fixed::new(figures.break_even().unwrap(), Rest::Standby), &figures, &periods);
        assert!(energy(&play(&mut adaptive(), &figures, &periods)) < energy(&fixed));
    }

    proptest! {
        #[test]
        fn the_threshold_stays_within_its_bounds(periods in prop::collection::vec(0.01_f64..500.0, 1..100)) {
            let mut policy = adaptive();
            for period in seconds(&periods) {
                play(&mut policy, &golden::ultrastar(), &[period]);
                let threshold = policy.threshold(0).as_secs_f64();
                prop_assert!((1.0..=100.0).contains(&threshold));
            }
        }
    }
}
