//! Drives one after another in one address space.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::{Layout, copies};
use crate::{Extent, Health, Plan};

pub struct Concat {
    pub drives: u16,
    pub drive_sectors: u64,
}

impl Layout for Concat {
    fn capacity(&self) -> u64 {
        self.drive_sectors * u64::from(self.drives)
    }

    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan) {
        let (mut drive, mut offset) = (lba.0 / self.drive_sectors, lba.0 % self.drive_sectors);
        let mut left = sectors;
        while left > 0 {
            let run = u64::from(left).min(self.drive_sectors - offset) as u32;
            let extent = Extent { drive: drive as u16, lba: Lba(offset), sectors: run, on_track: false };
            copies::push(plan, op, health, [extent].into_iter());
            left -= run;
            drive += 1;
            offset = 0;
        }
    }

    /// Nothing holds a second copy.
    fn rebuild(&mut self, _drive: u16, _from: Lba, _health: &Health, plan: &mut Plan) -> Option<Lba> {
        plan.lost = true;
        None
    }
}
