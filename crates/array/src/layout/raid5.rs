//! RAID-5 (left-symmetric) and RAID-4: striping with one parity unit per row. A small write reads old data and old parity
//! (read-modify-write) or the rest of the row (reconstruct-write), whichever DiskSim 4.0 takes: the former while fewer than
//! ⌊fraction × drives⌋ units of the row are written. A full row is written without reading. New data overwrites the old as
//! soon as the old has been read; parity waits for every read.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::divide::Divisor;
use super::rotation::{ParityMap, Rotation};
use super::row::Row;
use super::{Layout, copies, merge};
use crate::{Extent, Health, Need, Plan, Wait};

pub struct Raid5 {
    map: ParityMap,
    unit: Divisor,
    rows: u64,
    /// Units of a row from which on the rest of the row is read instead of what is overwritten.
    reconstruct_from: u64,
}

impl Raid5 {
    /// `drives` ≥ 3; `rmw_fraction` of all drives, 0.5 in DiskSim.
    pub fn new(drives: u16, unit: u32, drive_sectors: u64, rotation: Rotation, rmw_fraction: f64) -> Self {
        let unit = Divisor::new(u64::from(unit));
        Self {
            map: ParityMap::new(drives, rotation),
            unit,
            rows: unit.split(drive_sectors).0,
            reconstruct_from: (rmw_fraction * f64::from(drives)) as u64,
        }
    }

    /// Sectors in use on each drive.
    fn used(&self) -> u64 {
        self.rows * self.unit.get()
    }

    pub(super) fn row_sectors(&self) -> u64 {
        self.map.data() * self.unit.get()
    }

    /// Sectors `from..to` of row `row`, counted over its data.
    pub(super) fn row(&self, row: u64, from: u64, to: u64) -> Row {
        Row::new(self.map, self.unit.get(), row, from, to)
    }

    /// Calls `each(row, from, to)` for every row touched, with the sectors of its data that are asked for.
    fn rows(&self, lba: u64, sectors: u32, mut each: impl FnMut(u64, u64, u64)) {
        let (unit, offset) = self.unit.split(lba);
        let (mut row, k) = self.map.row(unit);
        let mut from = k * self.unit.get() + offset;
        let mut left = u64::from(sectors);
        while left > 0 {
            let to = (from + left).min(self.row_sectors());
            each(row, from, to);
            left -= to - from;
            row += 1;
            from = 0;
        }
    }
}

impl Layout for Raid5 {
    fn capacity(&self) -> u64 {
        self.rows * self.row_sectors()
    }

    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan) {
        if op == Op::Write {
            return self.rows(lba.0, sectors, |row, from, to| {
                self.row(row, from, to).write(self.reconstruct_from, health, plan);
            });
        }
        let (unit, offset) = self.unit.split(lba.0);
        if offset + u64::from(sectors) > self.unit.get() {
            return self.rows(lba.0, sectors, |row, from, to| self.row(row, from, to).read(health, plan));
        }
        // Most reads are of one unit of a good drive.
        let (row, k) = self.map.row(unit);
        let drive = self.map.data_drive(self.map.parity_drive(row), k);
        let lba = Lba(row * self.unit.get() + offset);
        if health.readable(drive, lba, sectors) {
            plan.push(0, Op::Read, Need::Any, [Extent { drive, lba, sectors, on_track: false }]);
        } else {
            let from = k * self.unit.get() + offset;
            self.row(row, from, from + u64::from(sectors)).read(health, plan);
        }
    }

    fn rebuild(&mut self, drive: u16, from: Lba, health: &Health, plan: &mut Plan) -> Option<Lba> {
        rebuild_by_parity(drive, from, self.used(), 0..self.map.drives(), health, plan)
    }
}

/// One step of restoring `drive` from all the others of `drives`: at every address it holds their exclusive or.
pub(super) fn rebuild_by_parity(
    drive: u16,
    from: Lba,
    used: u64,
    drives: std::ops::Range<u16>,
    health: &Health,
    plan: &mut Plan,
) -> Option<Lba> {
    let sectors = copies::step(from, used)?;
    for other in drives.filter(|&other| other != drive) {
        if !health.readable(other, from, sectors) {
            plan.clear();
            plan.lost = true;
            return None;
        }
        merge::add(plan, 0, Op::Read, Wait::Stage, other, from.0, sectors);
    }
    merge::add(plan, 1, Op::Write, Wait::Stage, drive, from.0, sectors);
    Some(Lba(from.0 + u64::from(sectors)))
}
