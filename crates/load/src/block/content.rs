//! What is written: incompressible, compressible to a ratio, or with duplicates.

use crate::LoadError;
use crate::block::config::Content;

/// Fills buffers; one each engine thread.
pub(crate) struct Filler;

impl Filler {
    pub fn new(_content: Content, _seed: u64) -> Result<Self, LoadError> {
        Ok(Self)
    }

    /// Fills a buffer that is about to be written.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        buffer.fill(0xa5);
    }
}
