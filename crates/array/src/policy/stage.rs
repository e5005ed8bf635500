//! Stages for policies in tests: one drive whose idle periods are given, and what the policy does in each; and an
//! array with gears that obeys at once.

use iojoule_disk::power::Standby;
use iojoule_units::{Joules, ModelNs, Nanos};

use super::{DriveView, Gear, Order, Orders, Policy, State, View, cost};

struct Seen {
    now: ModelNs,
    drive: DriveView,
}

impl View for Seen {
    fn now(&self) -> ModelNs {
        self.now
    }
    fn drives(&self) -> u16 {
        1
    }
    fn drive(&self, _: u16) -> DriveView {
        self.drive
    }
    fn gear(&self) -> Option<Gear<'_>> {
        None
    }
}

/// What the policy did in one idle period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Played {
    /// When it spun the drive down, from the period's start; `None` where it did not.
    pub down_after: Option<Nanos>,
    pub energy: Joules,
}

/// Plays the idle periods one after the other; between them the drive is busy for a millisecond.
pub fn play(policy: &mut dyn Policy, figures: &Standby, periods: &[Nanos]) -> Vec<Played> {
    let (mut now, mut spin_ups, mut last_idle) = (ModelNs::ZERO, 0, Nanos::ZERO);
    let mut orders = Orders::default();
    let mut played = Vec::new();
    for &period in periods {
        let (start, end) = (now, now + period);
        let seen = |now, state| Seen {
            now,
            drive: DriveView { state, idle_since: Some(start), last_idle, queue: 0, spin_ups },
        };
        let (mut down, mut timer) = (None, None);
        policy.idle(0, &seen(start, State::Idle), &mut orders);
        loop {
            for order in orders.drain() {
                match order {
                    Order::Wake { at, .. } => timer = Some(at.max(now)),
                    Order::SpinDown { .. } => {
                        down.get_or_insert(now - start);
                    }
                    Order::SpinUp { .. } | Order::Shift { .. } => panic!("{order:?}"),
                }
            }
            // A request that comes at the very moment takes the timer away.
            let Some(at) = timer.take().filter(|at| *at < end) else { break };
            now = at;
            let state = if down.is_some() { State::Resting } else { State::Idle };
            policy.timer(0, &seen(now, state), &mut orders);
        }
        now = end;
        if down.is_some() {
            policy.arrived(0, &seen(now, State::Resting), &mut orders);
            spin_ups += 1;
        }
        let energy = down.map_or(figures.stay(period), |after| cost::online(figures, after, period));
        played.push(Played { down_after: down, energy });
        last_idle = period;
        now = now + Nanos(1_000_000);
    }
    played
}

/// Four drives with gears of two and four, all equally busy. A shift is done when it is ordered.
pub struct Geared {
    pub now: ModelNs,
    pub gear: u8,
    pub state: State,
    pub shifts: Vec<(f64, u8)>,
}

impl View for Geared {
    fn now(&self) -> ModelNs {
        self.now
    }
    fn drives(&self) -> u16 {
        4
    }
    fn drive(&self, drive: u16) -> DriveView {
        let state = if drive < 2 || self.gear == 1 { self.state } else { State::Resting };
        DriveView { state, idle_since: None, last_idle: Nanos::ZERO, queue: 0, spin_ups: 0 }
    }
    fn gear(&self) -> Option<Gear<'_>> {
        Some(Gear { now: self.gear, sizes: &[2, 4], shifting: false })
    }
}

impl Geared {
    pub fn top() -> Self {
        Self { now: ModelNs::ZERO, gear: 1, state: State::Idle, shifts: Vec::new() }
    }

    /// Lets `seconds` go by in which the four drives together are busy for `work` seconds a second, a tick a second.
    pub fn pass(&mut self, policy: &mut dyn Policy, seconds: u32, work: f64) {
        let mut orders = Orders::default();
        for _ in 0..seconds {
            self.now = self.now + Nanos(1_000_000_000);
            let active = if self.gear == 1 { 4 } else { 2 };
            let busy: Vec<f64> =
                (0..4).map(|drive| if drive < active { (work / f64::from(active)).min(1.0) } else { 0.0 }).collect();
            policy.window(&busy, self, &mut orders);
            for order in orders.drain() {
                if let Order::Shift { gear } = order {
                    self.gear = gear;
                    self.shifts.push(((self.now - ModelNs::ZERO).as_secs_f64(), gear));
                }
            }
        }
    }
}

pub fn energy(played: &[Played]) -> f64 {
    played.iter().map(|p| p.energy.0).sum()
}

pub fn seconds(periods: &[f64]) -> Vec<Nanos> {
    periods.iter().map(|s| Nanos::from_secs_f64(*s)).collect()
}
