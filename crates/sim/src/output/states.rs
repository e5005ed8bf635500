//! `tables/states.parquet`: the state of each drive over time, and what it draws there where the drive's power is known.
//! The spans of a drive touch: together they cover the run.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray, UInt16Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use iojoule_record::TableWriter;
use iojoule_units::{ModelNs, Watts};

use super::{BATCH, COMMIT_EVERY, simulated};
use crate::SimError;

/// Version of the `states` table; raised when a column changes.
const SCHEMA_VERSION: &str = "1";

/// One drive in one state from `start` to `end`; `state` is an index into the names the table was made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub drive: u16,
    pub start: ModelNs,
    pub end: ModelNs,
    pub state: u8,
    pub watts: Option<Watts>,
}

/// A row per span of a drive.
pub struct StatesTable {
    table: TableWriter,
    schema: SchemaRef,
    names: StringArray,
    rows: Vec<Span>,
    batches: u32,
}

impl StatesTable {
    pub fn create(path: &Path, names: &[&'static str]) -> Result<Self, SimError> {
        let state = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        let fields = vec![
            Field::new("drive", DataType::UInt16, false),
            Field::new("start_ns", DataType::Int64, false),
            Field::new("end_ns", DataType::Int64, false),
            Field::new("state", state, false),
            Field::new("watts", DataType::Float64, true),
        ];
        let version = ("iojoule.schema_version".to_owned(), SCHEMA_VERSION.to_owned());
        let schema = simulated(&Schema::new_with_metadata(fields, [version]));
        let table = TableWriter::create(path, schema.clone(), &[])?;
        let names = StringArray::from(names.to_vec());
        Ok(Self { table, schema, names, rows: Vec::with_capacity(BATCH), batches: 0 })
    }

    /// Adds a span.
    #[inline]
    pub fn add(&mut self, span: Span) -> Result<(), SimError> {
        self.rows.push(span);
        if self.rows.len() == BATCH { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), SimError> {
        let internal = |e: arrow_schema::ArrowError| SimError::Internal(e.to_string());
        let keys: Int8Array = self.rows.iter().map(|r| Some(r.state as i8)).collect();
        let states = DictionaryArray::<Int8Type>::try_new(keys, Arc::new(self.names.clone())).map_err(internal)?;
        let watts: Float64Array = self.rows.iter().map(|r| r.watts.map(|w| w.0)).collect();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt16Array::from_iter_values(self.rows.iter().map(|r| r.drive))),
            Arc::new(Int64Array::from_iter_values(self.rows.iter().map(|r| r.start.0))),
            Arc::new(Int64Array::from_iter_values(self.rows.iter().map(|r| r.end.0))),
            Arc::new(states),
            Arc::new(watts),
        ];
        self.table.write(&RecordBatch::try_new(self.schema.clone(), columns).map_err(internal)?)?;
        self.rows.clear();
        self.batches += 1;
        if self.batches.is_multiple_of(COMMIT_EVERY) { Ok(self.table.commit()?) } else { Ok(()) }
    }

    /// Writes what is gathered, and the end of the file.
    pub fn close(mut self) -> Result<(), SimError> {
        self.write()?;
        Ok(self.table.close()?)
    }
}
