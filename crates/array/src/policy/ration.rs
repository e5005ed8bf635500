//! Rations power cycles: a drive that is rated for so many starts over its life has so many a day, and stays up when
//! the day's are used. Around any policy. After PARAID's rationing (Weddle et al., FAST 2007).

use iojoule_units::{ModelNs, Nanos};

use super::{Order, Orders, Policy, State, View, Wants};

const DAY: Nanos = Nanos(86_400_000_000_000);

/// Starts a day of a drive rated for `cycles` starts that is to live `years` of 365 days.
pub fn cycles_per_day(cycles: f64, years: f64) -> f64 {
    cycles / (365.0 * years)
}

/// A policy whose spin-downs are rationed. A drive may not be spun down more often in any day of the run than there
/// are whole cycles in its ration; the policy is asked again when the next day begins. A shift down is rationed for
/// each drive it would rest.
pub struct Rationed {
    inner: Box<dyn Policy>,
    per_day: u64,
    day: i64,
    /// Spin-downs of the day, by drive.
    used: Vec<u64>,
    asked: Orders,
}

impl Rationed {
    /// `per_day` is above 0; its fraction is left unused.
    pub fn new(inner: Box<dyn Policy>, drives: u16, per_day: f64) -> Self {
        let used = vec![0; usize::from(drives)];
        Self { inner, per_day: per_day.floor() as u64, day: 0, used, asked: Orders::default() }
    }

    fn pass(&mut self, view: &dyn View, orders: &mut Orders) {
        let day = view.now().0.div_euclid(DAY.0);
        if day != self.day {
            self.day = day;
            self.used.fill(0);
        }
        let mut asked = std::mem::take(&mut self.asked);
        for order in asked.drain() {
            match order {
                // Only what the array will do is counted.
                Order::SpinDown { drive, to } if view.drive(drive).state == State::Idle => {
                    if self.take(drive..drive + 1) {
                        orders.spin_down(drive, to);
                    } else {
                        orders.wake(drive, ModelNs::ZERO + Nanos((day + 1) * DAY.0));
                    }
                }
                Order::SpinDown { .. } => {}
                Order::Shift { gear } => {
                    let resting = view.gear().filter(|now| gear < now.now && !now.shifting);
                    if resting
                        .is_none_or(|now| self.take(now.sizes[usize::from(gear)]..now.sizes[usize::from(now.now)]))
                    {
                        orders.shift(gear);
                    }
                }
                Order::Wake { drive, at } => orders.wake(drive, at),
                Order::SpinUp { drive } => orders.spin_up(drive),
            }
        }
        self.asked = asked;
    }

    /// Takes a cycle from each of the drives; from none where one of them has none left.
    fn take(&mut self, drives: std::ops::Range<u16>) -> bool {
        let used = &mut self.used[usize::from(drives.start)..usize::from(drives.end)];
        let left = used.iter().all(|used| *used < self.per_day);
        used.iter_mut().filter(|_| left).for_each(|used| *used += 1);
        left
    }
}

impl Policy for Rationed {
    fn wants(&self) -> Wants {
        self.inner.wants()
    }

    fn idle(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        self.inner.idle(drive, view, &mut self.asked);
        self.pass(view, orders);
    }

    fn taken(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        self.inner.taken(drive, view, &mut self.asked);
        self.pass(view, orders);
    }

    fn timer(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        self.inner.timer(drive, view, &mut self.asked);
        self.pass(view, orders);
    }

    fn arrived(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        self.inner.arrived(drive, view, &mut self.asked);
        self.pass(view, orders);
    }

    fn window(&mut self, busy: &[f64], view: &dyn View, orders: &mut Orders) {
        self.inner.window(busy, view, &mut self.asked);
        self.pass(view, orders);
    }

    fn failure(&self) -> Option<&str> {
        self.inner.failure()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::gears::tests::gears;
    use super::super::golden::{table, ultrastar};
    use super::super::stage::{Geared, play, seconds};
    use super::super::{Fixed, Rest};
    use super::*;

    fn rationed(per_day: f64) -> Rationed {
        Rationed::new(Box::new(Fixed::new(Nanos::from_secs_f64(10.0), Rest::Standby)), 1, per_day)
    }

    #[test]
    fn a_rated_life_gives_so_many_cycles_a_day() {
        for row in table("000_power_cycle_budget.csv") {
            let ours = cycles_per_day(row.number("rated_cycles"), row.number("life_years"));
            assert!((ours - row.number("recomputed_cycles_per_day")).abs() < 1e-7);
        }
    }

    #[test]
    fn a_drive_that_has_used_its_ration_stays_up_until_the_next_day() {
        // Ten idle minutes, again and again: 144 a day, the last of which ends in the next day.
        let played = play(&mut rationed(10.96), &ultrastar(), &seconds(&[600.0; 300]));
        let downs = |part: &[super::super::stage::Played]| part.iter().filter(|p| p.down_after.is_some()).count();
        assert_eq!(downs(&played[..143]), 10);
        assert_eq!(downs(&played[143..287]), 10);
        // One that is idle over midnight is spun down then.
        let played = play(&mut rationed(1.0), &ultrastar(), &seconds(&[43_200.0, 86_400.0]));
        assert_eq!(played[1].down_after.unwrap().as_secs_f64().round(), 43_200.0);
    }

    #[test]
    fn shifts_down_are_rationed_too_and_an_array_without_cycles_stays_in_its_gear_until_the_next_day() {
        let mut policy = Rationed::new(Box::new(gears()), 4, 3.0);
        let mut array = Geared::top();
        for day in 0..2 {
            array.now = ModelNs(day * DAY.0 + 1);
            // Quiet for long enough to shift down, then work for long enough to shift up.
            for _ in 0..5 {
                array.pass(&mut policy, 320, 0.1);
                array.pass(&mut policy, 20, 1.9);
            }
            let downs = array.shifts.drain(..).filter(|(_, gear)| *gear == 0).count();
            assert_eq!(downs, 3);
        }
    }

    proptest! {
        #[test]
        fn no_day_has_more_spin_downs_than_its_ration(
            periods in prop::collection::vec(0.1_f64..20_000.0, 1..300), per_day in 1.0_f64..30.0,
        ) {
            let played = play(&mut rationed(per_day), &ultrastar(), &seconds(&periods));
            let (mut at, mut days) = (0_i64, std::collections::BTreeMap::new());
            for (period, played) in seconds(&periods).iter().zip(played) {
                if let Some(after) = played.down_after {
                    *days.entry((at + after.0) / DAY.0).or_insert(0_u64) += 1;
                }
                at += period.0 + 1_000_000;
            }
            prop_assert!(days.values().all(|downs| *downs as f64 <= per_day));
        }
    }
}
