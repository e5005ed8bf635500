//! The schedule of a replay: each request is due at `epoch + trace time / speedup`, an absolute instant. A late
//! request does not move those behind it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, TryRecvError};

use iojoule_record::{Live, Phase};

use crate::LoadError;
use crate::assign::Assignment;
use crate::connections::{After, Connections};
use crate::engine::Load;
use crate::wire::{Batch, Order};

/// Requests issued before the network is looked at again.
const BURST: usize = 32;
/// When to look again where the reader of the trace has fallen behind.
const READER_NS: i64 = 200_000;

pub(crate) struct Schedule {
    epoch_ns: i64,
    speedup: f64,
    source: Receiver<Arc<Batch>>,
    batch: Arc<Batch>,
    row: usize,
    exhausted: bool,
    assignment: Assignment,
    /// Where the present phase is shown, by one of the threads.
    live: Option<Arc<Live>>,
    phase: Option<Phase>,
}

impl Schedule {
    pub fn new(
        epoch_ns: i64,
        speedup: f64,
        source: Receiver<Arc<Batch>>,
        assignment: Assignment,
        live: Option<Arc<Live>>,
    ) -> Self {
        let batch = Arc::default();
        Self { epoch_ns, speedup, source, batch, row: 0, exhausted: false, assignment, live, phase: None }
    }

    /// Host time of trace time `offset_ns`.
    fn host_ns(&self, offset_ns: i64) -> i64 {
        self.epoch_ns + scale(offset_ns, self.speedup)
    }

    fn show(&mut self, phase: Phase) {
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            if let Some(live) = &self.live {
                live.phase.store(1 + phase as u64, Relaxed);
            }
        }
    }
}

/// A span of trace time in host time.
pub(crate) fn scale(trace_ns: i64, speedup: f64) -> i64 {
    // Exact where nothing is to be scaled: an f64 holds whole nanoseconds for 104 days only.
    if speedup == 1.0 { trace_ns } else { (trace_ns as f64 / speedup).round() as i64 }
}

impl Load for Schedule {
    fn turn(&mut self, connections: &mut Connections, now: i64) -> Result<i64, LoadError> {
        for _ in 0..BURST {
            if self.exhausted {
                return Ok(i64::MAX);
            }
            let Some(row) = self.batch.rows.get(self.row) else {
                match self.source.try_recv() {
                    Ok(batch) => (self.batch, self.row) = (batch, 0),
                    Err(TryRecvError::Empty) => return Ok(now + READER_NS),
                    Err(TryRecvError::Disconnected) => self.exhausted = true,
                }
                continue;
            };
            let planned_ns = self.host_ns(row.offset_ns);
            if planned_ns > now {
                return Ok(planned_ns);
            }
            let (seq, phase) = (row.seq, row.phase);
            let order =
                Order { batch: self.batch.clone(), row: self.row as u32, seq, planned_ns, phase, retried: false };
            self.row += 1;
            self.show(phase);
            self.assignment.dispatch(connections, order)?;
        }
        Ok(now)
    }

    fn after(&mut self, connections: &mut Connections, after: After) -> Result<(), LoadError> {
        if after == After::Busy { Ok(()) } else { Ok(self.assignment.after(connections, after)?) }
    }

    fn end(&mut self) {
        self.exhausted = true;
    }

    fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    fn waiting(&self) -> usize {
        self.assignment.waiting()
    }

    fn give_up(&mut self, connections: &mut Connections) -> Result<(), LoadError> {
        Ok(self.assignment.give_up(connections)?)
    }
}
