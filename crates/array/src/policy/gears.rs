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

    fn idle(&mut self, _: u16, _: &dyn View, _: &mut Orders) {}
    fn timer(&mut self, _: u16, _: &dyn View, _: &mut Orders) {}
    fn arrived(&mut self, _: u16, _: &dyn View, _: &mut Orders) {}
}
