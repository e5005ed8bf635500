//! A hard disk at work: its arm, its buffer, its bus.

use iojoule_units::{ModelNs, Nanos};

use crate::mechanics::{Arm, Mechanics};
use crate::power::Ledger;
use crate::{Command, Service};

/// One disk in motion.
#[derive(Clone, Debug)]
pub(crate) struct HardDisk {
    pub arm: Arm,
}

impl HardDisk {
    pub(crate) fn new(mechanics: &Mechanics, phase: Nanos) -> Self {
        let turn = phase.0.rem_euclid(i64::from(mechanics.rotation)) as u32;
        let first = mechanics.geometry.track(0);
        Self { arm: Arm { cylinder: first.cylinder, track: first.index, turn } }
    }

    pub(crate) fn start(&mut self, with: &Mechanics, now: ModelNs, command: Command, book: &mut Ledger) -> Service {
        let Command { op, lba, sectors, on_track } = command;
        let done = if on_track {
            with.on_track(&mut self.arm, now, op, lba.0, sectors, book)
        } else {
            with.run(&mut self.arm, now, op, lba.0, sectors, book)
        };
        Service { done, ready: done, cached: false }
    }
}
