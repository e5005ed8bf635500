//! Reads and writes of one block of the RAID-5 flavour in a low gear, or beside blocks that are not synced yet.
//!
//! Two parities protect: that of a home row is over what the homes hold, that of a region's row over the replicas there,
//! each over old and new contents alike. So a write at home updates the row's parity, wherever that is now, and a write to
//! a replica the parity of its region; both by read-modify-write.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::Paraid;
use super::freshness::Copy;
use crate::layout::merge::add;
use crate::{Health, Plan, Wait};

/// Sectors of a block.
pub type Part = (u64, u64);

impl Paraid {
    pub(super) fn read_block(&self, row: u64, drive: u16, part: Part, health: &Health, plan: &mut Plan) {
        self.fetch(row, drive, self.fresh.current(self.gear, row, drive), part, health, plan);
    }

    pub(super) fn write_block(&mut self, row: u64, drive: u16, part: Part, health: &Health, plan: &mut Plan) {
        let copy = self.fresh.current(self.gear, row, drive);
        self.overwrite(row, drive, copy, part, health, plan);
    }

    /// Reads a copy, or what it follows from where its drive has failed.
    pub(super) fn fetch(&self, row: u64, drive: u16, copy: Copy, part: Part, health: &Health, plan: &mut Plan) {
        let slot = self.slot(row, drive, copy);
        let good = |d: u16, r: u64| health.readable(d, Lba(r * self.unit.get() + part.0), (part.1 - part.0) as u32);
        if good(slot.drive, slot.row) {
            return self.part(plan, 0, Op::Read, Wait::Stage, slot.drive, slot.row, part);
        }
        match copy {
            Copy::Replica(gear) => {
                for other in (0..self.gears[gear]).filter(|&other| other != slot.drive) {
                    plan.lost |= !good(other, slot.row);
                    self.part(plan, 0, Op::Read, Wait::Stage, other, slot.row, part);
                }
            }
            Copy::Home if self.gear < self.top() => plan.lost = true,
            Copy::Home => {
                for other in (0..self.space.drives).filter(|&other| other != drive) {
                    let place = match slot.parity {
                        Some(parity) if parity == other => self.fresh.current(self.gear, row, parity),
                        _ => Copy::Home,
                    };
                    if place == Copy::Home {
                        plan.lost |= !good(other, row);
                        self.part(plan, 0, Op::Read, Wait::Stage, other, row, part);
                    } else {
                        self.fetch(row, other, place, part, health, plan);
                    }
                }
            }
        }
    }

    /// Writes new contents to a copy and updates the parities over it.
    pub(super) fn overwrite(&mut self, row: u64, drive: u16, copy: Copy, part: Part, health: &Health, plan: &mut Plan) {
        let is_parity = self.space.home_parity(row) == Some(drive);
        self.modify(row, drive, copy, part, Wait::Drive, health, plan);
        self.fresh.written(row, drive, copy);
        if let (Copy::Home, false, Some(parity)) = (copy, is_parity, self.space.home_parity(row)) {
            let place = self.fresh.current(self.gear, row, parity);
            self.modify(row, parity, place, part, Wait::Stage, health, plan);
            self.fresh.written(row, parity, place);
        }
    }

    /// Read-modify-write of a copy and, in a region, of the region's parity.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn modify(
        &self,
        row: u64,
        drive: u16,
        copy: Copy,
        part: Part,
        wait: Wait,
        health: &Health,
        plan: &mut Plan,
    ) {
        let slot = self.slot(row, drive, copy);
        self.fetch(row, drive, copy, part, health, plan);
        if health.writable(slot.drive) {
            self.part(plan, 1, Op::Write, wait, slot.drive, slot.row, part);
        }
        let region_parity = slot.parity.filter(|&parity| copy != Copy::Home && health.writable(parity));
        if let Some(parity) = region_parity {
            self.part(plan, 0, Op::Read, Wait::Stage, parity, slot.row, part);
            self.part(plan, 1, Op::Write, Wait::Stage, parity, slot.row, part);
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn part(&self, plan: &mut Plan, stage: u8, op: Op, wait: Wait, drive: u16, row: u64, part: Part) {
        add(plan, stage, op, wait, drive, row * self.unit.get() + part.0, (part.1 - part.0) as u32);
    }
}
