//! RAID-1 and the D-way mirror: every drive holds everything.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::{Layout, copies};
use crate::{Extent, Health, Plan};

pub struct Raid1 {
    pub drives: u16,
    pub drive_sectors: u64,
}

impl Layout for Raid1 {
    fn capacity(&self) -> u64 {
        self.drive_sectors
    }

    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan) {
        let everywhere = (0..self.drives).map(|drive| Extent { drive, lba, sectors, on_track: false });
        copies::push(plan, op, health, everywhere);
    }

    fn rebuild(&mut self, drive: u16, from: Lba, health: &Health, plan: &mut Plan) -> Option<Lba> {
        copies::rebuild(drive, from, self.drive_sectors, 0..self.drives, health, plan)
    }
}
