//! SR-Array Ds × Dr × Dm (Yu et al., OSDI 2000): data striped over Ds · Dr disks, each datum Dr times on its disk at even
//! angles, and every disk Dm times. Striping is Ds × 1 × 1, RAID-10 Ds × 1 × 2, a D-way mirror 1 × 1 × D.
//!
//! Only the first ⌈1/Ds⌉ of the cylinders of each disk is used, as in the paper, where the array holds the contents of
//! one disk: the seek shrinks with Ds. The first addresses are the outermost cylinders, where tracks are longest, so this
//! choice gives the most sectors per cylinder; a data set smaller than the array sits on the outermost of these.

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::replicas::Replicas;
use super::striping::Striping;
use super::{Layout, copies};
use crate::{Extent, Health, Plan};

/// Ds × Dr × Dm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub ds: u16,
    pub dr: u16,
    pub dm: u16,
}

pub struct SrArray {
    shape: Shape,
    striping: Striping,
    /// Absent where each datum is once on its disk: addresses are then the disk's own.
    replicas: Option<Replicas>,
    /// Sectors of each disk from its first on that may hold data.
    disk_sectors: u64,
}

impl SrArray {
    /// `disk_sectors` are the sectors of the first 1/Ds of the cylinders; `replicas` their groups where Dr > 1.
    pub fn new(shape: Shape, unit: u32, disk_sectors: u64, replicas: Option<Replicas>) -> Self {
        let stored = replicas.as_ref().map_or(disk_sectors, Replicas::sectors);
        Self { shape, striping: Striping::new(shape.ds * shape.dr, unit, stored), replicas, disk_sectors }
    }
}

impl Layout for SrArray {
    fn capacity(&self) -> u64 {
        self.striping.capacity()
    }

    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan) {
        let dm = self.shape.dm;
        let Some(replicas) = &self.replicas else {
            return self.striping.runs(lba.0, sectors, |column, at, sectors| {
                let disks = column * dm..(column + 1) * dm;
                let on = |drive| Extent { drive, lba: Lba(at), sectors, on_track: false };
                copies::push(plan, op, health, disks.map(on));
            });
        };
        self.striping.runs(lba.0, sectors, |column, at, sectors| {
            replicas.runs(at, sectors, |replicas| {
                let disks = column * dm..(column + 1) * dm;
                let copies = replicas.flat_map(|replica| {
                    let on = move |drive| Extent { drive, lba: replica.lba, sectors: replica.sectors, on_track: true };
                    disks.clone().map(on)
                });
                copies::push(plan, op, health, copies);
            });
        });
    }

    /// Mirrors hold the same at the same addresses; without one the replicas went with their disk.
    fn rebuild(&mut self, drive: u16, from: Lba, health: &Health, plan: &mut Plan) -> Option<Lba> {
        let first = drive / self.shape.dm * self.shape.dm;
        copies::rebuild(drive, from, self.disk_sectors, first..first + self.shape.dm, health, plan)
    }
}
