//! The contents of one verified block: a header that names it, and a body that follows from the header.
//!
//! | bytes | |
//! |---|---|
//! | 0–7 | XXH3-64 of everything behind it |
//! | 8–15 | `IOJBLK01` |
//! | 16–23 | the state file that keeps the generations |
//! | 24–31 | offset in its file, in bytes |
//! | 32–35 | number of its file |
//! | 36–39 | generation, from 1 |
//! | 40– | noise that differs in every eight bytes from that of any other header |
//!
//! All numbers are little-endian.

use twox_hash::XxHash3_64;

use crate::block::content::pad::{BLOCK, Pad, word};

/// A block must hold its header and something to protect.
pub(super) const LEAST_BYTES: usize = 64;
const MAGIC: [u8; 8] = *b"IOJBLK01";
const HEADER: usize = 40;

/// Makes and reads the blocks of one state file.
pub(super) struct Stamper {
    state: u64,
    pad: Pad,
}

/// Which block it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub file: u32,
    pub offset: u64,
    pub generation: u32,
}

/// What a block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Whole(Stamp),
    /// A header of this state, but not the contents that belong to it.
    Damaged,
    Foreign,
}

impl Stamper {
    pub fn new(state: u64) -> Self {
        Self { state, pad: Pad::new(state) }
    }

    pub fn write(&self, stamp: Stamp, block: &mut [u8]) {
        let (header, body) = block.split_at_mut(HEADER);
        header[8..16].copy_from_slice(&MAGIC);
        header[16..24].copy_from_slice(&self.state.to_le_bytes());
        header[24..32].copy_from_slice(&stamp.offset.to_le_bytes());
        header[32..36].copy_from_slice(&stamp.file.to_le_bytes());
        header[36..40].copy_from_slice(&stamp.generation.to_le_bytes());
        let own = XxHash3_64::oneshot(&header[8..]);
        for (part, number) in body.chunks_mut(BLOCK).zip(0..) {
            self.pad.fill(word(own.wrapping_add(number)), part);
        }
        let checksum = XxHash3_64::oneshot(&block[8..]);
        block[..8].copy_from_slice(&checksum.to_le_bytes());
    }

    pub fn read(&self, block: &[u8]) -> Reading {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| block[at + i]));
        if block[8..16] != MAGIC || number(16) != self.state {
            return Reading::Foreign;
        }
        if number(0) != XxHash3_64::oneshot(&block[8..]) {
            return Reading::Damaged;
        }
        let file_and_generation = number(32);
        Reading::Whole(Stamp {
            file: file_and_generation as u32,
            offset: number(24),
            generation: (file_and_generation >> 32) as u32,
        })
    }
}
