//! Finds what a device lost, flipped, misplaced or gave back stale: each block carries its place, its generation and a
//! checksum, and a state file remembers which generation of each block was sent and which was acknowledged. The two
//! together see what a checksum alone cannot: a block that is sound, but not the newest.

mod stamp;
mod state;

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use self::stamp::{LEAST_BYTES, Reading, Stamp, Stamper};
use self::state::State;
use crate::LoadError;
use crate::block::config::VerifySpec;

/// Generations of a block that may be there at once, after writes that failed; beyond them the block is unknown.
const MOST_UNSETTLED: u32 = 64;
/// What even the smallest device writes whole or not at all.
const SECTOR: usize = 512;

/// Shared by all engine threads of a load. No two requests may be in flight on one block.
pub(crate) struct Verifier {
    state: State,
    stamper: Stamper,
    block_bytes: u64,
    /// Number of each file's first block, and of the block behind the last.
    first: Vec<u64>,
    checked: AtomicU64,
}

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

/// What may be found in a block: the generations from `least` to `sent`, or anything where `least` is 0. Sent and
/// least are one where the last write was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Generations {
    least: u32,
    sent: u32,
}

impl Generations {
    fn of(word: u64) -> Self {
        Self { least: word as u32, sent: (word >> 32) as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.sent) << 32 | u64::from(self.least)
    }

    /// One more is on its way.
    fn sent(self) -> Self {
        match self.sent.checked_add(1) {
            Some(sent) if sent - self.least <= MOST_UNSETTLED => Self { sent, ..self },
            Some(sent) => Self { sent, least: 0 },
            None => Self { sent: 1, least: 0 },
        }
    }
}

impl Verifier {
    /// Opens or makes the state; `file_bytes` are the sizes of the target's files in their order.
    pub fn open(spec: &VerifySpec, file_bytes: &[u64], seed: u64) -> Result<Self, LoadError> {
        let block_bytes = u64::from(spec.block_bytes);
        if block_bytes < LEAST_BYTES as u64 || !block_bytes.is_multiple_of(8) {
            let reason = format!("{block_bytes} is not a multiple of 8 from {LEAST_BYTES} on");
            return Err(LoadError::config("verify.block_bytes", reason));
        }
        let mut first = vec![0];
        first.extend(file_bytes.iter().scan(0, |blocks, bytes| {
            *blocks += bytes / block_bytes;
            Some(*blocks)
        }));
        let state = State::open(&spec.state, file_bytes, block_bytes, seed)?;
        let stamper = Stamper::new(state.identity);
        Ok(Self { state, stamper, block_bytes, first, checked: AtomicU64::new(0) })
    }

    /// Stamps a buffer about to be written at a place; the contents are made here, not by the filler. A block that the
    /// write covers in part can carry no stamp: from now on anything may be there.
    pub fn stamp(&self, file: u32, offset: u64, buffer: &mut [u8]) {
        let bytes = buffer.len() as u64;
        let whole = self.whole(offset, bytes);
        if whole.end - whole.start != bytes {
            self.forget(file, offset, bytes as u32);
        }
        let inside = &mut buffer[(whole.start - offset).min(bytes) as usize..];
        let blocks = inside.chunks_exact_mut(self.block_bytes as usize);
        for ((word, offset), block) in self.blocks(file, whole).zip(blocks) {
            // Noted before it is sent: whoever comes after a crash knows that it may be there.
            let sent = self.change(word, Generations::sent);
            self.stamper.write(Stamp { file, offset, generation: sent.sent }, block);
        }
    }

    /// The write of this place was acknowledged (`true`) or failed, so that either generation may be there.
    pub fn settle(&self, file: u32, offset: u64, bytes: u32, acknowledged: bool) {
        if acknowledged {
            for (word, _) in self.blocks(file, self.whole(offset, bytes.into())) {
                self.change(word, |g| Generations { least: g.sent, ..g });
            }
        }
    }

    /// A trim of this place is about to be sent; until it is written again anything may be there.
    pub fn forget(&self, file: u32, offset: u64, bytes: u32) {
        // Also blocks of which it covers a part.
        let begin = offset / self.block_bytes * self.block_bytes;
        let end = (offset + u64::from(bytes)).next_multiple_of(self.block_bytes);
        for (word, _) in self.blocks(file, begin..end) {
            self.change(word, |g| Generations { least: 0, ..g });
        }
    }

    /// The first thing wrong with what was read at a place, if any, and its offset. Blocks read in part are not checked.
    pub fn check(&self, file: u32, offset: u64, buffer: &[u8]) -> Option<(u64, Corruption)> {
        let whole = self.whole(offset, buffer.len() as u64);
        let inside = &buffer[(whole.start - offset).min(buffer.len() as u64) as usize..];
        let blocks = inside.chunks_exact(self.block_bytes as usize);
        let mut checked = 0;
        let wrong = self.blocks(file, whole).zip(blocks).find_map(|((word, offset), block)| {
            let expected = Generations::of(word.load(Acquire));
            checked += u64::from(expected.least != 0);
            self.judge(file, offset, block, expected).map(|corruption| (offset, corruption))
        });
        self.checked.fetch_add(checked, Relaxed);
        wrong
    }

    /// Blocks that were checked because something was to be found in them; the others had never been written.
    pub fn checked(&self) -> u64 {
        self.checked.load(Relaxed)
    }

    /// File and offset of every block in which something is to be found.
    #[allow(dead_code)] // For a pass over what was written alone.
    pub fn written(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..).zip(self.first.windows(2)).flat_map(move |(file, blocks)| {
            let words = &self.state.words()[blocks[0] as usize..blocks[1] as usize];
            let offsets = (0..).step_by(self.block_bytes as usize);
            let there = words.iter().zip(offsets).filter(|(word, _)| Generations::of(word.load(Acquire)).least != 0);
            there.map(move |(_, offset)| (file, offset))
        })
    }

    /// Puts the state on disk; it is in the page cache at every instant.
    pub fn save(&self) -> Result<(), LoadError> {
        self.state.save()
    }

    /// Where the state lies.
    #[allow(dead_code)] // For whoever tells of it.
    pub fn path(&self) -> &Path {
        self.state.path()
    }

    fn judge(&self, file: u32, offset: u64, block: &[u8], expected: Generations) -> Option<Corruption> {
        if expected.least == 0 {
            return None;
        }
        match self.stamper.read(block) {
            Reading::Whole(found) if (found.file, found.offset) != (file, offset) => {
                Some(Corruption::Misplaced { file: found.file, offset: found.offset })
            }
            Reading::Whole(Stamp { generation, .. }) if (expected.least..=expected.sent).contains(&generation) => None,
            Reading::Whole(Stamp { generation, .. }) => {
                Some(Corruption::Stale { found: generation, expected: expected.least })
            }
            reading => self.judge_unsound(file, offset, block, expected, reading),
        }
    }

    /// A write that was never acknowledged may have left some of its sectors; they are compared with what was sent.
    /// A header that cannot be read may have been hit itself, while the rest is there.
    fn judge_unsound(
        &self,
        file: u32,
        offset: u64,
        block: &[u8],
        expected: Generations,
        reading: Reading,
    ) -> Option<Corruption> {
        let mut sound = vec![false; block.len().div_ceil(SECTOR)];
        let (mut sent, mut alike) = (vec![0; block.len()], 0);
        for generation in expected.least..=expected.sent {
            self.stamper.write(Stamp { file, offset, generation }, &mut sent);
            for (sound, (found, sent)) in sound.iter_mut().zip(block.chunks(SECTOR).zip(sent.chunks(SECTOR))) {
                *sound |= found == sent;
            }
            alike = alike.max(block.iter().zip(&sent).filter(|(found, sent)| found == sent).count());
        }
        if expected.least != expected.sent && sound.iter().all(|sound| *sound) {
            return None;
        }
        match reading {
            Reading::Foreign if alike < block.len() / 2 => Some(Corruption::Unwritten),
            _ => Some(Corruption::Flipped),
        }
    }

    /// The whole blocks in a range of bytes, as a range of bytes.
    fn whole(&self, offset: u64, bytes: u64) -> Range<u64> {
        let start = offset.next_multiple_of(self.block_bytes);
        let end = (offset + bytes) / self.block_bytes * self.block_bytes;
        start..end.max(start)
    }

    /// The words of the blocks in a range of bytes of a file, and their offsets.
    fn blocks(&self, file: u32, bytes: Range<u64>) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let (first, end) = (self.first[file as usize], self.first[file as usize + 1]);
        // A file may end with less than a block, which has no word.
        let word = |offset: u64| (first + offset / self.block_bytes).min(end) as usize;
        let offsets = (bytes.start..).step_by(self.block_bytes as usize);
        self.state.words()[word(bytes.start)..word(bytes.end)].iter().zip(offsets)
    }

    fn change(&self, word: &AtomicU64, change: impl Fn(Generations) -> Generations) -> Generations {
        let changed = |word| Some(change(Generations::of(word)).word());
        let (Ok(before) | Err(before)) = word.fetch_update(AcqRel, Acquire, changed);
        change(Generations::of(before))
    }
}

#[cfg(test)]
mod tests;
