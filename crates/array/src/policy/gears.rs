//! The gear controller of PARAID: watches how busy the active drives are and shifts. Weddle et al., FAST 2007; the
//! decision is [`super::load::decide`].

use iojoule_units::{ModelNs, Nanos};

use super::load::{History, Thresholds, decide};
use super::{Orders, Policy, State, View, Wants};

/// How the controller watches; see [`Thresholds`] for how it decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watch {
    /// Utilisation is sampled once per tick.
    pub tick: Nanos,
    /// The windows: short, medium, long.
    pub windows: [Nanos; 3],
}

/// Shifts gears by how busy the drives are.
#[derive(Clone, Debug)]
pub struct Gears {
    thresholds: Thresholds,
    watch: Watch,
    history: History,
    gear: Option<u8>,
    last_up: Option<ModelNs>,
}

impl Gears {
    pub fn new(thresholds: Thresholds, watch: Watch) -> Self {
        Self { thresholds, watch, history: History::new(watch.tick, &watch.windows), gear: None, last_up: None }
    }
}

impl Policy for Gears {
    fn wants(&self) -> Wants {
        Wants { window: Some(self.watch.tick), ..Wants::default() }
    }

    fn window(&mut self, busy: &[f64], view: &dyn View, orders: &mut Orders) {
        let Some(gear) = view.gear() else { return };
        if self.gear != Some(gear.now) {
            self.gear = Some(gear.now);
            self.history.clear();
        }
        let active = gear.sizes[usize::from(gear.now)];
        // While drives are on their way up, or data are on theirs, how busy they are says nothing of the load.
        if gear.shifting || (0..active).any(|drive| !view.drive(drive).state.spins()) {
            return;
        }
        self.history.push(busy[..usize::from(active)].iter().copied());
        let (windows, complete) = self.history.windows();
        let whole = (0..view.drives()).all(|drive| view.drive(drive).state != State::Failed);
        let since_up = self.last_up.map(|at| view.now() - at);
        let to = decide(&self.thresholds, gear.sizes, gear.now, &windows, complete && whole, since_up);
        if to > gear.now {
            self.last_up = Some(view.now());
        }
        if to != gear.now {
            orders.shift(to);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::stage::Geared;
    use super::*;

    pub fn gears() -> Gears {
        let of = Nanos::from_secs_f64;
        let thresholds = Thresholds { up: 0.8, hysteresis: 0.1, hold: of(15.2) };
        Gears::new(thresholds, Watch { tick: of(1.0), windows: [of(10.0), of(60.0), of(300.0)] })
    }

    #[test]
    fn a_quiet_array_shifts_down_when_the_long_window_is_full_and_a_busy_one_up_after_the_short() {
        let (mut policy, mut array) = (gears(), Geared::top());
        array.pass(&mut policy, 1000, 0.4);
        assert_eq!(array.shifts, [(300.0, 0)]);
        // 1.7 of two drives is 0.85 of each; the quiet that came before is still in the window for nine seconds.
        array.pass(&mut policy, 100, 1.7);
        assert_eq!(array.shifts[1].1, 1);
        assert!((1001.0..=1010.0).contains(&array.shifts[1].0));
        // The same work is 0.43 of four drives: on two it would be above 0.7, so the gear stays.
        array.pass(&mut policy, 1000, 1.7);
        assert_eq!(array.shifts.len(), 2);
    }

    #[test]
    fn an_array_with_a_failed_drive_does_not_shift_down() {
        let (mut policy, mut array) = (gears(), Geared::top());
        array.state = State::Failed;
        array.pass(&mut policy, 1000, 0.0);
        assert!(array.shifts.is_empty());
    }

    #[test]
    fn drives_on_their_way_up_say_nothing_of_the_load() {
        let (mut policy, mut array) = (gears(), Geared::top());
        array.state = State::SpinningUp;
        array.pass(&mut policy, 400, 0.0);
        array.state = State::Idle;
        array.pass(&mut policy, 299, 0.0);
        assert!(array.shifts.is_empty());
        array.pass(&mut policy, 1, 0.0);
        assert_eq!(array.shifts, [(700.0, 0)]);
    }
}
