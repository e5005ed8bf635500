//! One drive as it is.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::{Layout, copies};
use crate::{Extent, Health, Plan};

pub struct Single {
    pub sectors: u64,
}

impl Layout for Single {
    fn capacity(&self) -> u64 {
        self.sectors
    }

    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan) {
        copies::push(plan, op, health, [Extent { drive: 0, lba, sectors, on_track: false }].into_iter());
    }

    /// Nothing holds a second copy.
    fn rebuild(&mut self, _drive: u16, _from: Lba, _health: &Health, plan: &mut Plan) -> Option<Lba> {
        plan.lost = true;
        None
    }
}
