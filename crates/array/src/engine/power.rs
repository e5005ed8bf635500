//! Drives that rest, and the policy that says when. The policy is asked at decision points only; whatever it says, a drive
//! with work spins up.

use iojoule_disk::PowerState;
use iojoule_units::{ModelNs, Nanos};

use super::Engine;
use super::agenda::Event;
use super::shift::{Gears, Shift};
use super::station::{Power, Station};
use crate::policy::{DriveView, Gear, Order, Orders, Policy, Rest, State, View};

/// What a policy sees.
struct Sight<'a> {
    now: ModelNs,
    stations: &'a [Station],
    gear: Option<Gear<'a>>,
}

impl View for Sight<'_> {
    fn now(&self) -> ModelNs {
        self.now
    }

    fn drives(&self) -> u16 {
        self.stations.len() as u16
    }

    fn drive(&self, drive: u16) -> DriveView {
        let station = &self.stations[drive as usize];
        DriveView {
            state: station.state(self.now),
            idle_since: station.quiet_since,
            last_idle: station.last_quiet,
            queue: station.load(),
            spin_ups: station.drive.ledger().spin_ups(),
        }
    }

    fn gear(&self) -> Option<Gear<'_>> {
        self.gear
    }
}

impl Station {
    fn state(&self, now: ModelNs) -> State {
        match self.power {
            Power::Failed => State::Failed,
            Power::Waking { .. } => State::SpinningUp,
            Power::Resting { there } if there > now => State::SpinningDown,
            Power::Resting { .. } => State::Resting,
            Power::Spinning if self.has_no_work() && !self.in_task => State::Idle,
            Power::Spinning => State::Busy,
        }
    }
}

impl Engine {
    /// Asks the policy and carries out what it orders.
    pub(super) fn consult(&mut self, now: ModelNs, ask: impl FnOnce(&mut dyn Policy, &dyn View, &mut Orders)) {
        let Some(mut policy) = self.policy.take() else { return };
        let mut orders = std::mem::take(&mut self.orders);
        let gear = self.gears.as_ref().map(|gears| Gear {
            now: gears.now,
            sizes: &gears.sizes,
            shifting: gears.shift.is_some(),
        });
        ask(&mut *policy, &Sight { now, stations: &self.stations, gear }, &mut orders);
        self.policy = Some(policy);
        for order in orders.drain() {
            self.obey(now, order);
        }
        self.orders = orders;
    }

    fn obey(&mut self, now: ModelNs, order: Order) {
        let drives = self.stations.len() as u16;
        match order {
            Order::Wake { drive, at } if drive < drives => {
                let station = &mut self.stations[drive as usize];
                station.tag = station.tag.wrapping_add(1);
                let tag = station.tag;
                self.agenda.push(at.max(now), Event::Timer { drive, tag });
            }
            Order::SpinDown { drive, to } if drive < drives => self.spin_down(now, drive, to),
            Order::SpinUp { drive } if drive < drives => self.spin_up(now, drive),
            Order::Shift { gear } => self.shift(now, gear),
            Order::Wake { .. } | Order::SpinDown { .. } | Order::SpinUp { .. } => {}
        }
    }

    /// Sends an idle drive to rest; nothing where it is not idle.
    pub(super) fn spin_down(&mut self, now: ModelNs, drive: u16, to: Rest) {
        let station = &mut self.stations[drive as usize];
        if !station.is_free(now) || !station.has_no_work() || station.in_task {
            return;
        }
        let state = match to {
            Rest::LowPowerIdle => PowerState::LowPowerIdle,
            Rest::Standby => PowerState::Standby,
            Rest::Sleep => PowerState::Sleep,
        };
        let there = station.drive.spin_down(now, state);
        // A drive whose way back is not known stays as it is.
        if station.drive.power_state(now) != PowerState::Idle {
            station.power = Power::Resting { there };
            station.told_arrived = false;
            station.tag = station.tag.wrapping_add(1);
        }
    }

    /// Brings a resting drive back.
    pub(super) fn spin_up(&mut self, now: ModelNs, drive: u16) {
        let station = &mut self.stations[drive as usize];
        if matches!(station.power, Power::Resting { .. }) {
            let ready = station.drive.spin_up(now);
            station.power = Power::Waking { ready };
            station.told_idle = false;
            self.agenda.push(ready, Event::Ready { drive });
        }
    }

    /// Work has come for a drive that does not spin.
    pub(super) fn call(&mut self, now: ModelNs, drive: u16, by_request: bool) {
        let station = &mut self.stations[drive as usize];
        let tell = by_request && self.wants.arrived && !station.told_arrived;
        if tell {
            station.told_arrived = true;
            self.consult(now, |policy, view, orders| policy.arrived(drive, view, orders));
        }
        self.spin_up(now, drive);
    }

    /// The drive has run out of work.
    pub(super) fn run_out(&mut self, now: ModelNs, drive: u16) {
        let station = &mut self.stations[drive as usize];
        if station.told_idle || station.in_task {
            return;
        }
        station.told_idle = true;
        if self
            .gears
            .as_ref()
            .is_some_and(|gears| drive >= gears.sizes[usize::from(gears.now)] && gears.shift.is_none())
        {
            return self.spin_down(now, drive, Rest::Standby);
        }
        if self.wants.idle {
            self.consult(now, |policy, view, orders| policy.idle(drive, view, orders));
        }
    }

    /// A drive is not the policy's to rest any more: it has failed, or a rebuild or a shift needs it.
    pub(super) fn take_from_policy(&mut self, now: ModelNs, drive: u16) {
        let station = &mut self.stations[drive as usize];
        station.tag = station.tag.wrapping_add(1);
        station.told_idle = false;
        if self.wants.idle {
            self.consult(now, |policy, view, orders| policy.taken(drive, view, orders));
        }
    }

    /// A rebuild or a shift needs the drive. Until it has ended the drive does not rest: steps follow each other closely.
    pub(super) fn join_task(&mut self, now: ModelNs, drive: u16) {
        if !self.stations[drive as usize].in_task {
            self.take_from_policy(now, drive);
            self.stations[drive as usize].in_task = true;
        }
    }

    /// Where neither a rebuild nor a shift is under way any more, drives are the policy's again, and idle ones reported idle.
    pub(super) fn end_task(&mut self, now: ModelNs) {
        let copying = |gears: &Gears| matches!(gears.shift, Some(Shift::Copying { .. }));
        if self.rebuild.is_some() || self.gears.as_ref().is_some_and(copying) {
            return;
        }
        for drive in 0..self.stations.len() as u16 {
            let station = &mut self.stations[drive as usize];
            let was_in_task = std::mem::take(&mut station.in_task);
            if was_in_task && station.is_free(now) && station.has_no_work() {
                self.rest(now, drive);
            }
        }
    }

    pub(super) fn timer(&mut self, now: ModelNs, drive: u16, tag: u32) {
        let station = &self.stations[drive as usize];
        if station.tag == tag && !station.in_task {
            self.consult(now, |policy, view, orders| policy.timer(drive, view, orders));
        }
    }

    pub(super) fn window(&mut self, now: ModelNs) {
        let Some(length) = self.wants.window.filter(|length| *length > Nanos::ZERO) else { return };
        let mut busy = std::mem::take(&mut self.shares);
        busy.clear();
        for station in &mut self.stations {
            let by_now = station.busy_by(now);
            busy.push((by_now - station.busy_before).0 as f64 / length.0 as f64);
            station.busy_before = by_now;
        }
        self.consult(now, |policy, view, orders| policy.window(&busy, view, orders));
        self.shares = busy;
        self.agenda.push(now + length, Event::Window);
    }
}
