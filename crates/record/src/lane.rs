//! The ring between one engine thread and the writer: chunks of records that go round. Pushing is a store into
//! a chunk the thread owns; a full chunk is handed over and an empty one taken back, so the hot path neither
//! locks nor allocates while the writer keeps up. When the writer falls behind, new chunks are allocated up to a
//! bound; there the thread waits for the writer, which is counted: a record is never dropped, and memory is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use iojoule_units::HostNs;

use crate::{RecordError, Request, clock};

/// Records in a chunk: 4096 × 80 B, a third of a megabyte.
pub(crate) const CHUNK: usize = 4096;
/// An unfilled chunk is handed over after this long, so that live figures and row groups follow slow loads.
pub(crate) const FLUSH_NS: i64 = 100_000_000;

/// What all lanes of a recorder share: how many more chunks may be allocated, and how often that was none.
pub(crate) struct Backlog {
    spare: AtomicU64,
    pub stalls: AtomicU64,
    pub stalled_ns: AtomicU64,
}

impl Backlog {
    /// Of `bytes` of records beyond the chunks the lanes start with.
    pub fn new(bytes: usize) -> Self {
        let chunks = bytes / (CHUNK * size_of::<Request>());
        Self { spare: AtomicU64::new(chunks as u64), stalls: AtomicU64::new(0), stalled_ns: AtomicU64::new(0) }
    }

    fn may_allocate(&self) -> bool {
        self.spare.fetch_update(Relaxed, Relaxed, |spare| spare.checked_sub(1)).is_ok()
    }
}

/// One engine thread's end of the ring.
pub struct Lane {
    filling: Vec<Request>,
    handed_ns: i64,
    index: usize,
    full: Sender<(usize, Vec<Request>)>,
    empty: Receiver<Vec<Request>>,
    backlog: Arc<Backlog>,
}

impl Lane {
    pub(crate) fn new(
        index: usize,
        full: Sender<(usize, Vec<Request>)>,
        empty: Receiver<Vec<Request>>,
        backlog: Arc<Backlog>,
    ) -> Self {
        Self { filling: Vec::with_capacity(CHUNK), handed_ns: 0, index, full, empty, backlog }
    }

    /// Record one finished request. Waits where the writer is a whole backlog behind.
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
        let next = self.empty_chunk()?;
        let chunk = std::mem::replace(&mut self.filling, next);
        self.full.send((self.index, chunk)).map_err(|_| RecordError::WriterGone)
    }

    fn empty_chunk(&mut self) -> Result<Vec<Request>, RecordError> {
        match self.empty.try_recv() {
            Ok(chunk) => Ok(chunk),
            Err(TryRecvError::Disconnected) => Err(RecordError::WriterGone),
            Err(TryRecvError::Empty) if self.backlog.may_allocate() => Ok(Vec::with_capacity(CHUNK)),
            // All chunks of this lane are with the writer, so one will come back or the writer has ended.
            Err(TryRecvError::Empty) => {
                let since = clock::now().0;
                let chunk = self.empty.recv().map_err(|_| RecordError::WriterGone);
                self.backlog.stalls.fetch_add(1, Relaxed);
                self.backlog.stalled_ns.fetch_add((clock::now().0 - since) as u64, Relaxed);
                chunk
            }
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if !self.filling.is_empty() {
            // A writer that is gone has already reported why; nothing is left to tell here.
            let _ = self.full.send((self.index, std::mem::take(&mut self.filling)));
        }
    }
}
