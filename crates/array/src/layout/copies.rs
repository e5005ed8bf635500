//! One piece of work over the copies of some data, leaving out those on drives that cannot serve it; and the rebuilding
//! of a drive from a drive that holds the same.

use iojoule_disk::Op;
use iojoule_units::Lba;

use crate::{Extent, Health, Need, Plan};

/// Sectors restored in one step of a rebuild: 1 MiB, long enough that positioning does not dominate and short enough that
/// a request waits for little.
pub const REBUILD_STEP: u64 = 2048;

/// Adds a read of any good copy, or a write of all copies on drives that take it. Without one, the data are lost.
#[inline]
pub fn push(plan: &mut Plan, op: Op, health: &Health, copies: impl Iterator<Item = Extent>) {
    match op {
        Op::Read => {
            let good = copies.filter(|c| health.readable(c.drive, c.lba, c.sectors));
            plan.push(0, op, Need::Any, good);
        }
        Op::Write => plan.push(0, op, Need::OneThenRest, copies.filter(|c| health.writable(c.drive))),
    }
    if plan.pieces.last().is_some_and(|piece| piece.copies.0 == piece.copies.1) {
        plan.pieces.pop();
        plan.lost = true;
    }
}

/// The step of a rebuild that begins at `from`, of sectors below `used`.
pub fn step(from: Lba, used: u64) -> Option<u32> {
    (from.0 < used).then(|| (used - from.0).min(REBUILD_STEP) as u32)
}

/// One step of restoring `drive` from any of `twins`, drives with the same contents at the same addresses.
pub fn rebuild(
    drive: u16,
    from: Lba,
    used: u64,
    twins: impl Iterator<Item = u16>,
    health: &Health,
    plan: &mut Plan,
) -> Option<Lba> {
    let sectors = step(from, used)?;
    let at = |drive| Extent { drive, lba: from, sectors, on_track: false };
    push(plan, Op::Read, health, twins.filter(|&twin| twin != drive).map(at));
    if plan.lost {
        return None;
    }
    plan.push(1, Op::Write, Need::All, [at(drive)]);
    Some(Lba(from.0 + u64::from(sectors)))
}
