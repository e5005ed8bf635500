//! The bytes of the requests: filled or stamped before a write, checked after a read.

use std::sync::Arc;

use iojoule_record::Op;

use crate::block::buffers::Buffers;
use crate::block::claims::Claims;
use crate::block::content::Filler;
use crate::block::source::Io;
use crate::block::tally::Tally;
use crate::block::verify::{Corruption, Verifier};

/// Corruptions told in words.
const TOLD: usize = 8;

/// Verification, shared by all engine threads of a load.
pub(crate) struct Checking {
    pub verifier: Verifier,
    pub claims: Claims,
}

pub(crate) struct Data<'a> {
    pub buffers: Arc<Buffers>,
    pub filler: Filler,
    pub checking: Option<&'a Checking>,
}

impl Data<'_> {
    /// False where the request must wait for another one on the same block.
    #[inline]
    pub fn claim(&self, io: &Io) -> bool {
        self.checking.is_none_or(|checking| checking.claims.take(io))
    }

    /// Makes what a write will write; a trim leaves nothing that could be checked.
    #[inline]
    pub fn prepare(&mut self, slot: u32, io: &Io) {
        if io.op == Op::Trim {
            if let Some(checking) = self.checking {
                checking.verifier.forget(io.file, io.offset, io.bytes);
            }
            return;
        }
        // SAFETY: the engine holds the slot, which is not handed over yet.
        let buffer = unsafe { self.buffers.of(slot, io.bytes) };
        match self.checking {
            Some(checking) => checking.verifier.stamp(io.file, io.offset, buffer),
            None => self.filler.fill(buffer),
        }
    }

    /// A request has come back; false where what was read is not what should be there.
    #[inline]
    pub fn settle(&self, slot: u32, io: &Io, whole: bool, tally: &mut Tally) -> bool {
        let Some(checking) = self.checking else { return true };
        let mut sound = true;
        match io.op {
            Op::Write => checking.verifier.settle(io.file, io.offset, io.bytes, whole),
            Op::Read if whole => {
                // SAFETY: the request of this slot has come back.
                let buffer = unsafe { self.buffers.of(slot, io.bytes) };
                if let Some((offset, corruption)) = checking.verifier.check(io.file, io.offset, buffer) {
                    sound = false;
                    if tally.corruptions.len() < TOLD {
                        tally.corruptions.push(format!("file {} at byte {offset}: {}", io.file, words(corruption)));
                    }
                }
            }
            _ => {}
        }
        checking.claims.release(io);
        sound
    }

    /// A request will never come back: either generation may be there.
    pub fn abandon(&self, io: &Io) {
        if let Some(checking) = self.checking.filter(|_| io.op == Op::Write) {
            checking.verifier.settle(io.file, io.offset, io.bytes, false);
        }
    }
}

fn words(corruption: Corruption) -> String {
    match corruption {
        Corruption::Flipped => "the checksum does not fit the contents".into(),
        Corruption::Misplaced { file, offset } => format!("what belongs to file {file} at byte {offset}"),
        Corruption::Stale { found, expected } => format!("generation {found} where {expected} was acknowledged"),
        Corruption::Unwritten => "no stamp where one was acknowledged".into(),
    }
}
