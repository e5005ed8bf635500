//! The canonical Parquet table as input.
//!
//! Source: [`super::super::table`].

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use iojoule_record::Op;
use iojoule_units::Nanos;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::super::fault::{Fault, Stop};
use super::super::parse::Parse;
use super::super::table::{OPS, schema};
use super::super::{Record, TimeUnit};
use super::{Format, Head, Open};

pub static FORMAT: Format = Format {
    name: "parquet",
    title: "the canonical table",
    extensions: &[".parquet"],
    unit: TimeUnit::Nanoseconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head: &Head<'_>| f64::from(u8::from(head.bytes.starts_with(b"PAR1"))),
    open: Open::File(|path| Ok(Box::new(Table::open(path)?))),
};

struct Table {
    batches: ParquetRecordBatchReader,
    rows: Vec<Record>,
    next: usize,
    row: u64,
    sizes: Vec<(u32, u64)>,
}

fn lost(reason: impl std::fmt::Display) -> Stop {
    Stop::Lost(Fault::new(reason.to_string()))
}

impl Table {
    fn open(path: &Path) -> Result<Self, Stop> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?).map_err(lost)?;
        let length = std::fs::metadata(path)?.len();
        for column in builder.metadata().row_groups().iter().flat_map(|group| group.columns()) {
            // The library panics on what is negative here, and a length is believed before anything is read.
            let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let end = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
            if end.and_then(|(start, size)| start.checked_add(size)).is_none_or(|end| end > length) {
                return Err(lost("a column lies outside the file; the table is damaged"));
            }
        }
        let wanted = schema();
        let found = builder.schema();
        let matches = wanted.fields().len() == found.fields().len()
            && wanted
                .fields()
                .iter()
                .zip(found.fields())
                .all(|(w, f)| w.name() == f.name() && w.data_type() == f.data_type());
        if !matches {
            let columns: Vec<&str> = found.fields().iter().map(|f| f.name().as_str()).collect();
            let reason = format!("a Parquet file, but no blocktrace table: its columns are {}", columns.join(", "));
            return Err(lost(reason));
        }
        let metadata = builder.metadata().file_metadata().key_value_metadata();
        let devices = metadata.and_then(|all| all.iter().find(|kv| kv.key == "iojoule.devices"));
        let sizes = devices.and_then(|kv| kv.value.as_deref()).map(sizes).unwrap_or_default();
        let batches = builder.with_batch_size(8192).build().map_err(lost)?;
        Ok(Self { batches, rows: Vec::new(), next: 0, row: 0, sizes })
    }
}

/// Sizes out of `[{"number": 0, "bytes": 512}]`.
fn sizes(text: &str) -> Vec<(u32, u64)> {
    let devices: Vec<serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
    let size =
        |d: &serde_json::Value| Some((u32::try_from(d.get("number")?.as_u64()?).ok()?, d.get("bytes")?.as_u64()?));
    devices.iter().filter_map(size).collect()
}

fn rows(batch: &RecordBatch, into: &mut Vec<Record>) -> Result<(), Stop> {
    if batch.columns()[..5].iter().any(|c| c.null_count() > 0) {
        return Err(lost("a value is missing in a column that has none missing"));
    }
    let names = batch.column(2).as_dictionary::<Int8Type>();
    let texts = names.values().as_string_opt::<i32>().ok_or_else(|| lost("operations are no texts"))?;
    let ops = texts.iter().map(|text| Op::ALL[..OPS].iter().copied().find(|op| Some(op.name()) == text));
    let ops: Vec<Option<Op>> = ops.collect();
    let (at, device) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<UInt32Type>());
    let offset = batch.column(3).as_primitive::<UInt64Type>();
    let bytes = batch.column(4).as_primitive::<UInt64Type>();
    let (asynchronous, response) = (batch.column(5).as_boolean(), batch.column(6).as_primitive::<Int64Type>());
    for row in 0..batch.num_rows() {
        let key = usize::try_from(names.keys().value(row)).ok();
        let op =
            key.and_then(|key| *ops.get(key)?).ok_or_else(|| lost("an operation is not read, write, trim or flush"))?;
        into.push(Record {
            at: Nanos(at.value(row)),
            device: device.value(row),
            op,
            offset: offset.value(row),
            bytes: bytes.value(row),
            asynchronous: asynchronous.is_valid(row).then(|| asynchronous.value(row)),
            response: response.is_valid(row).then(|| Nanos(response.value(row))),
        });
    }
    Ok(())
}

/// The library asserts on some damage instead of telling it.
fn next_batch(batches: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>, Stop> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| batches.next())) {
        Ok(batch) => batch.transpose().map_err(lost),
        Err(_) => Err(lost("the pages of the table are damaged")),
    }
}

impl Parse for Table {
    #[inline]
    fn next(&mut self) -> Result<Option<Record>, Stop> {
        while self.next == self.rows.len() {
            self.rows.clear();
            self.next = 0;
            match next_batch(&mut self.batches)? {
                None => return Ok(None),
                Some(batch) => rows(&batch, &mut self.rows)?,
            }
        }
        let record = self.rows[self.next];
        self.next += 1;
        self.row += 1;
        if record.at.0 < 0 || record.response.is_some_and(|r| r.0 < 0) {
            return Err(Stop::Broken(Fault::new("the time is negative; no request comes before the trace")));
        }
        Ok(Some(record))
    }

    fn place(&self) -> String {
        format!("row {}", self.row)
    }

    fn sizes(&self) -> Vec<(u32, u64)> {
        self.sizes.clone()
    }
}
