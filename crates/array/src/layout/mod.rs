//! Where blocks live. A layout turns a request into a [`Plan`] and knows no time.

use iojoule_disk::Op;
use iojoule_units::Lba;

use crate::{Health, Plan};

/// Where blocks live, over drives of equal size.
pub trait Layout: Send {
    /// Sectors the array offers.
    fn capacity(&self) -> u64;

    /// What the drives must do for this request; `plan` comes empty. The request lies within the capacity.
    fn plan(&mut self, op: Op, lba: Lba, sectors: u32, health: &Health, plan: &mut Plan);

    /// The next step of rebuilding `drive` from sector `from` on: the plan that restores it and the first sector after it;
    /// `None` when the whole drive is good, or where nothing can restore it (`plan.lost`).
    fn rebuild(&mut self, drive: u16, from: Lba, health: &Health, plan: &mut Plan) -> Option<Lba>;
}
