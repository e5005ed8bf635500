//! The ring between one engine thread and the writer: chunks of records that go round. Pushing is a store into
//! a chunk the thread owns; a full chunk is handed over and an empty one taken back, so the hot path neither
//! locks nor allocates while the writer keeps up. When the writer falls behind, new chunks are allocated: a
//! record is never dropped.

use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use iojoule_units::HostNs;

use crate::{RecordError, Request};

/// Records in a chunk: 4096 × 80 B, a third of a megabyte.
pub(crate) const CHUNK: usize = 4096;
/// An unfilled chunk is handed over after this long, so that live figures and row groups follow slow loads.
const FLUSH_NS: i64 = 100_000_000;

/// One engine thread's end of the ring.
pub struct Lane {
    filling: Vec<Request>,
    handed_ns: i64,
    index: usize,
    full: Sender<(usize, Vec<Request>)>,
    empty: Receiver<Vec<Request>>,
}

impl Lane {
    pub(crate) fn new(index: usize, full: Sender<(usize, Vec<Request>)>, empty: Receiver<Vec<Request>>) -> Self {
        Self { filling: Vec::with_capacity(CHUNK), handed_ns: 0, index, full, empty }
    }

    /// Record one finished request.
    #[inline]
    pub fn push(&mut self, request: Request) -> Result<(), RecordError> {
        self.filling.push(request);
        if self.filling.len() == CHUNK { self.hand_over() } else { Ok(()) }
    }

    /// Hand over what is there if it has waited long enough; to be called from the engine's idle moments.
    #[inline]
    pub fn tick(&mut self, now: HostNs) -> Result<(), RecordError> {
        if now.0 - self.handed_ns < FLUSH_NS {
            return Ok(());
        }
        self.handed_ns = now.0;
        if self.filling.is_empty() { Ok(()) } else { self.hand_over() }
    }

    /// Hand over everything; a lane that is dropped does this by itself.
    pub fn hand_over(&mut self) -> Result<(), RecordError> {
        let next = match self.empty.try_recv() {
            Ok(chunk) => chunk,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Vec::with_capacity(CHUNK),
        };
        let chunk = std::mem::replace(&mut self.filling, next);
        self.full.send((self.index, chunk)).map_err(|_| RecordError::WriterGone)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if !self.filling.is_empty() {
            // A writer that is gone has already reported why; nothing is left to tell here.
            let _ = self.hand_over();
        }
    }
}
