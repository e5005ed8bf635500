//! The copies that a shift of gears needs: dirty blocks to their homes after an up-shift, stale replicas made new before a
//! down-shift.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::Paraid;
use super::freshness::Copy;
use crate::layout::Geared;
use crate::{Health, Plan, Wait};

impl Geared for Paraid {
    fn gears(&self) -> &[u16] {
        &self.gears
    }

    fn gear(&self) -> usize {
        self.gear
    }

    fn stale(&self, gear: usize) -> u64 {
        self.fresh.stale(gear)
    }

    fn next_sync(&mut self, gear: usize, health: &Health, plan: &mut Plan) -> bool {
        let Some((row, drive)) = self.fresh.next_stale(gear) else {
            return false;
        };
        if self.raid5.is_some() {
            self.sync_with_parity(gear, row, drive, health, plan);
            return true;
        }
        let mut next = Some((row, drive));
        for _ in 0..self.sync_blocks {
            let Some((row, drive)) = next else { break };
            self.copy_block(gear, row, drive, health, plan);
            next = self.fresh.next_stale(gear);
        }
        true
    }

    fn shift_to(&mut self, gear: usize) -> bool {
        let allowed = gear < self.gears.len() && (gear >= self.gear || self.fresh.stale(gear) == 0);
        if allowed {
            self.gear = gear;
        }
        allowed
    }
}

impl Paraid {
    /// Where the newest contents are, on the drives that spin during a shift between this gear and `gear`.
    fn source(&self, gear: usize, row: u64, drive: u16) -> Copy {
        let gear = gear.max(self.gear);
        self.fresh.current(gear, row, drive)
    }

    /// RAID-0: one block, read and written.
    fn copy_block(&mut self, gear: usize, row: u64, drive: u16, health: &Health, plan: &mut Plan) {
        let unit = self.unit.get();
        let target = self.fresh.wanted(gear, drive);
        let (from, to) = (self.slot(row, drive, self.source(gear, row, drive)), self.slot(row, drive, target));
        plan.lost |= !health.readable(from.drive, Lba(from.row * unit), unit as u32) || !health.writable(to.drive);
        self.part(plan, 0, Op::Read, Wait::Stage, from.drive, from.row, (0, unit));
        self.part(plan, 1, Op::Write, Wait::Stage, to.drive, to.row, (0, unit));
        self.fresh.refreshed(row, drive, target);
    }

    /// RAID-5: one block; the parity of its row before its data, whose new home contents change that parity.
    fn sync_with_parity(&mut self, gear: usize, row: u64, drive: u16, health: &Health, plan: &mut Plan) {
        let parity = self.space.home_parity(row);
        let drive = match parity {
            Some(p) if !self.fresh.is_fresh(row, p, self.fresh.wanted(gear, p)) => p,
            _ => drive,
        };
        let whole = (0, self.unit.get());
        let target = self.fresh.wanted(gear, drive);
        self.fetch(row, drive, self.source(gear, row, drive), whole, health, plan);
        if target == Copy::Home && parity != Some(drive) {
            self.restore_home(row, drive, whole, health, plan);
        } else if target == Copy::Home {
            // The parity of the homes, as it is: nothing else follows from it.
            if health.writable(drive) {
                self.part(plan, 1, Op::Write, Wait::Stage, drive, row, whole);
            }
        } else {
            self.modify(row, drive, target, whole, Wait::Stage, health, plan);
        }
        self.fresh.refreshed(row, drive, target);
    }

    /// New contents at home and the row's parity over them; the block's replicas stay as fresh as they were.
    fn restore_home(&mut self, row: u64, drive: u16, part: (u64, u64), health: &Health, plan: &mut Plan) {
        self.modify(row, drive, Copy::Home, part, Wait::Stage, health, plan);
        if let Some(parity) = self.space.home_parity(row) {
            let place = self.fresh.current(self.gear, row, parity);
            self.modify(row, parity, place, part, Wait::Stage, health, plan);
            self.fresh.written(row, parity, place);
        }
    }
}
