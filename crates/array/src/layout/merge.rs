//! One command where the pieces of a request touch each other on a drive.

use iojoule_disk::Op;
use iojoule_units::Lba;

use crate::{Extent, Need, Piece, Plan, Wait};

/// How far back a piece that touches the new one is looked for: a row of the widest array that matters and some more.
/// Beyond it there are two commands instead of one.
const LOOK_BACK: usize = 64;

/// Adds a piece in one place, or grows the piece of the same kind that it touches or overlaps on its drive. New data that
/// touch new parity are written with it, when the parity is known.
pub fn add(plan: &mut Plan, stage: u8, op: Op, wait: Wait, drive: u16, at: u64, sectors: u32) {
    let end = at + u64::from(sectors);
    for piece in plan.pieces.iter_mut().rev().take(LOOK_BACK) {
        let extent = &mut plan.extents[piece.copies.0 as usize];
        let (from, to) = (extent.lba.0, extent.lba.0 + u64::from(extent.sectors));
        if alike(piece, stage, op) && extent.drive == drive && from <= end && at <= to {
            extent.lba = Lba(from.min(at));
            extent.sectors = (to.max(end) - extent.lba.0) as u32;
            if piece.wait != wait {
                piece.wait = Wait::Stage;
            }
            return;
        }
    }
    let extent = Extent { drive, lba: Lba(at), sectors, on_track: false };
    match wait {
        Wait::Stage => plan.push(stage, op, Need::All, [extent]),
        Wait::Drive => plan.push_behind(stage, op, extent),
    }
}

fn alike(piece: &Piece, stage: u8, op: Op) -> bool {
    piece.stage == stage && piece.op == op && piece.need == Need::All
}
