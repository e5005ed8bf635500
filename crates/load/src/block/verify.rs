//! Finds what a device lost, flipped, misplaced or gave back stale: each block carries its place, its generation and a
//! checksum, and a state file remembers which generation of each block was sent and which was acknowledged.

use std::path::Path;

use crate::LoadError;
use crate::block::config::VerifySpec;

/// Shared by all engine threads of a load.
pub(crate) struct Verifier;

/// What was wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Corruption {
    /// The checksum does not fit the contents.
    Flipped,
    /// It carries the stamp of another place.
    Misplaced { file: u32, offset: u64 },
    /// An older generation than the one acknowledged: a lost write, or a stale block.
    Stale { found: u32, expected: u32 },
    /// It carries no stamp, though one was acknowledged.
    Unwritten,
}

impl Verifier {
    /// Opens or makes the state; `file_bytes` are the sizes of the target's files in their order.
    pub fn open(_spec: &VerifySpec, _file_bytes: &[u64], _seed: u64) -> Result<Self, LoadError> {
        Ok(Self)
    }

    /// Stamps a buffer about to be written at a place; the contents are made here, not by the filler.
    pub fn stamp(&self, _file: u32, _offset: u64, _buffer: &mut [u8]) {}

    /// The write of this place was acknowledged (`true`) or failed, so that either generation may be there.
    pub fn settle(&self, _file: u32, _offset: u64, _bytes: u32, _acknowledged: bool) {}

    /// The first thing wrong with what was read at a place, if any, and its offset.
    pub fn check(&self, _file: u32, _offset: u64, _buffer: &[u8]) -> Option<(u64, Corruption)> {
        None
    }

    /// Puts the state on disk; it is in the page cache at every instant.
    pub fn save(&self) -> Result<(), LoadError> {
        Ok(())
    }

    /// Where the state lies.
    pub fn path(&self) -> &Path {
        Path::new("")
    }
}
