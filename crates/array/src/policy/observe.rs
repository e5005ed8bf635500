//! Watches idle periods and decides nothing: the always-on run from which the oracle's energy is computed.

use std::sync::{Arc, Mutex, PoisonError};

use iojoule_disk::power::Standby;
use iojoule_units::{Joules, ModelNs, Nanos};

use super::{OracleTally, Orders, Policy, View, Wants};

/// The policy: [`super::Never`], with a witness.
pub struct Observer(Witness);

/// What was seen of the drives' idle periods, for after the run.
#[derive(Clone)]
pub struct Witness(Arc<Mutex<Seen>>);

struct Seen {
    tally: OracleTally,
    /// By drive: the idle period under way.
    open: Vec<Option<Open>>,
}

#[derive(Clone, Copy)]
struct Open {
    since: ModelNs,
    /// From `since` on, when a rebuild or a shift needed the drive.
    missed: Nanos,
}

impl Observer {
    pub fn new(drives: u16, figures: Standby) -> (Self, Witness) {
        let seen = Seen { tally: OracleTally::new(figures), open: vec![None; usize::from(drives)] };
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
        seen.open.iter().flatten().for_each(|open| tally.add(end - open.since - open.missed));
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
        let since = one.idle_since.unwrap_or(view.now());
        let missed = match seen.open[usize::from(drive)] {
            Some(open) if open.since == since => return,
            Some(open) => {
                seen.tally.add(one.last_idle - open.missed);
                Nanos::ZERO
            }
            None => view.now() - since,
        };
        seen.open[usize::from(drive)] = Some(Open { since, missed });
    }

    fn taken(&mut self, drive: u16, view: &dyn View, _: &mut Orders) {
        let mut seen = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = seen.open[usize::from(drive)].take() else { return };
        let one = view.drive(drive);
        let length = if one.idle_since == Some(open.since) { view.now() - open.since } else { one.last_idle };
        seen.tally.add(length - open.missed);
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
