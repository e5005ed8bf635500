//! Canonical traces for tests.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use iojoule_record::Op;
use parquet::arrow::ArrowWriter;

use crate::block::config::ReplayLoad;
use crate::block::replay_rows::Row;

/// A request of device 0.
pub(crate) fn at(at_ns: i64, op: &str, offset: u64, bytes: u64) -> Row {
    let op = Op::ALL[Op::NAMES.iter().position(|name| *name == op).unwrap()];
    Row { number: 0, at_ns, device: 0, op, offset, bytes }
}

/// Writes `trace.parquet` into a folder.
pub(crate) fn write(folder: &Path, rows: &[Row]) -> PathBuf {
    let path = folder.join("trace.parquet");
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("at_ns", Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.at_ns)))),
        ("device", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.device)))),
        ("op", Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r.op.name())))),
        ("offset", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.offset)))),
        ("bytes", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.bytes)))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

/// All of its reads, at its own times.
pub(crate) fn load(trace: &Path) -> ReplayLoad {
    serde_json::from_value(serde_json::json!({ "trace": trace })).unwrap()
}
