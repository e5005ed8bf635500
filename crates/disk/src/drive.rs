//! One drive in motion: takes commands, spins down and up, and books where its time goes.

use std::sync::Arc;

use iojoule_units::{ModelNs, Nanos};

use crate::disk_model::DiskModel;
use crate::flash::{Flash, FlashModel};
use crate::hard_disk::HardDisk;
use crate::mechanics::Positioner;
use crate::model::{Kind, Model};
use crate::power::{Ledger, PowerState, Span};
use crate::{Command, Service};

/// One drive of a [`Model`]. All instants it is told must not decrease.
#[derive(Clone, Debug)]
pub struct Drive {
    model: Arc<Model>,
    motion: Motion,
    /// Angle of the spindle at time 0, as time of rotation.
    phase: Nanos,
    ledger: Ledger,
    /// What the drive does when it has nothing to do: idle, low-power idle, standby or sleep; off where there is none.
    rest: PowerState,
    /// When the last spin-up ended or will end.
    up_at: ModelNs,
}

#[derive(Clone, Debug)]
enum Motion {
    Disk(Arc<DiskModel>, HardDisk),
    Flash(Arc<FlashModel>, Flash),
}

impl Motion {
    fn new(model: &Model, phase: Nanos) -> Self {
        match &model.kind {
            Kind::Disk(with) => Self::Disk(with.clone(), HardDisk::new(with, phase)),
            Kind::Flash(with) => Self::Flash(with.clone(), Flash::new(with)),
        }
    }
}

impl Drive {
    /// A drive at rest at time 0, turning; `phase` is the angle of its spindle then, as time of rotation.
    pub fn new(model: Arc<Model>, phase: Nanos) -> Self {
        let motion = Motion::new(&model, phase);
        Self {
            model,
            motion,
            phase,
            ledger: Ledger::since(ModelNs::ZERO),
            rest: PowerState::Idle,
            up_at: ModelNs::ZERO,
        }
    }

    /// What the drive is.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Begins a command. The last one's `ready` must not be later than `now`. A drive that does not turn spins up first;
    /// the service includes that.
    pub fn start(&mut self, now: ModelNs, command: Command) -> Service {
        let now = if self.rest == PowerState::Idle { now.max(self.up_at) } else { self.spin_up(now) };
        match &mut self.motion {
            Motion::Disk(with, disk) => disk.start(with, now, command, &mut self.ledger),
            Motion::Flash(with, flash) => flash.start(with, now, command, &mut self.ledger),
        }
    }

    /// What a command would wait for from where the drive is at `now`.
    pub fn positioner(&self, now: ModelNs) -> Positioner<'_> {
        match &self.motion {
            Motion::Disk(with, disk) => disk.positioner(with, now),
            Motion::Flash(..) => Positioner::default(),
        }
    }

    /// When background work ends: written data still to go to the medium, reading ahead.
    pub fn busy_until(&self) -> ModelNs {
        let work = match &self.motion {
            Motion::Disk(with, disk) => disk.busy_until(with),
            Motion::Flash(_, flash) => flash.busy_until(),
        };
        work.max(self.ledger.until())
    }

    /// Sends the drive to low-power idle, standby or sleep; when it is there. Written data go to the medium first. A
    /// drive whose `power.spin_down` or `power.spin_up` is not set stays as it is, since it could not come back.
    pub fn spin_down(&mut self, now: ModelNs, to: PowerState) -> ModelNs {
        let begin = self.rest_from(now);
        match to {
            PowerState::LowPowerIdle if self.rest == PowerState::Idle => {
                self.rest = to;
                begin
            }
            PowerState::Standby | PowerState::Sleep if self.rest.is_spinning() => {
                let power = &self.model.spec().power;
                let (Some(down), Some(_)) = (power.spin_down, power.spin_up) else { return begin };
                let end = begin + down.time();
                self.ledger.book(PowerState::SpinDown, end);
                self.ledger.count_spin_down();
                self.rest = to;
                end
            }
            PowerState::Sleep if self.rest == PowerState::Standby => {
                self.rest = to;
                begin
            }
            _ => begin,
        }
    }

    /// Brings the drive back to idle; when it is ready. A spin-down under way ends first.
    pub fn spin_up(&mut self, now: ModelNs) -> ModelNs {
        if self.rest == PowerState::Off {
            return now;
        }
        if self.rest.is_spinning() {
            self.account(now);
            self.rest = PowerState::Idle;
            return now;
        }
        let begin = now.max(self.ledger.until());
        self.account(begin);
        self.rest = PowerState::Idle;
        let Some(up) = self.model.spec().power.spin_up else { return begin };
        self.up_at = begin + up.time();
        self.ledger.book(PowerState::SpinUp, self.up_at);
        self.ledger.count_spin_up();
        self.up_at
    }

    /// The drive fails or is taken out: it draws nothing until [`Drive::replace`]. What it has begun is booked to its end;
    /// what its cache holds is gone.
    pub fn take_out(&mut self, now: ModelNs) {
        self.account(now);
        self.motion = Motion::new(&self.model, self.phase);
        (self.rest, self.up_at) = (PowerState::Off, ModelNs::ZERO);
    }

    /// A new drive of the same model takes its place: it turns, its cache is empty.
    pub fn replace(&mut self, now: ModelNs) {
        if self.rest == PowerState::Off {
            self.account(now);
            self.rest = PowerState::Idle;
        }
    }

    /// What the drive rests in, or on which way it is there; idle while it works.
    pub fn power_state(&self, now: ModelNs) -> PowerState {
        match self.rest {
            PowerState::Idle if now < self.up_at => PowerState::SpinUp,
            PowerState::Standby | PowerState::Sleep if now < self.ledger.until() => PowerState::SpinDown,
            rest => rest,
        }
    }

    /// Ends background work: reading ahead at once, writing when it is done; books up to then.
    fn rest_from(&mut self, now: ModelNs) -> ModelNs {
        let free = match &mut self.motion {
            Motion::Disk(with, disk) => disk.stop(with, now, &mut self.ledger),
            Motion::Flash(_, flash) => flash.stop(now, &mut self.ledger),
        };
        let begin = free.max(now).max(self.ledger.until());
        self.ledger.book(self.rest, begin);
        begin
    }

    /// Books all time up to `until`.
    pub fn account(&mut self, until: ModelNs) {
        match &mut self.motion {
            Motion::Disk(with, disk) => {
                disk.settle(with, until, &mut self.ledger);
            }
            Motion::Flash(_, flash) => flash.settle(until, &mut self.ledger),
        }
        self.ledger.book(self.rest, until);
    }

    /// Where its time went, as far as it is booked: see [`Drive::account`].
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Keeps the timeline of states from now on, or drops it.
    pub fn watch(&mut self, on: bool) {
        self.ledger.watch(on);
    }

    /// Gives away the spans of the timeline that have ended.
    pub fn drain_spans(&mut self, each: impl FnMut(Span)) {
        self.ledger.drain_spans(each);
    }
}
