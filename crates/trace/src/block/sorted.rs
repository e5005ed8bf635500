//! Requests of any order brought into time order in bounded memory: sorted runs go to unnamed files and are merged.
//! Requests of one time keep their order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::PathBuf;

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::reader::Merged;
use super::{Notes, Options, Reader, Record, TraceError};

/// Requests of one run: 48 MiB in memory and the sort's own.
const RUN: usize = 1 << 20;
const MERGE_BUFFER: usize = 64 * 1024;
const BYTES: usize = 40;
/// Runs merged at once; more are merged in rounds, so that no process runs out of file handles.
const FAN_IN: usize = 128;

fn to_bytes(record: &Record) -> [u8; BYTES] {
    let mut out = [0; BYTES];
    out[..8].copy_from_slice(&record.at.0.to_le_bytes());
    out[8..16].copy_from_slice(&record.offset.to_le_bytes());
    out[16..24].copy_from_slice(&record.bytes.to_le_bytes());
    out[24..32].copy_from_slice(&record.response.map_or(i64::MIN, |r| r.0).to_le_bytes());
    out[32..36].copy_from_slice(&record.device.to_le_bytes());
    out[36] = record.op as u8;
    out[37] = record.asynchronous.map_or(2, u8::from);
    out
}

fn from_bytes(b: &[u8; BYTES]) -> Record {
    let eight = |at: usize| [b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6], b[at + 7]];
    let response = i64::from_le_bytes(eight(24));
    Record {
        at: Nanos(i64::from_le_bytes(eight(0))),
        device: u32::from_le_bytes([b[32], b[33], b[34], b[35]]),
        op: Op::ALL[usize::from(b[36])],
        offset: u64::from_le_bytes(eight(8)),
        bytes: u64::from_le_bytes(eight(16)),
        asynchronous: (b[37] < 2).then_some(b[37] == 1),
        response: (response != i64::MIN).then_some(Nanos(response)),
    }
}

/// A whole trace, sorted.
pub(crate) struct Sorted {
    merged: Merged,
    runs: Runs,
    origin: Option<i64>,
    late: u64,
}

impl Sorted {
    /// Reads `merged` to its end.
    pub fn new(mut merged: Merged, options: &Options) -> Result<Self, TraceError> {
        let folder = options.sort_folder.clone().unwrap_or_else(std::env::temp_dir);
        let failed = |e: io::Error, folder: &PathBuf| TraceError::Io { path: folder.clone(), source: e };
        let mut sorter = Sorter { folder: folder.clone(), run: RUN, open: Vec::new(), files: Vec::new() };
        let (mut last, mut late) = (i64::MIN, 0);
        while let Some(record) = merged.step()? {
            late += u64::from(record.at.0 < last);
            last = record.at.0;
            sorter.push(record).map_err(|e| failed(e, &folder))?;
        }
        let runs = sorter.finish().map_err(|e| failed(e, &folder))?;
        Ok(Self { merged, runs, origin: None, late })
    }
}

impl Iterator for Sorted {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.runs.next() {
            Ok(record) => {
                let mut record = record?;
                let origin = *self.origin.get_or_insert(record.at.0);
                self.merged.set_origin(origin);
                record.at = Nanos(record.at.0 - origin);
                self.merged.saw(&record);
                Some(Ok(record))
            }
            Err(e) => Some(Err(TraceError::io(self.merged.first_path(), e))),
        }
    }
}

impl Reader for Sorted {
    fn notes(&self) -> Notes {
        Notes { late: self.late, ..self.merged.notes() }
    }
}

struct Sorter {
    folder: PathBuf,
    run: usize,
    open: Vec<Record>,
    files: Vec<File>,
}

impl Sorter {
    fn push(&mut self, record: Record) -> io::Result<()> {
        self.open.push(record);
        if self.open.len() < self.run {
            return Ok(());
        }
        self.open.sort_by_key(|r| r.at);
        let records = std::mem::take(&mut self.open);
        let file = self.write(records.iter().map(|r| Ok(*r)))?;
        self.files.push(file);
        self.open = records;
        self.open.clear();
        if self.files.len() == FAN_IN { self.round() } else { Ok(()) }
    }

    fn write(&self, records: impl Iterator<Item = io::Result<Record>>) -> io::Result<File> {
        let mut out = BufWriter::with_capacity(MERGE_BUFFER, tempfile::tempfile_in(&self.folder)?);
        for record in records {
            out.write_all(&to_bytes(&record?))?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)
    }

    /// Makes one file of all.
    fn round(&mut self) -> io::Result<()> {
        let mut runs = Runs::new(std::mem::take(&mut self.files), Vec::new())?;
        let file = self.write(std::iter::from_fn(|| runs.next().transpose()))?;
        self.files.push(file);
        Ok(())
    }

    fn finish(mut self) -> io::Result<Runs> {
        self.open.sort_by_key(|r| r.at);
        Runs::new(self.files, self.open)
    }
}

/// Sorted runs merged; of equal times the earlier run's come first.
struct Runs {
    runs: Vec<Run>,
    heads: BinaryHeap<Reverse<(i64, usize)>>,
    next: Vec<Option<Record>>,
}

enum Run {
    File(BufReader<File>),
    Memory(std::vec::IntoIter<Record>),
}

impl Run {
    fn next(&mut self) -> io::Result<Option<Record>> {
        match self {
            Self::Memory(records) => Ok(records.next()),
            Self::File(file) => {
                let mut bytes = [0; BYTES];
                match file.read_exact(&mut bytes) {
                    Ok(()) => Ok(Some(from_bytes(&bytes))),
                    Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                    Err(e) => Err(e),
                }
            }
        }
    }
}

impl Runs {
    fn new(files: Vec<File>, memory: Vec<Record>) -> io::Result<Self> {
        let mut runs = Vec::new();
        for mut file in files {
            file.rewind()?;
            runs.push(Run::File(BufReader::with_capacity(MERGE_BUFFER, file)));
        }
        runs.push(Run::Memory(memory.into_iter()));
        let mut merged = Self { next: vec![None; runs.len()], heads: BinaryHeap::new(), runs };
        for at in 0..merged.runs.len() {
            merged.draw(at)?;
        }
        Ok(merged)
    }

    fn draw(&mut self, at: usize) -> io::Result<()> {
        self.next[at] = self.runs[at].next()?;
        self.heads.extend(self.next[at].map(|record| Reverse((record.at.0, at))));
        Ok(())
    }

    fn next(&mut self) -> io::Result<Option<Record>> {
        let Some(Reverse((_, at))) = self.heads.pop() else { return Ok(None) };
        let record = self.next[at].take();
        self.draw(at)?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_on_disk_sort_as_one_stable_sort(times in proptest::collection::vec(0i64..50, 0..400), run in 1usize..9) {
            let mut sorter = Sorter { folder: std::env::temp_dir(), run, open: Vec::new(), files: Vec::new() };
            let mut expected: Vec<Record> = times.iter().enumerate().map(|(i, &at)| Record {
                at: Nanos(at), device: i as u32, op: Op::ALL[i % 4], offset: u64::MAX - i as u64, bytes: 512 * i as u64,
                asynchronous: [None, Some(false), Some(true)][i % 3], response: (i % 2 == 0).then_some(Nanos(i as i64)),
            }).collect();
            for &record in &expected {
                sorter.push(record).unwrap();
            }
            expected.sort_by_key(|r| r.at);
            let mut runs = sorter.finish().unwrap();
            let sorted: Vec<Record> = std::iter::from_fn(|| runs.next().unwrap()).collect();
            prop_assert_eq!(sorted, expected);
        }
    }
}
