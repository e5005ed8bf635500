//! What the drives must do for one request: the only thing a layout says and the only thing the engine knows.

use iojoule_disk::Op;
use iojoule_units::Lba;

/// A run of sectors on one drive. `on_track`: see [`iojoule_disk::Command`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub drive: u16,
    pub lba: Lba,
    pub sectors: u32,
    pub on_track: bool,
}

/// Which of a piece's copies must be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// One of them, whichever is served first: a read of replicated data.
    Any,
    /// One before the request ends, the others later from the array's list of pending writes (or before it ends, too,
    /// where the array propagates in the foreground): a write of replicated data.
    OneThenRest,
    /// Every one before the request ends: parity and its data.
    All,
}

/// What a piece of a later stage waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Every piece of the stages before it: new parity cannot be known earlier.
    Stage,
    /// The pieces of the stages before it on its own drive, and none where there are none: new data overwrites the old as
    /// soon as the old has been read.
    Drive,
}

/// One thing to be done, in one of several places: `copies` indexes [`Plan::extents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// A piece of stage 0 begins at once, one of a later stage when what it waits for has ended.
    pub stage: u8,
    pub wait: Wait,
    pub op: Op,
    pub need: Need,
    pub copies: (u32, u32),
}

/// The pieces of one request, in any order. A buffer to be used again, so that planning allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub pieces: Vec<Piece>,
    pub extents: Vec<Extent>,
    /// The request asks for data that no drive holds any more.
    pub lost: bool,
}

impl Plan {
    /// Empties the plan and keeps its room.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.extents.clear();
        self.lost = false;
    }

    /// Adds a piece with the given places.
    pub fn push(&mut self, stage: u8, op: Op, need: Need, copies: impl IntoIterator<Item = Extent>) {
        let from = self.extents.len() as u32;
        self.extents.extend(copies);
        self.pieces.push(Piece { stage, wait: Wait::Stage, op, need, copies: (from, self.extents.len() as u32) });
    }

    /// Adds a piece in one place that waits for its own drive only.
    pub fn push_behind(&mut self, stage: u8, op: Op, extent: Extent) {
        self.push(stage, op, Need::All, [extent]);
        if let Some(piece) = self.pieces.last_mut() {
            piece.wait = Wait::Drive;
        }
    }

    /// The places of a piece.
    pub fn copies(&self, piece: &Piece) -> &[Extent] {
        &self.extents[piece.copies.0 as usize..piece.copies.1 as usize]
    }
}

/// Which drives hold good data. Failed drives are not read or written; a rebuilding drive holds good data below
/// `rebuilt` and is written everywhere.
#[derive(Clone, Debug, Default)]
pub struct Health {
    pub failed: Vec<bool>,
    /// `(drive, first sector that is not rebuilt yet)`.
    pub rebuilding: Option<(u16, Lba)>,
}

impl Health {
    pub fn good(drives: usize) -> Self {
        Self { failed: vec![false; drives], rebuilding: None }
    }

    /// Whether these sectors of the drive can be read.
    pub fn readable(&self, drive: u16, lba: Lba, sectors: u32) -> bool {
        !self.failed[drive as usize]
            && self.rebuilding.is_none_or(|(d, good)| d != drive || lba.0 + u64::from(sectors) <= good.0)
    }

    /// Whether the drive can be written.
    pub fn writable(&self, drive: u16) -> bool {
        !self.failed[drive as usize]
    }
}
