//! Under verification no block has two requests in flight, over all jobs: what a read should find would not be known.
//! One bit a block; a request that meets another's bit is held back until that one is done.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Release};

use crate::block::source::Io;
use crate::block::target::Target;

pub(crate) struct Claims {
    bits: Vec<AtomicU64>,
    /// Number of each file's first block.
    first: Vec<u64>,
    block_bytes: u64,
}

impl Claims {
    pub fn new(target: &Target, block_bytes: u32) -> Self {
        let block_bytes = u64::from(block_bytes.max(1));
        let (mut first, mut blocks) = (Vec::new(), 0);
        for place in &target.files {
            first.push(blocks);
            blocks += place.bytes.div_ceil(block_bytes);
        }
        let bits = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { bits, first, block_bytes }
    }

    /// Takes all blocks of a request, or none where one of them is taken.
    pub fn take(&self, io: &Io) -> bool {
        let blocks = self.blocks(io);
        for block in blocks.clone() {
            let bit = 1 << (block % 64);
            if self.bits[(block / 64) as usize].fetch_or(bit, AcqRel) & bit != 0 {
                self.clear(blocks.start..block);
                return false;
            }
        }
        true
    }

    pub fn release(&self, io: &Io) {
        self.clear(self.blocks(io));
    }

    fn blocks(&self, io: &Io) -> std::ops::Range<u64> {
        let first = self.first[io.file as usize];
        let end = (io.offset + u64::from(io.bytes)).div_ceil(self.block_bytes);
        first + io.offset / self.block_bytes..first + end
    }

    fn clear(&self, blocks: std::ops::Range<u64>) {
        for block in blocks {
            self.bits[(block / 64) as usize].fetch_and(!(1 << (block % 64)), Release);
        }
    }
}
