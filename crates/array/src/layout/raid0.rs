//! RAID-0: stripe units round-robin over the drives. One command per drive and request, however many rows it spans.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::striping::Striping;
use super::{Layout, copies};
use crate::{Extent, Health, Plan};

pub struct Raid0 {
    striping: Striping,
}

impl Raid0 {
    pub fn new(drives: u16, unit: u32, drive_sectors: u64) -> Self {
        Self { striping: Striping::new(drives, unit, drive_sectors) }
    }
}

impl Layout for Raid0 {
    fn capacity(&self) -> u64 {
        self.striping.capacity()
    }

    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan) {
        self.striping.runs(lba.0, sectors, |drive, at, sectors| {
            let extent = Extent { drive, lba: Lba(at), sectors, on_track: false };
            copies::push(plan, op, health, [extent].into_iter());
        });
    }

    /// Nothing holds a second copy.
    fn rebuild(&mut self, _drive: u16, _from: Lba, _health: &Health, plan: &mut Plan) -> Option<Lba> {
        plan.lost = true;
        None
    }
}
