//! The memory cache in front of the drives. Reads it holds are answered from memory; writes go through, and those nobody
//! waits for may be held back and written together at intervals, as a file system's sync daemon does.
//! Yu et al., OSDI 2000, §4.1 (Fig. 11).

use iojoule_disk::Op;
use iojoule_units::{Lba, ModelNs, Nanos};

use super::Engine;
use super::agenda::Event;
use super::job::Kind;
use crate::cache::Lru;
use crate::{CacheConfig, Request};

#[derive(Debug)]
pub(super) struct Front {
    config: CacheConfig,
    lru: Lru,
    /// Blocks that were made dirty since the last flush; some may be clean again.
    held: Vec<u64>,
    /// A flush is on the agenda.
    flush_due: bool,
}

/// What memory makes of a request.
enum Verdict {
    /// Answered.
    Hit,
    /// The drives serve these sectors.
    Through { lba: Lba, sectors: u32 },
}

impl Front {
    pub fn new(config: CacheConfig) -> Self {
        Self { config, lru: Lru::new(config.blocks), held: Vec::new(), flush_due: false }
    }

    /// Blocks the request touches, and those it covers wholly.
    fn blocks(&self, lba: Lba, sectors: u32) -> (std::ops::Range<u64>, std::ops::Range<u64>) {
        let block = u64::from(self.config.block);
        let end = lba.0 + u64::from(sectors);
        let (first, last) = (lba.0 / block, end.div_ceil(block));
        let whole = lba.0.div_ceil(block)..(end / block).max(lba.0.div_ceil(block));
        (first..last, whole)
    }

    fn read(&mut self, request: &Request, capacity: u64) -> Verdict {
        let (touched, _) = self.blocks(request.lba, request.sectors);
        let mut missing: Option<(u64, u64)> = None;
        for block in touched {
            if !self.lru.touch(block) {
                missing = Some((missing.map_or(block, |(first, _)| first), block + 1));
            }
        }
        let Some((first, end)) = missing else { return Verdict::Hit };
        let block = u64::from(self.config.block);
        let (from, to) = (first * block, (end * block).min(capacity));
        Verdict::Through { lba: Lba(from), sectors: (to - from) as u32 }
    }

    /// The blocks this write drives out of memory are added to `evicted`.
    fn write(&mut self, request: &Request, evicted: &mut Vec<u64>) -> Verdict {
        let (touched, whole) = self.blocks(request.lba, request.sectors);
        let held = request.asynchronous && self.config.flush_ns.is_some() && touched == whole;
        for block in whole {
            if !self.lru.is_dirty(block) && held {
                self.held.push(block);
            }
            evicted.extend(self.lru.insert(block, held));
            if !held {
                self.lru.mark(block, false);
            }
        }
        if held { Verdict::Hit } else { Verdict::Through { lba: request.lba, sectors: request.sectors } }
    }
}

impl Engine {
    /// Asks memory first. The job is answered, or begun on what memory lacks.
    pub(super) fn through_memory(&mut self, now: ModelNs, job: u32) {
        let capacity = self.layout.capacity();
        let Some(front) = &mut self.front else { return self.carry_out(now, job) };
        let request = self.jobs[job].request;
        let mut evicted = Vec::new();
        let verdict = match request.op {
            Op::Read => front.read(&request, capacity),
            Op::Write => front.write(&request, &mut evicted),
        };
        let flush_at = front.config.flush_ns.filter(|_| !front.held.is_empty() && !front.flush_due);
        if let Some(interval) = flush_at {
            front.flush_due = true;
            self.agenda.push(ModelNs((now.0 / interval + 1) * interval), Event::Flush);
        }
        let hit_time = Nanos(front.config.hit_ns);
        match verdict {
            Verdict::Hit => {
                self.counters.cache_hits += 1;
                self.jobs[job].started = now;
                self.agenda.push(now + hit_time, Event::Answer { job });
            }
            Verdict::Through { lba, sectors } => {
                self.counters.cache_misses += 1;
                (self.jobs[job].lba, self.jobs[job].sectors) = (lba, sectors);
                self.carry_out(now, job);
            }
        }
        for block in evicted {
            self.write_back(now, block, 1);
        }
    }

    /// What the drives have read stays in memory.
    pub(super) fn remember(&mut self, now: ModelNs, lba: Lba, sectors: u32) {
        let Some(front) = &mut self.front else { return };
        let (touched, _) = front.blocks(lba, sectors);
        let mut evicted = Vec::new();
        for block in touched {
            evicted.extend(front.lru.insert(block, false));
        }
        for block in evicted {
            self.write_back(now, block, 1);
        }
    }

    /// Writes everything held back, neighbours together.
    pub(super) fn flush(&mut self, now: ModelNs) {
        let Some(front) = &mut self.front else { return };
        front.flush_due = false;
        let mut held = std::mem::take(&mut front.held);
        held.retain(|block| front.lru.is_dirty(*block));
        held.sort_unstable();
        held.dedup();
        for block in &held {
            front.lru.mark(*block, false);
        }
        for run in held.chunk_by(|a, b| a + 1 == *b) {
            self.write_back(now, run[0], run.len() as u64);
        }
        held.clear();
        if let Some(front) = &mut self.front {
            front.held = held;
        }
    }

    fn write_back(&mut self, now: ModelNs, first: u64, blocks: u64) {
        let Some(front) = &self.front else { return };
        self.counters.cache_written_back += blocks;
        let block = u64::from(front.config.block);
        let (from, to) = (first * block, ((first + blocks) * block).min(self.layout.capacity()));
        let sectors = to.saturating_sub(from) as u32;
        let request = Request { id: 0, op: Op::Write, lba: Lba(from), sectors, asynchronous: true };
        let job = self.jobs.add(Kind::WriteBack, request, now);
        self.carry_out(now, job);
    }
}
