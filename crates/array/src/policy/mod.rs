//! When drives rest and which gear an array runs in. The engine calls a policy at decision points only — a drive runs
//! out of work, a timer rings, a request comes for a drive that does not spin, a window of utilisation ends — and
//! carries out its [`Order`]s. A policy decides about energy and nothing else: the engine itself spins a drive up
//! that has work, so no policy can lose a request.
//!
//! 1. [`PolicyConfig`] names a policy; [`PolicyConfig::build`] makes it.
//! 2. [`View`] is what a policy may see of the array.
//! 3. [`OracleTally`] is what no policy can do better than, [`Observer`] the run it is computed from; [`cost`] has
//!    the energies all of this is about.

mod adaptive;
mod build;
mod config;
pub mod cost;
mod fixed;
mod gears;
#[cfg(test)]
mod golden;
pub mod load;
mod never;
mod observe;
mod oracle;
mod randomised;
mod ration;
mod share;
#[cfg(test)]
mod stage;

use iojoule_units::{ModelNs, Nanos};
use serde::{Deserialize, Serialize};

pub use adaptive::{Adaptive, Steps};
pub use build::PolicyError;
pub use config::{Argument, PolicyConfig, Ration, Threshold};
pub use fixed::Fixed;
pub use gears::{Gears, Watch};
pub use never::Never;
pub use observe::{Observer, Witness};
pub use oracle::{OracleTally, oracle_energy};
pub use randomised::Randomised;
pub use ration::{Rationed, cycles_per_day};
pub use share::{Experts, Share};

/// How a policy sees one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveView {
    pub state: State,
    /// Since when the drive has had nothing to do for requests; `None` while it has. A drive rests within its idle
    /// period.
    pub idle_since: Option<ModelNs>,
    /// Length of the last idle period that has ended; zero before the first has.
    pub last_idle: Nanos,
    /// Commands waiting for the drive, the one in service included.
    pub queue: u32,
    /// Spin-ups since the start of the run.
    pub spin_ups: u64,
}

/// What a drive is doing, as far as a policy cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A command is in service, or a rebuild or a shift of gears needs the drive.
    Busy,
    /// Spinning, nothing to do.
    Idle,
    SpinningDown,
    /// In any of the [`Rest`]s.
    Resting,
    SpinningUp,
    Failed,
}

impl State {
    /// Ready for a command now.
    pub fn spins(self) -> bool {
        matches!(self, State::Busy | State::Idle)
    }
}

/// Where a drive goes to rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    LowPowerIdle,
    #[default]
    Standby,
    Sleep,
}

/// The gear an array with gears is in. Gears count from 0, the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gear<'a> {
    pub now: u8,
    /// Active drives of each gear, ascending.
    pub sizes: &'a [u16],
    /// A shift has been ordered and is not complete.
    pub shifting: bool,
}

/// What a policy may see of the array: read-only, at the moment of the call.
pub trait View {
    fn now(&self) -> ModelNs;
    fn drives(&self) -> u16;
    /// `drive` is below [`View::drives`].
    fn drive(&self, drive: u16) -> DriveView;
    /// `None` where the layout has no gears.
    fn gear(&self) -> Option<Gear<'_>>;
}

/// What a policy wants done. Orders are carried out in their order, at the moment of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Call [`Policy::timer`] at `at`, or at once where that is past. A drive has one timer: this replaces it, and a
    /// command given to the drive takes it away.
    Wake { drive: u16, at: ModelNs },
    /// Ignored unless the drive is idle, has an empty queue and is needed by no rebuild or shift.
    SpinDown { drive: u16, to: Rest },
    /// Ignored unless the drive rests or spins down.
    SpinUp { drive: u16 },
    /// Shift to this gear. Ignored where there is no such gear or a shift is under way.
    Shift { gear: u8 },
}

/// Where a policy puts its orders; the engine's, to be used again.
#[derive(Clone, Debug, Default)]
pub struct Orders(Vec<Order>);

impl Orders {
    pub fn wake(&mut self, drive: u16, at: ModelNs) {
        self.0.push(Order::Wake { drive, at });
    }

    pub fn spin_down(&mut self, drive: u16, to: Rest) {
        self.0.push(Order::SpinDown { drive, to });
    }

    pub fn spin_up(&mut self, drive: u16) {
        self.0.push(Order::SpinUp { drive });
    }

    pub fn shift(&mut self, gear: u8) {
        self.0.push(Order::Shift { gear });
    }

    /// Takes the orders out, in their order.
    pub fn drain(&mut self) -> impl Iterator<Item = Order> + '_ {
        self.0.drain(..)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The calls a policy wants; the engine leaves out the others, so that a policy costs nothing where it decides nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    pub idle: bool,
    pub arrived: bool,
    /// Length of the window of utilisation; none, no calls.
    pub window: Option<Nanos>,
}

/// A power policy; it leaves out the calls it does not want. Every call comes with the time in the view, which never
/// goes back.
#[allow(unused_variables)]
pub trait Policy: Send {
    /// Asked once, before any other call.
    fn wants(&self) -> Wants;

    /// The drive has run out of work: the last command ended and none waits. Also called for every spinning drive at
    /// the start of the run, and for one that has spun up without work.
    fn idle(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {}

    /// The drive, idle until now or not, is taken from the policy until [`Policy::idle`] is called for it: it has failed, or
    /// a rebuild or a shift of gears needs it. Its timer is void. Called where `idle` is wanted.
    fn taken(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {}

    /// The drive's timer rings: it has had no command since the timer was set.
    fn timer(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {}

    /// A request has come for a drive that does not spin, the first since it left the spinning state. The engine
    /// spins it up without being told. `view` still shows the state and the idle period the request ends.
    fn arrived(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {}

    /// A window ends. `busy[i]`: share of the window, 0 to 1, in which drive `i` had a command in service.
    fn window(&mut self, busy: &[f64], view: &dyn View, orders: &mut Orders) {}

    /// Why the policy can decide no more, where it cannot: one whose code is not ours may fail. It is still called, and
    /// orders nothing.
    fn failure(&self) -> Option<&str> {
        None
    }
}
