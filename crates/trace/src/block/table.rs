//! The canonical table of a block trace, `blocktrace` version 1, as Parquet: `at_ns i64, device u32,
//! op dictionary(read|write|trim|flush), offset u64, bytes u64, asynchronous bool?, response_ns i64?`, in time order.
//! Written under a temporary name and moved into place, so that a reader never sees half of one.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use iojoule_record::{Op, RecordError, TableWriter};

use super::{Record, TraceError};
use crate::staged::Staged;

/// Rows written at once.
const BATCH: usize = 64 * 1024;
/// The operations of a block trace: the first of [`Op`].
pub(crate) const OPS: usize = 4;

/// A file in the making; an existing `target` is an error unless `force`.
pub(crate) fn stage(target: &Path, force: bool) -> Result<Staged, TraceError> {
    if !force && target.exists() {
        return Err(TraceError::Exists { path: target.to_owned() });
    }
    Ok(Staged::new(target))
}

/// The columns of the table.
pub fn schema() -> SchemaRef {
    let op = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("at_ns", DataType::Int64, false),
        Field::new("device", DataType::UInt32, false),
        Field::new("op", op, false),
        Field::new("offset", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("asynchronous", DataType::Boolean, true),
        Field::new("response_ns", DataType::Int64, true),
    ]))
}

/// Writes requests in time order. Nothing stands at the target before [`Writer::close`].
pub struct Writer {
    staged: Staged,
    table: TableWriter,
    schema: SchemaRef,
    rows: Vec<Record>,
}

impl Writer {
    /// `metadata` joins what marks the table; keys in use: `iojoule.source`, `iojoule.devices` (JSON texts). An
    /// existing file is an error unless `force`.
    pub fn create(target: &Path, metadata: &[(String, String)], force: bool) -> Result<Self, TraceError> {
        let staged = stage(target, force)?;
        let schema = schema();
        let marks = [("iojoule.kind", "blocktrace"), ("iojoule.version", "1")];
        let mut all: Vec<(String, String)> = marks.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        all.extend_from_slice(metadata);
        let table = TableWriter::create(&staged.temporary, schema.clone(), &all)?;
        Ok(Self { staged, table, schema, rows: Vec::with_capacity(BATCH) })
    }

    /// Adds a request, not earlier than the one before.
    pub fn push(&mut self, record: Record) -> Result<(), TraceError> {
        self.rows.push(record);
        if self.rows.len() == BATCH { self.flush() } else { Ok(()) }
    }

    /// Completes the file and moves it to its name.
    pub fn close(mut self) -> Result<(), TraceError> {
        self.flush()?;
        self.table.close()?;
        self.staged.publish(TraceError::io)
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        let batch = batch(&self.schema, &self.rows).map_err(|e: ArrowError| {
            TraceError::Record(RecordError::Parquet { path: self.staged.target.clone(), source: e.into() })
        })?;
        self.table.write(&batch)?;
        self.rows.clear();
        Ok(())
    }
}

fn batch(schema: &SchemaRef, rows: &[Record]) -> Result<RecordBatch, ArrowError> {
    let keys = Int8Array::from_iter_values(rows.iter().map(|r| r.op as i8));
    let names = Arc::new(StringArray::from(Op::NAMES[..OPS].to_vec()));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.at.0))),
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.device))),
        Arc::new(DictionaryArray::<Int8Type>::try_new(keys, names)?),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.offset))),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.bytes))),
        Arc::new(rows.iter().map(|r| r.asynchronous).collect::<BooleanArray>()),
        Arc::new(rows.iter().map(|r| r.response.map(|r| r.0)).collect::<Int64Array>()),
    ];
    RecordBatch::try_new(schema.clone(), columns)
}
