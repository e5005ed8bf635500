//! The offline lower bound: what drives would have drawn had they known the length of every idle period, and had been
//! back in time. No policy that delays no request can draw less; it is computed from the idle periods of a run in
//! which the drives always spin, and stands beside every run.

use iojoule_disk::power::Standby;
use iojoule_units::{Joules, Nanos};

use super::cost;

/// Energy of the idle periods under the oracle.
pub fn oracle_energy(periods: impl IntoIterator<Item = Nanos>, figures: &Standby) -> Joules {
    let mut tally = OracleTally::new(*figures);
    periods.into_iter().for_each(|period| tally.add(period));
    tally.energy()
}

/// Takes idle periods as they end and keeps none of them.
#[derive(Clone, Copy, Debug)]
pub struct OracleTally {
    figures: Standby,
    energy: Joules,
    stay: Joules,
    rests: u64,
}

impl OracleTally {
    pub fn new(figures: Standby) -> Self {
        Self { figures, energy: Joules(0.0), stay: Joules(0.0), rests: 0 }
    }

    /// Counts an idle period of a drive.
    pub fn add(&mut self, period: Nanos) {
        let (stay, least) = (self.figures.stay(period), cost::oracle(&self.figures, period));
        self.stay = self.stay + stay;
        self.energy = self.energy + least;
        self.rests += u64::from(least.0 < stay.0);
    }

    /// Of all idle periods, under the oracle.
    pub fn energy(&self) -> Joules {
        self.energy
    }

    /// What the oracle saves of the energy of the run in which the drives always spin.
    pub fn saved(&self) -> Joules {
        Joules(self.stay.0 - self.energy.0)
    }

    /// Idle periods in which the oracle rests.
    pub fn rests(&self) -> u64 {
        self.rests
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::golden;
    use super::super::stage::{energy, play};
    use super::super::{Fixed, Rest};
    use super::*;

    proptest! {
        #[test]
        fn no_threshold_draws_less_than_the_oracle(
            periods in prop::collection::vec(1_i64..2_000_000_000_000, 1..40), threshold in 0_i64..100_000_000_000,
        ) {
            let figures = golden::ultrastar();
            let periods: Vec<Nanos> = periods.into_iter().map(Nanos).collect();
            let played = play(&mut Fixed::new(Nanos(threshold), Rest::Standby), &figures, &periods);
            let least = oracle_energy(periods, &figures);
            prop_assert!(energy(&played) >= least.0 - 1e-6);
        }
    }

    #[test]
    fn what_is_saved_and_what_is_drawn_are_what_spinning_draws() {
        let mut tally = OracleTally::new(golden::ultrastar());
        tally.add(Nanos::from_secs_f64(60.0));
        tally.add(Nanos::from_secs_f64(5.0));
        assert!((tally.energy().0 + tally.saved().0 - 65.0 * 10.2).abs() < 1e-9);
        assert_eq!(tally.rests(), 1);
    }
}
