//! What a drive is asked, and what it answers.

use iojoule_units::{Lba, ModelNs};

/// What a command or request does to its sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Read,
    Write,
}

/// One command to one drive. With `on_track` the run stays on the track it begins on and, at that track's last
/// sector, goes on at its first: a rotational replica lies so. Without it the run goes on at the next address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub op: Op,
    pub lba: Lba,
    pub sectors: u32,
    pub on_track: bool,
}

/// When a command ends. `done`: the host is told; `ready`: the drive takes its next command, which may be before
/// `done` (a flash drive with free channels) but never before the command began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    pub done: ModelNs,
    pub ready: ModelNs,
    /// Served by the drive's cache, or accepted by it (a write reported before it is on the medium).
    pub cached: bool,
}

/// Where a sector lies: its cylinder, its track (counted over the whole drive) and the angle at which it begins to pass
/// under the head, as nanoseconds after the index mark, below one rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub cylinder: u32,
    pub track: u32,
    pub angle: u32,
}
