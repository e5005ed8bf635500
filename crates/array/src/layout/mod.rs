//! Where blocks live. A layout turns a request into a [`Plan`] and knows no time.
//!
//! | layout | copies | what it is for |
//! |---|---|---|
//! | [`single`], [`concat`](mod@concat) | 1 | drives as they are |
//! | [`raid0`] | 1 | throughput |
//! | [`raid1`], [`raid10`] | mirrors on other drives | surviving a drive, faster reads |
//! | [`raid5`] (and RAID-4) | parity | surviving a drive at little space |
//! | [`sr`] | rotated on the same disk, mirrors on others | latency for capacity |
//! | [`paraid`] | soft, on fewer drives | drives that can sleep |
//!
//! [`LayoutConfig`] builds them by name. What they share: `striping`, `copies` over several drives, `rotation` of
//! parity and what a request does to one `row` of it, `replicas` on one disk, `merge`, `divide`, `bits`.

use iojoule_disk::Op;
use iojoule_units::Lba;

use crate::{Health, Plan};

mod bits;
pub mod concat;
mod config;
mod copies;
mod divide;
#[cfg(test)]
mod laws;
mod merge;
pub mod paraid;
pub mod raid0;
pub mod raid1;
pub mod raid10;
pub mod raid5;
mod replicas;
mod rotation;
mod row;
pub mod single;
pub mod sr;
mod striping;

pub use config::{LayoutConfig, LayoutError};

/// Where blocks live, over drives of equal size.
pub trait Layout: Send {
    /// Sectors the array offers.
    fn capacity(&self) -> u64;

    /// What the drives must do for this request; `plan` comes empty. The request lies within the capacity. Where
    /// `plan.lost` is set, no drive holds some of the data and the plan is not to be carried out.
    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan);

    /// The next step of rebuilding `drive` from sector `from` on: the plan that restores it and the first sector after it;
    /// `None` when the whole drive is good, or where nothing can restore it (`plan.lost`). `plan` comes empty.
    fn rebuild(&mut self, drive: u16, from: Lba, health: &Health, plan: &mut Plan) -> Option<Lba>;

    /// The gears of a layout that has them.
    fn geared(&mut self) -> Option<&mut dyn Geared> {
        None
    }
}

/// A layout that can serve from fewer drives than it has. Gear `g` uses the drives `0..gears()[g]`; the highest uses all
/// and is the one in which an array begins.
///
/// Up: spin the drives up, [`shift_to`](Geared::shift_to) the gear, then carry out [`next_sync`](Geared::next_sync) until
/// there is nothing left; meanwhile blocks that are not synced yet are served from where they are. Down: `next_sync` for
/// the lower gear until there is nothing left, then `shift_to` it, then spin the drives above it down. A drive that fails
/// in a low gear: shift to the highest gear, whose layout knows how to serve around it.
pub trait Geared {
    /// Drives used in each gear, rising; the last is all of them.
    fn gears(&self) -> &[u16];

    /// The gear that serves.
    fn gear(&self) -> usize;

    /// Blocks (stripe units) whose newest contents are not where this gear serves them from: the dirty blocks of an
    /// up-shift, the stale replicas of a down-shift.
    fn stale(&self, gear: usize) -> u64;

    /// The next copy that brings `gear` up to date: a plan for the drives of this gear or of the one that serves, whichever
    /// has more. False when nothing is stale. The
    /// block counts as synced from now on; a write that comes before the plan has ended makes it stale again. `plan`
    /// comes empty.
    fn next_sync(&mut self, gear: usize, health: &Health, plan: &mut Plan) -> bool;

    /// Serves from this gear from now on. Refused (false) for a lower gear that still has stale blocks: their newest
    /// contents would be on drives that are to be spun down.
    fn shift_to(&mut self, gear: usize) -> bool;
}
