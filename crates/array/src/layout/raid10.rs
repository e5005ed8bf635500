//! RAID-10: stripe units round-robin over sets of mirrors; set `c` is the drives `c × copies ..`.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::striping::Striping;
use super::{Layout, copies};
use crate::{Extent, Health, Plan};

pub struct Raid10 {
    striping: Striping,
    copies: u16,
}

impl Raid10 {
    /// `drives` must be a multiple of `copies`.
    pub fn new(drives: u16, copies: u16, unit: u32, drive_sectors: u64) -> Self {
        Self { striping: Striping::new(drives / copies, unit, drive_sectors), copies }
    }
}

impl Layout for Raid10 {
    fn capacity(&self) -> u64 {
        self.striping.capacity()
    }

    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan) {
        let n = self.copies;
        self.striping.runs(lba.0, sectors, |set, at, sectors| {
            let mirrors =
                (set * n..(set + 1) * n).map(|drive| Extent { drive, lba: Lba(at), sectors, on_track: false });
            copies::push(plan, op, health, mirrors);
        });
    }

    fn rebuild(&mut self, drive: u16, from: Lba, health: &Health, plan: &mut Plan) -> Option<Lba> {
        let first = drive / self.copies * self.copies;
        copies::rebuild(drive, from, self.striping.used(), first..first + self.copies, health, plan)
    }
}
