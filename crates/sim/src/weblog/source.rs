//! The web server as a source of requests to the array. It looks at a web request when its time has come, not before:
//! what memory holds then decides what must be read.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use iojoule_array::{Completion, Request};
use iojoule_disk::Op;
use iojoule_units::{Lba, ModelNs, Nanos, SECTOR};

use super::files::{File, Files};
use super::memory::Memory;
use super::report::{Book, WebReport};
use super::table::{Method, Row, Rows, files};
use super::visit::{Reading, Run, Visit};
use super::{BLOCK, WebLoad};
use crate::{SimError, Source};

/// How often the server looks for metadata that has been dirty for long enough: Linux's `dirty_writeback_centisecs`.
const WRITEBACK: i64 = 5_000_000_000;

/// What a request to the array is for.
enum Purpose {
    Read { visit: usize, run: Run },
    AccessTime,
}

pub struct WebSource {
    rows: Rows,
    speed: f64,
    next: Option<(ModelNs, Row)>,
    files: Files,
    memory: Memory,
    reading: Reading,
    visits: Vec<Option<Visit>>,
    free: Vec<usize>,
    /// Requests to the array whose time has come, each with what it is for.
    ready: VecDeque<(u64, u64, Purpose)>,
    under_way: HashMap<u64, Purpose>,
    taken: u64,
    now: ModelNs,
    access_times: Option<Nanos>,
    /// Dirty blocks of metadata by the time at which they are written, with their places.
    dirty: VecDeque<(ModelNs, u64, u64)>,
    dirty_blocks: HashSet<u64>,
    runs: Vec<Run>,
    requests: u64,
    blocks: u64,
    missing: u64,
    reads: u64,
    access_time_writes: u64,
    file_count: u64,
    book: Book,
    failed: Option<SimError>,
}

impl WebSource {
    /// `capacity`: sectors of the array; `speed`: 8 plays a day in three hours.
    pub fn open(load: &WebLoad, capacity: u64, speed: f64) -> Result<Self, SimError> {
        load.check()?;
        if !(speed.is_finite() && speed > 0.0) {
            return Err(SimError::Config(format!("speed must be above 0, not {speed}")));
        }
        let listed = files(&load.objects(), load.tree.as_deref())?;
        let placed = Files::place(&listed, capacity, load.spread_bytes, load.fragment_bytes, load.metadata)?;
        Ok(Self {
            rows: Rows::open(&load.replay)?,
            speed,
            next: None,
            files: placed,
            memory: Memory::new(load.memory_bytes / BLOCK),
            reading: Reading { read: load.read_bytes / BLOCK, ahead: load.reads_ahead as usize },
            visits: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            under_way: HashMap::new(),
            taken: 0,
            now: ModelNs::ZERO,
            access_times: load.access_times_ns.map(Nanos),
            dirty: VecDeque::new(),
            dirty_blocks: HashSet::new(),
            runs: Vec::new(),
            requests: 0,
            blocks: 0,
            missing: 0,
            reads: 0,
            access_time_writes: 0,
            file_count: listed.len() as u64,
            book: Book::default(),
            failed: None,
        })
    }

    /// Ends the table and sums up.
    fn report(&mut self) -> Result<WebReport, SimError> {
        self.book.close()?;
        let mut outcomes = self.book.outcomes;
        outcomes.nothing = self.requests - outcomes.data - outcomes.metadata - self.open_visits();
        Ok(WebReport {
            requests: self.requests,
            outcomes,
            latency_ms: self.book.latency.figures(),
            completion_ms: self.book.completion.figures(),
            bytes: self.book.bytes,
            blocks: self.blocks,
            blocks_from_memory: self.blocks - self.missing,
            reads: self.reads,
            access_time_writes: self.access_time_writes,
            files: self.file_count,
            file_bytes: self.files.bytes(),
        })
    }

    fn open_visits(&self) -> u64 {
        self.visits.iter().flatten().count() as u64
    }

    /// A web request comes.
    fn visit(&mut self, row: Row) -> Result<(), SimError> {
        let number = self.requests;
        self.requests += 1;
        let file = self.files.file(row.object).ok_or_else(|| {
            SimError::Config(format!("web request {}: the objects table has no object {}", number + 1, row.object))
        })?;
        let bytes = match (row.method, row.status) {
            (Method::Get, 200..=299) => row.bytes.unwrap_or(u64::MAX).min(file.bytes),
            (Method::Get, 304) | (Method::Head, 200..=299 | 304) => 0,
            _ => return Ok(()),
        };
        if row.status != 304 && row.method == Method::Get {
            self.accessed(file);
        }
        let visit = Visit::new(row, number, self.now, &self.files, file, bytes);
        let at = self.free.pop().unwrap_or_else(|| {
            self.visits.push(None);
            self.visits.len() - 1
        });
        self.visits[at] = Some(visit);
        self.go_on(at)
    }

    /// Lets a visit go on; one that has all its blocks ends.
    fn go_on(&mut self, at: usize) -> Result<(), SimError> {
        let Some(visit) = &mut self.visits[at] else { return Ok(()) };
        let mut runs = std::mem::take(&mut self.runs);
        let ended = visit.go_on(self.now, self.reading, &self.files, &mut self.memory, &mut runs);
        if ended && let Some(visit) = self.visits[at].take() {
            self.free.push(at);
            self.blocks += visit.blocks();
            self.book.add(&visit)?;
        }
        for run in runs.drain(..) {
            let blocks = run.blocks.end - run.blocks.start;
            self.missing += blocks;
            self.reads += 1;
            self.ready.push_back((run.place, blocks, Purpose::Read { visit: at, run }));
        }
        self.runs = runs;
        Ok(())
    }

    /// The file's time of last access changes: its metadata is dirty.
    fn accessed(&mut self, file: File) {
        let Some(expire) = self.access_times else { return };
        let block = self.files.blocks(file, 0).0.start;
        if self.dirty_blocks.insert(block) {
            // Times are not negative, so this rounds up.
            let due = (self.now.0 + expire.0 + WRITEBACK - 1) / WRITEBACK * WRITEBACK;
            self.dirty.push_back((ModelNs(due), block, self.files.place_of(file, block).0));
        }
    }

    /// Sends off the metadata that has been dirty for long enough.
    fn write_back(&mut self) {
        while let Some(&(_, block, place)) = self.dirty.front().filter(|(due, ..)| *due <= self.now) {
            self.dirty.pop_front();
            self.dirty_blocks.remove(&block);
            self.access_time_writes += 1;
            self.ready.push_back((place, 1, Purpose::AccessTime));
        }
    }

    /// When the log's next request comes.
    fn next_row(&mut self) -> Result<Option<ModelNs>, SimError> {
        if self.next.is_none()
            && let Some(row) = self.rows.next()?
        {
            let at =
                if self.speed == 1.0 { row.planned_ns } else { (row.planned_ns as f64 / self.speed).round() as i64 };
            self.next = Some((ModelNs(at), row));
        }
        Ok(self.next.map(|(at, _)| at))
    }
}

impl Source for WebSource {
    fn next_at(&mut self) -> Result<Option<ModelNs>, SimError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if !self.ready.is_empty() {
            return Ok(Some(self.now));
        }
        let row = self.next_row()?;
        let due = self.dirty.front().map(|(due, ..)| *due);
        Ok(row.into_iter().chain(due).min().map(|at| at.max(self.now)))
    }

    fn take(&mut self) -> Option<Request> {
        if self.ready.is_empty() {
            let due = self.dirty.front().map_or(ModelNs::NEVER, |(due, ..)| *due);
            match self.next {
                Some((at, row)) if at <= due => {
                    self.now = self.now.max(at);
                    self.next = None;
                    if let Err(error) = self.visit(row) {
                        self.failed = Some(error);
                    }
                }
                _ if due < ModelNs::NEVER => {
                    self.now = self.now.max(due);
                    self.write_back();
                }
                _ => {}
            }
        }
        let (place, blocks, purpose) = self.ready.pop_front()?;
        let op = if matches!(purpose, Purpose::Read { .. }) { Op::Read } else { Op::Write };
        self.under_way.insert(self.taken, purpose);
        self.taken += 1;
        let sectors = BLOCK / SECTOR;
        let asynchronous = op == Op::Write;
        Some(Request { id: 0, op, lba: Lba(place * sectors), sectors: (blocks * sectors) as u32, asynchronous })
    }

    fn waits_for_answers(&self) -> bool {
        true
    }

    fn begin(&mut self, warmup: Nanos, tables: Option<&Path>) -> Result<(), SimError> {
        self.book.begin(ModelNs::ZERO + warmup, tables)
    }

    fn web(&mut self) -> Result<Option<WebReport>, SimError> {
        self.report().map(Some)
    }

    fn completed(&mut self, completion: &Completion) {
        self.now = self.now.max(completion.done);
        let Some(Purpose::Read { visit, run }) = self.under_way.remove(&completion.request.id) else { return };
        run.blocks.clone().for_each(|block| self.memory.hold(block));
        if let Some(visit) = &mut self.visits[visit] {
            visit.served &= completion.served;
            visit.came(run.read, self.now);
        }
        if let Err(error) = self.go_on(visit) {
            self.failed = Some(error);
        }
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
