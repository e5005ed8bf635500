//! PARAID: skewed striping with gears. The highest gear is an ordinary RAID-0 or RAID-5 over all drives; a lower gear
//! serves from the first few drives alone, which hold replicas of what the sleeping ones hold. Weddle et al., FAST 2007.
//!
//! 1. [`space`]: where a block's home and replicas are.
//! 2. `freshness`: which of them are new.
//! 3. `update`: reads and writes of one block wherever it is, with the parity of the RAID-5 flavour.
//! 4. `sync`: the copies that a shift of gears needs.
//!
//! A write goes to where the gear serves the block from and makes the other places stale. After an up-shift a block whose
//! home is stale is served from its replica until it is synced (or, in RAID-0, until a write covers it whole).

mod freshness;
pub mod space;
mod sync;
mod update;

use iojoule_disk::Op;
use iojoule_units::Lba;

use self::freshness::{Copy, Freshness};
use self::space::{Flavour, Slot, Space};
use super::divide::Divisor;
use super::raid5::{Raid5, rebuild_by_parity};
use super::rotation::Rotation;
use super::{Geared, Layout, merge};
use crate::{Health, Plan, Wait};

pub struct Paraid {
    gears: Vec<u16>,
    gear: usize,
    unit: Divisor,
    space: Space,
    fresh: Freshness,
    /// The highest gear of the RAID-5 flavour while every home of a row is fresh.
    raid5: Option<Raid5>,
    rmw_below: u64,
    /// Blocks copied by one plan of [`Geared::next_sync`] in the RAID-0 flavour.
    sync_blocks: usize,
}

impl Paraid {
    /// `gears` rising, each of 2 drives or more (RAID-5: 3); `data` sectors are wanted, or as many as fit. `None` where the
    /// replicas do not fit on drives of `drive_sectors`.
    pub fn new(
        gears: &[u16],
        flavour: Flavour,
        unit: u32,
        drive_sectors: u64,
        data: Option<u64>,
        rmw_fraction: f64,
    ) -> Option<Self> {
        let drives = *gears.last()?;
        let sectors = u64::from(unit);
        let row_units = u64::from(drives) - u64::from(flavour == Flavour::Raid5);
        let home_rows = data.map(|data| data.div_ceil(row_units * sectors));
        let space = Space::new(gears, flavour, drive_sectors / sectors, home_rows)?;
        let raid5 = (flavour == Flavour::Raid5)
            .then(|| Raid5::new(drives, unit, space.home_rows * sectors, Rotation::LeftSymmetric, rmw_fraction));
        Some(Self {
            gears: gears.to_vec(),
            gear: gears.len() - 1,
            unit: Divisor::new(sectors),
            fresh: Freshness::new(&space, gears),
            space,
            raid5,
            rmw_below: (rmw_fraction * f64::from(drives)) as u64,
            sync_blocks: 16,
        })
    }

    fn top(&self) -> usize {
        self.gears.len() - 1
    }

    fn slot(&self, row: u64, drive: u16, copy: Copy) -> Slot {
        match copy {
            Copy::Home => Slot { drive, row, parity: self.space.home_parity(row) },
            Copy::Replica(gear) => self.space.regions[gear].replica(row, drive),
        }
    }

    fn plan_raid0(&mut self, op: Op, home: Slot, (from, to): (u64, u64), health: &Health, plan: &mut Plan) {
        let whole = from == 0 && to == self.unit.get();
        let copy = if op == Op::Write && whole {
            self.fresh.wanted(self.gear, home.drive)
        } else {
            self.fresh.current(self.gear, home.row, home.drive)
        };
        let slot = self.slot(home.row, home.drive, copy);
        let (at, sectors) = (slot.row * self.unit.get() + from, (to - from) as u32);
        let good = match op {
            Op::Read => health.readable(slot.drive, Lba(at), sectors),
            Op::Write => health.writable(slot.drive),
        };
        plan.lost |= !good;
        merge::add(plan, 0, op, Wait::Stage, slot.drive, at, sectors);
        if op == Op::Write {
            self.fresh.written(home.row, home.drive, copy);
        }
    }

    fn plan_raid5(&mut self, op: Op, lba: u64, sectors: u32, health: &Health, plan: &mut Plan) {
        let unit = self.unit.get();
        let row_sectors = self.space.row_units() * unit;
        let mut at = lba;
        let end = lba + u64::from(sectors);
        while at < end {
            let row = at / row_sectors;
            let stop = end.min((row + 1) * row_sectors);
            let (from, to) = (at - row * row_sectors, stop - row * row_sectors);
            match &self.raid5 {
                Some(raid5) if self.gear == self.top() && self.row_is_home(row) => match op {
                    Op::Read => raid5.row(row, from, to).read(health, plan),
                    Op::Write => {
                        raid5.row(row, from, to).write(self.rmw_below, health, plan);
                        self.row_written_at_home(row, from / unit, (to - 1) / unit);
                    }
                },
                _ => {
                    for k in from / unit..=(to - 1) / unit {
                        let part = (from.max(k * unit) - k * unit, to.min((k + 1) * unit) - k * unit);
                        let home = self.space.home(row * self.space.row_units() + k);
                        match op {
                            Op::Read => self.read_block(home.row, home.drive, part, health, plan),
                            Op::Write => self.write_block(home.row, home.drive, part, health, plan),
                        }
                    }
                }
            }
            at = stop;
        }
    }

    /// Whether every block of a row has its newest contents at home.
    fn row_is_home(&self, row: u64) -> bool {
        self.fresh.stale(self.top()) == 0
            || (0..self.space.drives).all(|drive| self.fresh.is_fresh(row, drive, Copy::Home))
    }

    fn row_written_at_home(&mut self, row: u64, first: u64, last: u64) {
        for k in first..=last {
            let home = self.space.home(row * self.space.row_units() + k);
            self.fresh.written(row, home.drive, Copy::Home);
        }
        if let Some(parity) = self.space.home_parity(row) {
            self.fresh.written(row, parity, Copy::Home);
        }
    }
}

impl Layout for Paraid {
    fn capacity(&self) -> u64 {
        self.space.home_rows * self.space.row_units() * self.unit.get()
    }

    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan) {
        if self.raid5.is_some() {
            return self.plan_raid5(op, lba.0, sectors, health, plan);
        }
        let (mut unit, mut from) = self.unit.split(lba.0);
        let mut left = u64::from(sectors);
        while left > 0 {
            let to = (from + left).min(self.unit.get());
            self.plan_raid0(op, self.space.home(unit), (from, to), health, plan);
            left -= to - from;
            unit += 1;
            from = 0;
        }
    }

    /// RAID-5: every address of a home row or of a region is the exclusive or of the others there, whatever is stale.
    /// RAID-0 has nothing to restore a home from.
    fn rebuild(&mut self, drive: u16, from: Lba, health: &Health, plan: &mut Plan) -> Option<Lba> {
        let unit = self.unit.get();
        if self.raid5.is_none() {
            plan.lost = true;
            return None;
        }
        let home_end = self.space.home_rows * unit;
        if from.0 < home_end {
            return rebuild_by_parity(drive, from, home_end, 0..self.space.drives, health, plan);
        }
        let region = self.space.regions.iter().find(|region| region.contains_row(from.0 / unit))?;
        if drive >= region.active {
            return None;
        }
        let end = region.end() * unit;
        rebuild_by_parity(drive, from, end, 0..region.active, health, plan)
    }

    fn geared(&mut self) -> Option<&mut dyn Geared> {
        Some(self)
    }
}
