//! The stage of the block tests: a file to drive, a run folder, and the table that was recorded.
#![allow(dead_code, reason = "every test file is a program of its own and uses a part of this")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use iojoule_load::block::{BlockConfig, BlockSummary, block};
use iojoule_load::{Control, LoadError};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use tempfile::TempDir;

pub const MS: i64 = 1_000_000;

/// One recorded request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub seq: u64,
    pub phase: String,
    pub planned_ns: i64,
    pub issued_ns: i64,
    pub done_ns: i64,
    pub op: String,
    pub object: u32,
    pub offset: u64,
    pub bytes: u64,
    pub status: u16,
    pub error: String,
    pub stream: u32,
}

/// A folder that holds the files to drive and, as `run`, the run folder.
pub struct Stage(pub TempDir);

impl Stage {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self::clear(folder.path());
        Self(folder)
    }

    fn clear(folder: &Path) {
        let run = folder.join("run");
        let _ = fs::remove_dir_all(&run);
        for name in ["tables", "hist"] {
            fs::create_dir_all(run.join(name)).unwrap();
        }
    }

    /// A file whose every byte is 0x5a.
    pub fn file(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, vec![0x5a; bytes]).unwrap();
        path
    }

    /// A synthetic load against one file of 1 MiB, 4 KiB random reads, buffered; `more` overrides, and so does `work`
    /// inside the work.
    pub fn config(&self, work: Value, more: Value) -> Value {
        let path = self.0.path().join("file");
        if !path.exists() {
            self.file("file", 1 << 20);
        }
        let mut load = json!({"kind": "synthetic", "pattern": {"kind": "random"}, "sizes": [{"bytes": 4096}]});
        merge(&mut load, work);
        let mut config = json!({
            "run": self.0.path().join("run"), "work": load, "start_delay_ns": 0, "drain_ns": 2_000 * MS,
            "target": {"kind": "files", "files": [{"path": path}], "direct": false, "writable": true},
        });
        merge(&mut config, more);
        config
    }

    pub fn try_run(&self, config: &Value, control: &Control) -> Result<(BlockSummary, Vec<Row>), LoadError> {
        Self::clear(self.0.path());
        let config: BlockConfig = serde_json::from_value(config.clone()).unwrap();
        let summary = block(&config, Arc::default(), control)?;
        Ok((summary, self.rows()))
    }

    pub fn run(&self, work: Value, more: Value) -> (BlockSummary, Vec<Row>) {
        self.try_run(&self.config(work, more), &Control::new()).unwrap()
    }

    /// What was recorded, by `seq`.
    pub fn rows(&self) -> Vec<Row> {
        let file = File::open(self.0.path().join("run/tables/requests.parquet")).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let mut rows: Vec<Row> = reader.flat_map(|batch| rows_of(&batch.unwrap())).collect();
        rows.sort_by_key(|row| row.seq);
        rows
    }
}

fn merge(into: &mut Value, more: Value) {
    for (key, value) in more.as_object().unwrap() {
        into[key] = value.clone();
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let text = |name: &str, i: usize| {
        let dictionary = column(name).as_any_dictionary();
        dictionary.values().as_string::<i32>().value(dictionary.normalized_keys()[i]).to_owned()
    };
    let int = |name: &str, i: usize| column(name).as_primitive::<Int64Type>().value(i);
    let long = |name: &str, i: usize| column(name).as_primitive::<UInt64Type>().value(i);
    let short = |name: &str, i: usize| column(name).as_primitive::<UInt32Type>().value(i);
    assert_eq!(column("first_byte_ns").null_count(), batch.num_rows());
    (0..batch.num_rows())
        .map(|i| Row {
            seq: long("seq", i),
            phase: text("phase", i),
            planned_ns: int("planned_ns", i),
            issued_ns: int("issued_ns", i),
            done_ns: int("done_ns", i),
            op: text("op", i),
            object: short("object", i),
            offset: long("offset", i),
            bytes: long("bytes", i),
            status: column("status").as_primitive::<UInt16Type>().value(i),
            error: text("error", i),
            stream: short("stream", i),
        })
        .collect()
}
