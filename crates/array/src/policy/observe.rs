//! Watches idle periods and decides nothing: the always-on run from which the oracle's energy is computed.

use std::sync::{Arc, Mutex, PoisonError};

use iojoule_disk::power::Standby;
use iojoule_units::{Joules, ModelNs};

use super::{OracleTally, Orders, Policy, View, Wants};

/// The policy: [`super::Never`], with a witness.
pub struct Observer(Witness);

/// What was seen of the drives' idle periods, for after the run.
#[derive(Clone)]
pub struct Witness(Arc<Mutex<Seen>>);

struct Seen {
    tally: OracleTally,
    /// By drive: since when it has been idle.
    idle_since: Vec<Option<ModelNs>>,
}

impl Observer {
    pub fn new(drives: u16, figures: Standby) -> (Self, Witness) {
        let seen = Seen { tally: OracleTally::new(figures), idle_since: vec![None; usize::from(drives)] };
        let witness = Witness(Arc::new(Mutex::new(seen)));
        (Self(witness.clone()), witness)
    }
}

impl Witness {
    /// What the oracle saves of the energy of the run, which ended at `end` with no work left.
    pub fn saved(&self, end: ModelNs) -> Joules {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tally = seen.tally;
        // Idle periods that last to the end have not been counted.
        seen.idle_since.iter().flatten().for_each(|since| tally.add(end - *since));
        tally.saved()
    }
}

impl Policy for Observer {
    fn wants(&self) -> Wants {
        Wants { idle: true, ..Wants::default() }
    }

    fn idle(&mut self, drive: u16, view: &dyn View, _: &mut Orders) {
        let mut seen = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let one = view.drive(drive);
        if seen.idle_since[usize::from(drive)] != one.idle_since {
            seen.tally.add(one.last_idle);
            seen.idle_since[usize::from(drive)] = one.idle_since;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::golden::ultrastar;
    use super::super::oracle_energy;
    use super::super::stage::{play, seconds};
    use super::*;

    #[test]
    fn what_was_seen_is_every_idle_period_and_the_last_one_up_to_the_end() {
        let figures = ultrastar();
        let periods = seconds(&[60.0, 5.0, 300.0]);
        let (mut observer, witness) = Observer::new(1, figures);
        play(&mut observer, &figures, &periods);
        // A millisecond of work behind each of the first two.
        let end = ModelNs::ZERO + periods.iter().fold(iojoule_units::Nanos(2_000_000), |sum, period| sum + *period);
        let stay: f64 = periods.iter().map(|period| figures.stay(*period).0).sum();
        assert!((witness.saved(end).0 - (stay - oracle_energy(periods, &figures).0)).abs() < 1e-9);
    }
}
