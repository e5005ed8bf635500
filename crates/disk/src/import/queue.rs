//! `disksim_ioqueue`: the order in which waiting requests are served.

use super::fields::{Fields, Unused};
use super::syntax::Block;
use super::token::Text;
use crate::DiskError;

/// DiskSim's "Scheduling policy", as far as it is understood: by sector number (`Lbn`), by cylinder (`Cyl`) or by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// 1.
    Fcfs,
    /// 2: LOOK by sector number.
    ElevatorLbn,
    /// 3: C-LOOK by sector number.
    CycleLbn,
    /// 4: shortest distance by sector number.
    SstfLbn,
    /// 5: LOOK by cylinder.
    ElevatorCyl,
    /// 6: C-LOOK by cylinder.
    CycleCyl,
    /// 7: shortest seek by cylinder.
    SstfCyl,
    /// 8: shortest positioning time.
    Sptf,
    /// 10: shortest access time.
    Satf,
}

/// What a scheduler may do besides ordering; each must be off.
const TRICKS: [&str; 4] = [
    "Sequential stream scheme",
    "Overlapping request scheme",
    "Scheduling timeout scheme",
    "Scheduling priority scheme",
];
const TRICKS_FIGURES: [&str; 5] = [
    "Maximum concat size",
    "Sequential stream diff maximum",
    "Timeout time/weight",
    "Timeout scheduling",
    "Priority scheduling",
];

/// The driver's queue.
pub(super) fn driver(text: &Text, block: &Block, unused: &mut Vec<Unused>) -> Result<Scheduling, DiskError> {
    let mut fields = Fields::new(text, block)?;
    let key = fields.need("Scheduling policy")?;
    let policy = match fields.whole("Scheduling policy", 1, 28)? {
        1 => Scheduling::Fcfs,
        2 => Scheduling::ElevatorLbn,
        3 => Scheduling::CycleLbn,
        4 => Scheduling::SstfLbn,
        5 => Scheduling::ElevatorCyl,
        6 => Scheduling::CycleCyl,
        7 => Scheduling::SstfCyl,
        8 => Scheduling::Sptf,
        10 => Scheduling::Satf,
        _ => return Err(fields.refuse(key, "only the policies 1 to 8 and 10 are understood")),
    };
    for trick in TRICKS {
        if let Some(on) = fields.maybe_number(trick, 0.0, 1e9)?.filter(|n| *n != 0.0) {
            let key = fields.need(trick)?;
            return Err(fields.refuse(key, &format!("only 0 is understood, not {on}")));
        }
    }
    fields.set_aside(&TRICKS, "is off", unused);
    fields.set_aside(&TRICKS_FIGURES, "belongs to something that is off", unused);
    fields.set_aside(&["Cylinder mapping strategy"], "cylinders are known exactly here", unused);
    let estimates = ["Read initiation delay", "Write initiation delay"];
    fields.set_aside(&estimates, "an estimate for schedulers by time; positioning times are exact here", unused);
    fields.finish()?;
    Ok(policy)
}

/// A drive's own queue, which has an effect only where the drive holds several requests.
pub(super) fn own(text: &Text, block: &Block, length: u32, unused: &mut Vec<Unused>) -> Result<(), DiskError> {
    if length > 1 {
        // The spec says how long the queue is; the order in it is the array's scheduler.
        return driver(text, block, unused).map(|_| ());
    }
    let mut fields = Fields::new(text, block)?;
    let known = ["Scheduling policy", "Cylinder mapping strategy", "Read initiation delay", "Write initiation delay"];
    let why = "the drive holds one request at a time";
    for names in [&known[..], &TRICKS, &TRICKS_FIGURES] {
        fields.set_aside(names, why, unused);
    }
    fields.finish()
}
