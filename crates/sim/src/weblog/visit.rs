//! One web request on its way through a file: first the metadata, then the data in reads of a fixed size, so many
//! under way at once. It asks memory for each block when its read's turn has come.

use std::ops::Range;

use iojoule_units::ModelNs;

use super::files::{File, Files};
use super::memory::Memory;
use super::table::Row;

/// Blocks that lie together on the array and are read as one: part of a read of the visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Where on the array, in blocks.
    pub place: u64,
    /// As memory knows them.
    pub blocks: Range<u64>,
    /// The read it is part of: the number of its first block.
    pub read: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub row: Row,
    pub number: u64,
    pub arrived: ModelNs,
    /// The first request to the array; `None` while memory answers.
    pub issued: Option<ModelNs>,
    /// The first read, or the metadata where that is all, is there.
    pub first: Option<ModelNs>,
    pub last: ModelNs,
    pub bytes: u64,
    pub served: bool,
    file: File,
    /// Empty once it has been asked for.
    metadata: Range<u64>,
    data: Range<u64>,
    /// Blocks of both.
    blocks: u64,
    /// First block of the next read.
    next: u64,
    /// Reads under way: their first block, and the runs that have not come.
    under_way: Vec<(u64, u32)>,
}

/// How a server reads files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Blocks.
    pub read: u64,
    pub ahead: usize,
}

impl Visit {
    /// `bytes` of the file are wanted; 0 where its metadata is.
    pub fn new(row: Row, number: u64, arrived: ModelNs, files: &Files, file: File, bytes: u64) -> Self {
        let (metadata, data) = files.blocks(file, bytes);
        let (next, blocks) = (data.start, metadata.end - metadata.start + data.end - data.start);
        Self {
            row,
            number,
            arrived,
            issued: None,
            first: None,
            last: arrived,
            bytes: bytes.min(file.bytes),
            served: true,
            file,
            metadata,
            data,
            blocks,
            next,
            under_way: Vec::new(),
        }
    }

    /// Blocks it needs, from wherever.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Goes on as far as memory and the reads under way allow; `runs` takes what must be read. True when all is there.
    pub fn go_on(
        &mut self,
        now: ModelNs,
        reading: Reading,
        files: &Files,
        memory: &mut Memory,
        runs: &mut Vec<Run>,
    ) -> bool {
        if !self.metadata.is_empty() {
            let metadata = std::mem::replace(&mut self.metadata, 0..0);
            self.read(metadata, files, memory, runs);
        }
        let metadata_under_way = self.under_way.first().is_some_and(|(read, _)| *read < self.data.start);
        while !metadata_under_way && self.under_way.len() < reading.ahead && self.next < self.data.end {
            let read = self.next..self.data.end.min(self.next + reading.read);
            self.next = read.end;
            self.read(read, files, memory, runs);
            if self.under_way.is_empty() {
                self.first.get_or_insert(now);
            }
        }
        if !runs.is_empty() {
            self.issued.get_or_insert(now);
        }
        let there = self.under_way.is_empty() && self.next == self.data.end;
        if there {
            self.first.get_or_insert(now);
            self.last = now;
        }
        there
    }

    /// A run of the given read has come.
    pub fn came(&mut self, read: u64, now: ModelNs) {
        let Some(at) = self.under_way.iter().position(|(first, _)| *first == read) else { return };
        self.under_way[at].1 -= 1;
        if self.under_way[at].1 == 0 {
            self.under_way.remove(at);
            if read == self.data.start && !self.data.is_empty() {
                self.first.get_or_insert(now);
            }
        }
    }

    /// Puts the blocks that memory lacks into runs.
    fn read(&mut self, blocks: Range<u64>, files: &Files, memory: &mut Memory, runs: &mut Vec<Run>) {
        let (read, had) = (blocks.start, runs.len());
        let mut room = 0;
        for block in blocks {
            if memory.touch(block) {
                room = 0;
            } else if room > 0
                && let Some(run) = runs.last_mut()
            {
                run.blocks.end = block + 1;
                room -= 1;
            } else {
                let (place, follow) = files.place_of(self.file, block);
                runs.push(Run { place, blocks: block..block + 1, read });
                room = follow - 1;
            }
        }
        if runs.len() > had {
            self.under_way.push((read, (runs.len() - had) as u32));
        }
    }
}
