//! What one request does to one row of a parity layout.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::merge::add;
use super::rotation::ParityMap;
use crate::{Health, Plan, Wait};

/// A contiguous part of a row's data: units `first..=last`, the first from `head` on, the last below `tail`.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    map: ParityMap,
    parity: u16,
    /// First sector of the row on every drive.
    base: u64,
    unit: u64,
    first: u64,
    last: u64,
    head: u64,
    tail: u64,
}

/// A range of sectors inside the units of the row over which the same units `written` are overwritten.
#[derive(Clone, Copy)]
struct Band {
    from: u64,
    to: u64,
    written: (u64, u64),
}

/// How the parity of a band is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ReadModifyWrite,
    Reconstruct,
}

impl Row {
    /// Sectors `from..to` of the data of row `row`.
    pub fn new(map: ParityMap, unit: u64, row: u64, from: u64, to: u64) -> Self {
        let (first, last) = (from / unit, (to - 1) / unit);
        let (head, tail) = (from - first * unit, to - last * unit);
        Self { map, parity: map.parity_drive(row), base: row * unit, unit, first, last, head, tail }
    }

    fn drive(&self, k: u64) -> u16 {
        self.map.data_drive(self.parity, k)
    }

    /// The part of unit `k` that is asked for.
    fn part(&self, k: u64) -> (u64, u64) {
        (if k == self.first { self.head } else { 0 }, if k == self.last { self.tail } else { self.unit })
    }

    fn readable(&self, health: &Health, drive: u16, (from, to): (u64, u64)) -> bool {
        health.readable(drive, Lba(self.base + from), (to - from) as u32)
    }

    fn add(&self, plan: &mut Plan, stage: u8, op: Op, wait: Wait, drive: u16, (from, to): (u64, u64)) {
        add(plan, stage, op, wait, drive, self.base + from, (to - from) as u32);
    }

    /// Reads the part; what a drive does not hold is the exclusive or of all the others.
    pub fn read(&self, health: &Health, plan: &mut Plan) {
        for k in self.first..=self.last {
            let (drive, part) = (self.drive(k), self.part(k));
            if self.readable(health, drive, part) {
                self.add(plan, 0, Op::Read, Wait::Stage, drive, part);
                continue;
            }
            for other in (0..self.map.drives()).filter(|&other| other != drive) {
                plan.lost |= !self.readable(health, other, part);
                self.add(plan, 0, Op::Read, Wait::Stage, other, part);
            }
        }
    }

    /// Writes the part and keeps the parity true.
    pub fn write(&self, reconstruct_from: u64, health: &Health, plan: &mut Plan) {
        let whole = self.first == 0 && self.last + 1 == self.map.data() && self.head == 0 && self.tail == self.unit;
        let with_parity = health.writable(self.parity);
        let mut missing = u32::from(!with_parity);
        let mut stage = 0;
        if with_parity && !whole {
            stage = 1;
            let wanted = if self.written() < reconstruct_from { Way::ReadModifyWrite } else { Way::Reconstruct };
            for band in self.bands().into_iter().flatten() {
                self.read_for_parity(band, wanted, health, plan);
            }
        }
        for k in self.first..=self.last {
            let drive = self.drive(k);
            if health.writable(drive) {
                self.add(plan, stage, Op::Write, Wait::Drive, drive, self.part(k));
            } else {
                missing += 1;
            }
        }
        if with_parity {
            let wait = if stage == 0 { Wait::Drive } else { Wait::Stage };
            for band in self.bands().into_iter().flatten() {
                self.add(plan, stage, Op::Write, wait, self.parity, (band.from, band.to));
            }
        }
        plan.lost |= missing > 1;
    }

    /// Units written, as the choice of the way counts them: two parts that share no sector of parity are two writes of one.
    fn written(&self) -> u64 {
        let touched = self.last - self.first + 1;
        if touched == 2 && self.tail < self.head { 1 } else { touched }
    }

    /// The bands of the row's parity that change, in order.
    fn bands(&self) -> [Option<Band>; 3] {
        let (first, last) = (self.first, self.last);
        let band =
            |from: u64, to: u64, a: u64, b: u64| (from < to && a <= b).then_some(Band { from, to, written: (a, b) });
        if first == last {
            return [band(self.head, self.tail, first, last), None, None];
        }
        let (low, high) = (self.head.min(self.tail), self.head.max(self.tail));
        // Below the head the first unit is untouched, from the tail on the last one.
        let between =
            if self.tail < self.head { band(low, high, first + 1, last - 1) } else { band(low, high, first, last) };
        [band(0, low, first + 1, last), between, band(high, self.unit, first, last - 1)]
    }

    /// The reads by which the new parity of a band can be computed: as wanted, or the other way where a drive is missing.
    fn read_for_parity(&self, band: Band, wanted: Way, health: &Health, plan: &mut Plan) {
        let other = if wanted == Way::Reconstruct { Way::ReadModifyWrite } else { Way::Reconstruct };
        let range = (band.from, band.to);
        let Some(way) =
            [wanted, other].into_iter().find(|&way| self.sources(band, way).all(|d| self.readable(health, d, range)))
        else {
            plan.lost = true;
            return;
        };
        for drive in self.sources(band, way) {
            self.add(plan, 0, Op::Read, Wait::Stage, drive, range);
        }
    }

    /// The drives read: what is overwritten, or what is not.
    fn sources(&self, band: Band, way: Way) -> impl Iterator<Item = u16> {
        let row = *self;
        let (a, b) = band.written;
        let data = (0..self.map.data()).filter(move |&k| (a <= k && k <= b) == (way == Way::ReadModifyWrite));
        data.map(move |k| row.drive(k)).chain((way == Way::ReadModifyWrite).then_some(self.parity))
    }
}
