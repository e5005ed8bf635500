//! The bytes of the requests: filled or stamped before a write, checked after a read.

use std::sync::Arc;

use iojoule_record::Op;

use crate::block::buffers::Buffers;
use crate::block::claims::Claims;
use crate::block::content::Filler;
use crate::block::source::Io;
use crate::block::stock::Stock;
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
    /// None where nothing is written, sizes differ, or what is written is stamped with its place.
    pub stock: Option<Stock>,
    pub checking: Option<&'a Checking>,
}

impl Data<'_> {
    /// False where the request must wait for another one on the same block.
    #[inline]
    pub fn claim(&self, io: &Io) -> bool {
        self.checking.is_none_or(|checking| checking.claims.take(io))
    }

    /// Makes what a write will write, and returns the buffer it lies in, this one or another for it. A trim leaves
    /// nothing that could be checked.
    #[inline]
    pub fn prepare(&mut self, buffer: u32, io: &Io) -> u32 {
        if io.op == Op::Trim {
            if let Some(checking) = self.checking {
                checking.verifier.forget(io.file, io.offset, io.bytes);
            }
            return buffer;
        }
        if let Some(stock) = &mut self.stock {
            return stock.swap(buffer, &mut self.filler, &self.buffers);
        }
        // SAFETY: the engine holds the buffer, which is not handed over yet.
        let contents = unsafe { self.buffers.of(buffer, io.bytes) };
        match self.checking {
            Some(checking) => checking.verifier.stamp(io.file, io.offset, contents),
            None => self.filler.fill(contents),
        }
        buffer
    }

    /// Makes a little of what will be written later; false where enough is made.
    #[inline]
    pub fn stock_up(&mut self) -> bool {
        self.stock.as_mut().is_some_and(|stock| stock.step(&mut self.filler, &self.buffers))
    }

    /// A request has come back; false where what was read is not what should be there.
    #[inline]
    pub fn settle(&self, buffer: u32, io: &Io, whole: bool, tally: &mut Tally) -> bool {
        let Some(checking) = self.checking else { return true };
        let mut sound = true;
        match io.op {
            Op::Write => checking.verifier.settle(io.file, io.offset, io.bytes, whole),
            Op::Read if whole => {
                // SAFETY: the request of this buffer has come back.
                let contents = unsafe { self.buffers.of(buffer, io.bytes) };
                if let Some((offset, corruption)) = checking.verifier.check(io.file, io.offset, contents) {
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
