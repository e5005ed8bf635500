//! The memory requests are read into and written from: one buffer each outstanding request and some in stock, on page
//! boundaries, as direct access asks for. Pages come into being when first touched, so that many large buffers cost nothing unused.

use std::sync::Arc;

use crate::LoadError;

const PAGE: usize = 4096;

/// `count` buffers of the same size. Shared with the kernel or with worker threads: who holds a buffer owns its bytes.
pub(crate) struct Buffers {
    start: *mut u8,
    stride: usize,
    count: usize,
}

// SAFETY: each buffer has one holder at a time.
unsafe impl Send for Buffers {}
// SAFETY: as above; the struct itself is never changed after its making.
unsafe impl Sync for Buffers {}

impl Buffers {
    pub fn new(count: usize, bytes: u32) -> Result<Arc<Self>, LoadError> {
        let stride = (bytes as usize).next_multiple_of(PAGE).max(PAGE);
        let length = stride.checked_mul(count).ok_or_else(|| {
            LoadError::config("queue_depth", "the buffers of all outstanding requests exceed the address space")
        })?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping touches no memory of ours.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(LoadError::system("reserving the buffers of outstanding requests"));
        }
        Ok(Arc::new(Self { start: start.cast(), stride, count }))
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> usize {
        self.stride * self.count
    }

    #[inline]
    pub fn at(&self, buffer: u32) -> *mut u8 {
        debug_assert!((buffer as usize) < self.count);
        // SAFETY: the buffer lies inside the mapping.
        unsafe { self.start.add(buffer as usize * self.stride) }
    }

    /// The first `bytes` of a buffer.
    ///
    /// # Safety
    /// The caller holds the buffer, and no request on it is outstanding.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn of(&self, buffer: u32, bytes: u32) -> &mut [u8] {
        debug_assert!(bytes as usize <= self.stride);
        // SAFETY: inside the mapping, and nobody else's by the caller's word.
        unsafe { std::slice::from_raw_parts_mut(self.at(buffer), bytes as usize) }
    }

    /// All buffers as the kernel registers them.
    pub fn vectors(&self) -> Vec<libc::iovec> {
        (0..self.count as u32)
            .map(|buffer| libc::iovec { iov_base: self.at(buffer).cast(), iov_len: self.stride })
            .collect()
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever held a buffer has let go of this.
        unsafe { libc::munmap(self.start.cast(), self.bytes()) };
    }
}
