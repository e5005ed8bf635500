//! A drive rests after it has been idle for a threshold. At the break-even time this never costs more than twice what
//! the oracle pays above resting (the ski-rental argument; Karlin et al., Algorithmica 11(6), 1994).

use iojoule_units::Nanos;

use super::{Orders, Policy, Rest, View, Wants};

/// One threshold for all drives.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    threshold: Nanos,
    to: Rest,
}

impl Fixed {
    pub fn new(threshold: Nanos, to: Rest) -> Self {
        Self { threshold, to }
    }
}

impl Policy for Fixed {
    fn wants(&self) -> Wants {
        Wants { idle: true, ..Wants::default() }
    }

    fn idle(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        orders.wake(drive, view.now() + self.threshold);
    }

    fn timer(&mut self, drive: u16, _: &dyn View, orders: &mut Orders) {
        orders.spin_down(drive, self.to);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::golden::{self, table};
    use super::super::stage::{energy, play, seconds};
    use super::super::{Never, OracleTally, cost};
    use super::*;

    fn policy(threshold: Option<Nanos>) -> Box<dyn Policy> {
        threshold.map_or(Box::new(Never), |threshold| Box::new(Fixed::new(threshold, Rest::Standby)))
    }

    #[test]
    fn one_idle_period_costs_what_the_golden_table_says() {
        let figures = golden::ultrastar();
        for row in table("000_spin_down_ratio.csv") {
            let period = row.seconds("idle_s");
            let played = play(policy(row.threshold()).as_mut(), &figures, &[period]);
            assert_eq!(u8::from(played[0].down_after.is_some()), row.number("recomputed_sleeps") as u8);
            let (online, oracle) = (played[0].energy.0, cost::oracle(&figures, period).0);
            assert!((online - row.number("recomputed_e_online_j")).abs() < 1e-6);
            assert!((oracle - row.number("recomputed_e_oracle_j")).abs() < 1e-6);
            assert!((online / oracle - row.number("recomputed_ratio")).abs() < 1e-8);
        }
    }

    #[test]
    fn several_idle_periods_cost_what_the_golden_table_says() {
        let figures = golden::ultrastar();
        for row in table("000_spin_down_trace.csv") {
            let periods: Vec<f64> = row.text("idle_periods_s").split(' ').map(|s| s.parse().unwrap()).collect();
            let periods = seconds(&periods);
            let played = play(policy(row.threshold()).as_mut(), &figures, &periods);
            let downs = played.iter().filter(|p| p.down_after.is_some()).count();
            assert_eq!(downs, row.number("recomputed_spin_downs") as usize);
            assert!((energy(&played) - row.number("recomputed_e_online_j")).abs() < 1e-6);
            let mut oracle = OracleTally::new(figures);
            periods.iter().for_each(|period| oracle.add(*period));
            assert!((oracle.energy().0 - row.number("recomputed_e_oracle_j")).abs() < 1e-6);
        }
    }

    proptest! {
        #[test]
        fn at_the_break_even_a_drive_pays_at_most_twice_the_oracles_excess(
            periods in prop::collection::vec(1_u64..1_000_000_000_000, 1..50),
        ) {
            let figures = golden::ultrastar();
            let periods: Vec<Nanos> = periods.into_iter().map(|ns| Nanos(ns as i64)).collect();
            let threshold = figures.break_even().unwrap();
            let online = energy(&play(&mut Fixed::new(threshold, Rest::Standby), &figures, &periods));
            // A period cut short inside a transition still ends when the transitions do: the excess counts full
            // transitions.
            let excess = |joules: f64, down_at: &dyn Fn(Nanos) -> Option<Nanos>| {
                let resting = |p: &Nanos| match down_at(*p) {
                    Some(after) => p.0.max((after + figures.spin_down + figures.spin_up).0),
                    None => p.0,
                };
                joules - figures.standby.0 * periods.iter().map(resting).sum::<i64>() as f64 / 1e9
            };
            let oracle: f64 = periods.iter().map(|p| cost::oracle(&figures, *p).0).sum();
            let ours = excess(online, &|p| (p > threshold).then_some(threshold));
            let least = excess(oracle, &|p| (p > threshold).then_some(Nanos::ZERO));
            prop_assert!(ours <= 2.0 * least + 1e-6, "{ours} {least}");
            prop_assert!(least <= ours + 1e-6);
        }
    }
}
