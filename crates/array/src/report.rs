//! What an array says at the end of a run.

use iojoule_disk::Ledger;
use iojoule_units::{ModelNs, Nanos};

/// Where the time of every drive went, and what happened to the array.
#[derive(Clone, Debug)]
pub struct Report {
    pub drives: Vec<DriveReport>,
    /// Gear changes: from when on which gear served. Empty where the layout has no gears.
    pub gears: Vec<(ModelNs, u8)>,
    pub counters: Counters,
    /// Replaced drives that are not whole at the end of the run.
    pub unfinished: Vec<Unfinished>,
}

/// A rebuild that was still to do, or to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub drive: u16,
    /// Sectors from the drive's first on that are good.
    pub good: u64,
    /// Sectors the drive has.
    pub of: u64,
}

/// What one slot of the array did.
#[derive(Clone, Debug)]
pub struct DriveReport {
    /// Time by state; the states partition the run.
    pub ledger: Ledger,
    /// Commands the drive was given.
    pub commands: u64,
    /// Time with a command in service.
    pub busy: Nanos,
    /// Out of service at the end. From its failure until a new drive is in its place a slot is off.
    pub failed: bool,
}

/// How often things happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Copies written in idle time.
    pub propagated: u64,
    /// Copies written before their write ended, because the list of pending copies was full.
    pub propagation_forced: u64,
    /// Pending copies that a newer write made needless.
    pub propagation_superseded: u64,
    /// Copies still pending.
    pub pending: u64,
    /// Reads that had to wait for a pending copy, because no drive held all of the newest data.
    pub reads_after_propagation: u64,
    /// Requests the memory cache answered.
    pub cache_hits: u64,
    /// Requests that went through to the drives, in whole or in part.
    pub cache_misses: u64,
    /// Blocks of held-back writes written later.
    pub cache_written_back: u64,
    /// Requests planned anew because a drive failed under them.
    pub replanned: u64,
    /// Requests whose data no drive holds.
    pub lost: u64,
    /// Sectors of replaced drives made good.
    pub rebuilt_sectors: u64,
    /// Rebuilds that came to their end.
    pub rebuilds: u64,
    /// Blocks brought up to date by shifts of gears.
    pub synced: u64,
    /// Shifts of gears that were completed.
    pub shifts: u64,
}
