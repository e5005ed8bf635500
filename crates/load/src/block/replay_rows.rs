//! The requests of a canonical block trace that a replay plays, in order: a window, devices, operations, and of what is
//! left a share at equal distances (TRACER's intensity: the time axis stays as it is).

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use iojoule_record::Op;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::LoadError;
use crate::block::config::ReplayLoad;
use crate::columns::{Column, integers, sizes, strings, unsigned};

/// Requests decoded at a time.
pub(crate) const ROWS: usize = 4096;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its place in the table, from 0.
    pub number: u64,
    pub at_ns: i64,
    pub device: u32,
    pub op: Op,
    pub offset: u64,
    pub bytes: u64,
}

/// A share kept at equal distances, to a billionth: of the first n, ⌈n·share⌉ are kept, the first among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thinning {
    share: u64,
    /// What of a request the share of those that passed comes to beyond whole ones.
    part: u64,
}

impl Thinning {
    const WHOLE: u64 = 1_000_000_000;

    pub fn new(keep: f64) -> Result<Self, LoadError> {
        let share = (keep * Self::WHOLE as f64).round();
        if !(1.0..=Self::WHOLE as f64).contains(&share) {
            return Err(LoadError::config("keep", format!("{keep} is no share of the requests: above 0, up to 1")));
        }
        Ok(Self { share: share as u64, part: 0 })
    }

    /// Whether the next one is kept.
    #[inline]
    pub fn keeps(&mut self) -> bool {
        let kept = self.part == 0 || self.part + self.share > Self::WHOLE;
        self.part = (self.part + self.share) % Self::WHOLE;
        kept
    }
}

/// What was passed over, and why.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    /// Writes, trims and flushes of a replay that only reads.
    pub left_out: u64,
    /// Without bytes, though no flush: nothing would reach the device.
    pub empty: u64,
    /// By [`Thinning`].
    pub thinned: u64,
}

/// Reads a table; [`Rows::next`] gives each request that is played.
pub(crate) struct Rows {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    batch: Option<(Columns, usize)>,
    number: u64,
    last_ns: i64,
    devices: Option<Vec<u32>>,
    until_ns: i64,
    writes: bool,
    thinning: Thinning,
    /// Requests that may still be played.
    left: u64,
    pub passed: Passed,
}

struct Columns {
    at: Vec<i64>,
    device: Vec<u32>,
    op: Column,
    offset: Vec<u64>,
    bytes: Vec<u64>,
}

impl Rows {
    pub fn open(load: &ReplayLoad) -> Result<Self, LoadError> {
        Ok(Self {
            path: load.trace.clone(),
            reader: table(&load.trace, &["at_ns", "device", "op", "offset", "bytes"])?,
            batch: None,
            number: 0,
            last_ns: i64::MIN,
            devices: load.devices.clone(),
            until_ns: load.until_ns.unwrap_or(i64::MAX),
            writes: load.writes,
            thinning: Thinning::new(load.keep)?,
            left: load.max_requests.unwrap_or(u64::MAX),
            passed: Passed::default(),
        })
    }

    /// The next request played; none at the end.
    pub fn next(&mut self) -> Result<Option<Row>, LoadError> {
        while self.left > 0 {
            let Some(row) = self.read()? else { break };
            if row.at_ns < self.last_ns {
                let reason = format!("row {} is earlier than the row above it; sort the trace", row.number);
                return Err(LoadError::table(&self.path, reason));
            }
            self.last_ns = row.at_ns;
            if row.at_ns >= self.until_ns {
                break;
            }
            if self.devices.as_ref().is_some_and(|devices| !devices.contains(&row.device)) {
                continue;
            }
            if row.op != Op::Read && !self.writes {
                self.passed.left_out += 1;
            } else if row.op != Op::Flush && row.bytes == 0 {
                self.passed.empty += 1;
            } else if !self.thinning.keeps() {
                self.passed.thinned += 1;
            } else {
                self.left -= 1;
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> Result<Option<Row>, LoadError> {
        loop {
            if let Some((columns, i)) = &mut self.batch
                && *i < columns.at.len()
            {
                let row = Row {
                    number: self.number,
                    at_ns: columns.at[*i],
                    device: columns.device[*i],
                    op: operation(columns.op.at(*i)).ok_or_else(|| {
                        let reason = format!("row {}: {:?} is no operation", self.number, columns.op.at(*i));
                        LoadError::table(&self.path, reason)
                    })?,
                    offset: columns.offset[*i],
                    bytes: columns.bytes[*i],
                };
                *i += 1;
                self.number += 1;
                return Ok(Some(row));
            }
            match self.reader.next() {
                None => return Ok(None),
                Some(record) => {
                    let record = record.map_err(|e| LoadError::table(&self.path, e))?;
                    self.batch = Some((Columns::of(&record, &self.path)?, 0));
                }
            }
        }
    }
}

impl Columns {
    fn of(record: &RecordBatch, path: &Path) -> Result<Self, LoadError> {
        Ok(Self {
            at: integers(record, "at_ns", path)?,
            device: unsigned(record, "device", path)?,
            op: strings(record, "op", path)?,
            offset: sizes(record, "offset", path)?,
            bytes: sizes(record, "bytes", path)?,
        })
    }
}

fn operation(name: &str) -> Option<Op> {
    match name {
        "read" => Some(Op::Read),
        "write" => Some(Op::Write),
        "trim" => Some(Op::Trim),
        "flush" => Some(Op::Flush),
        _ => None,
    }
}

/// Some columns of a canonical trace.
fn table(path: &Path, names: &[&str]) -> Result<ParquetRecordBatchReader, LoadError> {
    let file = File::open(path).map_err(|e| LoadError::file(path, e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| {
        LoadError::table(path, format!("{e}; a canonical trace is wanted: `iojoule trace convert` makes one"))
    })?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
    builder.with_batch_size(ROWS).with_projection(mask).build().map_err(|e| LoadError::table(path, e))
}

/// The end of the highest request of the whole table on some devices, or on all: how large what it was taken on is
/// at least. The same whatever else is selected.
pub(crate) fn reach(path: &Path, devices: Option<&[u32]>) -> Result<u64, LoadError> {
    let mut reach = 0;
    for record in table(path, &["device", "offset", "bytes"])? {
        let record = record.map_err(|e| LoadError::table(path, e))?;
        let (device, offset) = (unsigned(&record, "device", path)?, sizes(&record, "offset", path)?);
        for ((device, offset), bytes) in device.iter().zip(offset).zip(sizes(&record, "bytes", path)?) {
            if devices.is_none_or(|devices| devices.contains(device)) {
                reach = reach.max(offset.saturating_add(bytes));
            }
        }
    }
    Ok(reach)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::block::replay_tables::{at, load, write};

    fn played(load: &ReplayLoad) -> Vec<u64> {
        let mut rows = Rows::open(load).unwrap();
        std::iter::from_fn(|| rows.next().unwrap()).map(|row| row.number).collect()
    }

    #[test]
    fn only_reads_are_played_unless_writes_are_allowed_and_the_rest_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let rows = [at(0, "write", 0, 512), at(1, "read", 0, 512), at(2, "trim", 0, 512), at(3, "flush", 0, 0)];
        let mut load = load(&write(folder.path(), &rows));
        let mut reading = Rows::open(&load).unwrap();
        assert_eq!(reading.next().unwrap().unwrap().number, 1);
        assert_eq!((reading.next().unwrap(), reading.passed.left_out), (None, 3));
        load.writes = true;
        assert_eq!(played(&load), [0, 1, 2, 3]);
    }

    #[test]
    fn a_request_without_bytes_is_left_out_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let load = load(&write(folder.path(), &[at(0, "read", 512, 0), at(1, "read", 0, 512)]));
        let mut rows = Rows::open(&load).unwrap();
        assert_eq!(rows.next().unwrap().unwrap().number, 1);
        assert_eq!(rows.passed.empty, 1);
    }

    #[test]
    fn a_window_a_count_and_devices_select() {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<_> = (0..10).map(|i| Row { device: (i % 2) as u32, ..at(i * 10, "read", 0, 512) }).collect();
        let all = load(&write(folder.path(), &rows));
        assert_eq!(played(&ReplayLoad { until_ns: Some(30), ..all.clone() }), [0, 1, 2]);
        assert_eq!(played(&ReplayLoad { max_requests: Some(2), ..all.clone() }), [0, 1]);
        let odd = ReplayLoad { devices: Some(vec![1]), max_requests: Some(2), ..all };
        assert_eq!(played(&odd), [1, 3]);
    }

    #[test]
    fn thinning_does_not_fall_into_step_with_writes_that_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<_> = (0..8).map(|i| at(i, if i % 2 == 0 { "read" } else { "write" }, 0, 512)).collect();
        let half = ReplayLoad { keep: 0.5, ..load(&write(folder.path(), &rows)) };
        assert_eq!(played(&half), [0, 4]);
    }

    #[test]
    fn a_trace_out_of_order_and_a_file_that_is_none_say_what_helps() {
        let folder = tempfile::tempdir().unwrap();
        let load = load(&write(folder.path(), &[at(5, "read", 0, 512), at(4, "read", 0, 512)]));
        let mut rows = Rows::open(&load).unwrap();
        rows.next().unwrap();
        assert!(rows.next().unwrap_err().to_string().contains("row 1 is earlier than the row above it"));
        std::fs::write(&load.trace, "0 0 0 8 1\n").unwrap();
        assert!(Rows::open(&load).err().unwrap().to_string().contains("iojoule trace convert"));
    }

    #[test]
    fn a_share_of_nothing_or_of_more_than_all_is_refused() {
        for keep in [0.0, -1.0, 1.5, f64::NAN] {
            assert!(Thinning::new(keep).is_err(), "{keep}");
        }
    }

    proptest! {
        #[test]
        fn thinning_keeps_the_exact_share_at_equal_distances(per_mille in 1u64..=1000, n in 1u64..5000) {
            let mut thinning = Thinning::new(per_mille as f64 / 1000.0).unwrap();
            let kept: Vec<u64> = (0..n).filter(|_| thinning.keeps()).collect();
            prop_assert_eq!(kept.len() as u64, (n * per_mille).div_ceil(1000));
            let distances: Vec<u64> = kept.windows(2).map(|two| two[1] - two[0]).collect();
            let (least, most) = (1000 / per_mille, 1000_u64.div_ceil(per_mille));
            prop_assert!(distances.iter().all(|d| (least..=most).contains(d)));
        }
    }
}
