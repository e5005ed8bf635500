//! How far an arm can get in a given time: in a long queue most places are too far to be the nearest, and one comparison
//! of cylinders says so.

use iojoule_disk::spec::HardDiskSpec;
use iojoule_disk::{DriveKind, Model};

/// Steps of time in the table: 2^16 ns.
const STEP_BITS: u32 = 16;

#[derive(Debug)]
pub(crate) struct Reach {
    /// For every step of time the greatest distance in cylinders whose seek may end within it.
    farthest: Vec<u32>,
}

impl Reach {
    /// `None` for a drive without an arm.
    pub fn of(model: &Model) -> Option<Self> {
        let DriveKind::HardDisk(disk) = &model.spec().kind else { return None };
        let mut farthest = Vec::new();
        // Measured curves are not monotone: a distance counts as reached where any greater one is.
        for distance in (1..disk.cylinders).rev() {
            let step = (least_ns(disk, distance) as u64 >> STEP_BITS) as usize;
            if farthest.len() <= step {
                farthest.resize(step + 1, 0);
            }
            farthest[step] = farthest[step].max(distance);
        }
        for step in 1..farthest.len() {
            farthest[step] = farthest[step].max(farthest[step - 1]);
        }
        Some(Self { farthest })
    }

    /// No place farther away can be reached within `ns`.
    pub fn within(&self, ns: i64) -> u32 {
        let step = (ns.max(0) as u64 >> STEP_BITS) as usize;
        self.farthest.get(step).copied().unwrap_or(u32::MAX)
    }
}

/// The shortest time of a seek of this distance, reading or writing.
fn least_ns(disk: &HardDiskSpec, distance: u32) -> f64 {
    let read = disk.seek.ms(distance, disk.cylinders).max(disk.head_switch_ms);
    let write = disk.write_seek.as_ref().unwrap_or(&disk.seek).ms(distance, disk.cylinders);
    let write = write.max(disk.head_switch_ms) + disk.write_settle_ms;
    (read.min(write) * 1e6 - 1.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use iojoule_disk::{Drive, DriveSpec, Op};
    use iojoule_units::{Lba, ModelNs, Nanos};
    use proptest::prelude::*;

    use super::*;

    static CHEETAH: LazyLock<Arc<Model>> =
        LazyLock::new(|| Model::new(&DriveSpec::preset("cheetah9LP").unwrap()).unwrap());

    proptest! {
        #[test]
        fn no_place_is_reached_in_less_time_than_its_distance_allows(lba in 0u64..17_783_240, at in 0i64..1_000_000_000) {
            let reach = Reach::of(&CHEETAH).unwrap();
            let drive = Drive::new(Arc::clone(&CHEETAH), Nanos::ZERO);
            let (positioner, place) = (drive.positioner(ModelNs(at)), drive.model().place(Lba(lba)));
            for op in [Op::Read, Op::Write] {
                let time = positioner.time(place, op).0;
                prop_assert!(place.cylinder.abs_diff(positioner.cylinder()) <= reach.within(time));
            }
        }
    }
}
