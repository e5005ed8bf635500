//! Kept requests in time order, whatever order the log has, in bounded memory: sorted pieces of 2^19 records go to
//! unnamed files and are merged. Requests of one second keep the order of their lines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

/// Records in memory at once: 16 MiB and the sort's own.
const PIECE: usize = 1 << 19;
const RECORD_BYTES: usize = 40;
/// Buffer of one file while it is merged.
const MERGE_BUFFER: usize = 64 * 1024;

/// One kept request. The order of the fields is the order of the sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kept {
    pub utc_s: i64,
    pub line: u64,
    /// [`Kept::NO_SIZE`] where the log has none.
    pub size: i64,
    pub object: u32,
    pub client: u32,
    pub status: u16,
    pub method: u8,
}

impl Kept {
    pub const NO_SIZE: i64 = -1;

    fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut out = [0u8; RECORD_BYTES];
        out[..8].copy_from_slice(&self.utc_s.to_le_bytes());
        out[8..16].copy_from_slice(&self.line.to_le_bytes());
        out[16..24].copy_from_slice(&self.size.to_le_bytes());
        out[24..28].copy_from_slice(&self.object.to_le_bytes());
        out[28..32].copy_from_slice(&self.client.to_le_bytes());
        out[32..34].copy_from_slice(&self.status.to_le_bytes());
        out[34] = self.method;
        out
    }

    fn from_bytes(b: &[u8; RECORD_BYTES]) -> Self {
        let eight = |at: usize| [b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6], b[at + 7]];
        let four = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        Self {
            utc_s: i64::from_le_bytes(eight(0)),
            line: u64::from_le_bytes(eight(8)),
            size: i64::from_le_bytes(eight(16)),
            object: four(24),
            client: four(28),
            status: u16::from_le_bytes([b[32], b[33]]),
            method: b[34],
        }
    }
}

pub(crate) struct Sorter<'a> {
    folder: &'a Path,
    piece: usize,
    open: Vec<Kept>,
    files: Vec<File>,
}

impl<'a> Sorter<'a> {
    /// `folder` takes the unnamed files.
    pub fn new(folder: &'a Path) -> Self {
        Self { folder, piece: PIECE, open: Vec::new(), files: Vec::new() }
    }

    pub fn push(&mut self, kept: Kept) -> io::Result<()> {
        self.open.push(kept);
        if self.open.len() < self.piece {
            return Ok(());
        }
        self.open.sort_unstable();
        let mut out = BufWriter::new(tempfile::tempfile_in(self.folder)?);
        for kept in self.open.drain(..) {
            out.write_all(&kept.to_bytes())?;
        }
        self.files.push(out.into_inner().map_err(|e| e.into_error())?);
        Ok(())
    }

    /// The records, ascending.
    pub fn finish(mut self) -> io::Result<Merged> {
        self.open.sort_unstable();
        let mut runs = vec![Run::Memory(self.open.into_iter())];
        for mut file in self.files {
            file.rewind()?;
            runs.push(Run::File(BufReader::with_capacity(MERGE_BUFFER, file)));
        }
        let mut heads = BinaryHeap::new();
        for (at, run) in runs.iter_mut().enumerate() {
            heads.extend(run.next()?.map(|kept| Reverse((kept, at))));
        }
        Ok(Merged { runs, heads })
    }
}

enum Run {
    Memory(std::vec::IntoIter<Kept>),
    File(BufReader<File>),
}

impl Run {
    fn next(&mut self) -> io::Result<Option<Kept>> {
        match self {
            Self::Memory(records) => Ok(records.next()),
            Self::File(file) => {
                let mut bytes = [0u8; RECORD_BYTES];
                match file.read_exact(&mut bytes) {
                    Ok(()) => Ok(Some(Kept::from_bytes(&bytes))),
                    Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                    Err(e) => Err(e),
                }
            }
        }
    }
}

pub(crate) struct Merged {
    runs: Vec<Run>,
    heads: BinaryHeap<Reverse<(Kept, usize)>>,
}

impl Merged {
    pub fn next(&mut self) -> io::Result<Option<Kept>> {
        let Some(Reverse((kept, at))) = self.heads.pop() else { return Ok(None) };
        self.heads.extend(self.runs[at].next()?.map(|next| Reverse((next, at))));
        Ok(Some(kept))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_on_disk_sort_as_one(times in proptest::collection::vec(-5i64..50, 0..200), piece in 1usize..40) {
            let folder = tempfile::tempdir().unwrap();
            let mut sorter = Sorter { piece, ..Sorter::new(folder.path()) };
            let kept = |(line, &utc_s): (usize, &i64)| Kept {
                utc_s, line: line as u64, size: utc_s - 3, object: line as u32, client: 7, status: 404, method: 200,
            };
            let mut expected: Vec<Kept> = times.iter().enumerate().map(kept).collect();
            for &kept in &expected {
                sorter.push(kept).unwrap();
            }
            expected.sort_by_key(|k| k.utc_s);
            let mut merged = sorter.finish().unwrap();
            let sorted: Vec<Kept> = std::iter::from_fn(|| merged.next().unwrap()).collect();
            prop_assert_eq!(sorted, expected);
        }
    }
}
