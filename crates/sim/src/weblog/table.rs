//! Reads the tables of `iojoule weblog prepare`: the requests as a stream, the files they are for at once.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch, StringArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::SimError;

const ROWS: usize = 4096;

/// One line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub planned_ns: i64,
    pub method: Method,
    pub object: u32,
    /// As logged.
    pub bytes: Option<u64>,
    pub client: u32,
    pub status: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Other,
}

/// The requests of a replay table, in its order.
pub(super) struct Rows {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    batch: IntoIter<Row>,
    read: u64,
    last: i64,
}

impl Rows {
    pub fn open(path: &Path) -> Result<Self, SimError> {
        let reader = open(path, &["planned_ns", "method", "object", "size", "client", "status"])?;
        Ok(Self { path: path.to_owned(), reader, batch: Vec::new().into_iter(), read: 0, last: 0 })
    }

    pub fn next(&mut self) -> Result<Option<Row>, SimError> {
        loop {
            if let Some(row) = self.batch.next() {
                self.read += 1;
                if row.planned_ns < self.last {
                    return Err(broken(
                        &self.path,
                        format!("row {}: planned before the row above it, or before 0", self.read),
                    ));
                }
                self.last = row.planned_ns;
                return Ok(Some(row));
            }
            let Some(batch) = self.reader.next() else { return Ok(None) };
            self.batch = rows(&batch.map_err(|e| broken(&self.path, e))?, &self.path)?.into_iter();
        }
    }
}

/// Paths and sizes: of the objects, by their number, and behind them of the files of the tree that are no objects.
pub(super) fn files(objects: &Path, tree: Option<&Path>) -> Result<Vec<(String, u64)>, SimError> {
    let mut files = Vec::new();
    for batch in open(objects, &["object", "path", "size"])? {
        let batch = batch.map_err(|e| broken(objects, e))?;
        let (paths, sizes) = paths_and_sizes(&batch, objects)?;
        let numbers = numbers::<UInt32Type>(&batch, "object", objects)?;
        for ((path, bytes), number) in paths.into_iter().zip(sizes).zip(numbers) {
            if number as usize != files.len() {
                return Err(broken(objects, format!("object {number} stands where {} should", files.len())));
            }
            files.push((path, bytes));
        }
    }
    let Some(tree) = tree else { return Ok(files) };
    let known: HashMap<String, usize> = files.iter().enumerate().map(|(at, (path, _))| (path.clone(), at)).collect();
    for batch in open(tree, &["path", "size"])? {
        let (paths, sizes) = paths_and_sizes(&batch.map_err(|e| broken(tree, e))?, tree)?;
        for (path, bytes) in paths.into_iter().zip(sizes) {
            match known.get(&path) {
                // The tree knows its files better than the log does.
                Some(&at) => files[at].1 = bytes,
                None => files.push((path, bytes)),
            }
        }
    }
    Ok(files)
}

fn paths_and_sizes(batch: &RecordBatch, path: &Path) -> Result<(Vec<String>, Vec<u64>), SimError> {
    let paths = strings(batch, "path", path, |text| text.to_owned())?;
    Ok((paths, numbers::<UInt64Type>(batch, "size", path)?))
}

fn rows(batch: &RecordBatch, path: &Path) -> Result<Vec<Row>, SimError> {
    let planned = numbers::<Int64Type>(batch, "planned_ns", path)?;
    let methods = strings(batch, "method", path, |text| match text {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        _ => Method::Other,
    })?;
    let objects = numbers::<UInt32Type>(batch, "object", path)?;
    let sizes = column(batch, "size", path)?;
    let sizes = sizes.as_primitive_opt::<Int64Type>().ok_or_else(|| broken(path, "column `size` is not int64"))?;
    let clients = numbers::<UInt32Type>(batch, "client", path)?;
    let statuses = numbers::<UInt16Type>(batch, "status", path)?;
    let row = |i: usize| Row {
        planned_ns: planned[i],
        method: methods[i],
        object: objects[i],
        bytes: sizes.is_valid(i).then(|| sizes.value(i).max(0) as u64),
        client: clients[i],
        status: statuses[i],
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

fn open(path: &Path, columns: &[&str]) -> Result<ParquetRecordBatchReader, SimError> {
    let file = File::open(path).map_err(|e| SimError::Config(format!("cannot read {}: {e}", path.display())))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| broken(path, e))?;
    let missing = columns.iter().find(|name| builder.schema().column_with_name(name).is_none());
    if let Some(name) = missing {
        return Err(broken(path, format!("has no column `{name}`: a table of `iojoule weblog prepare` is needed")));
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    builder.with_batch_size(ROWS).with_projection(mask).build().map_err(|e| broken(path, e))
}

fn broken(path: &Path, reason: impl std::fmt::Display) -> SimError {
    SimError::Config(format!("{}: {reason}", path.display()))
}

fn column<'a>(batch: &'a RecordBatch, name: &str, path: &Path) -> Result<&'a ArrayRef, SimError> {
    batch.column_by_name(name).ok_or_else(|| broken(path, format!("has no column `{name}`")))
}

fn numbers<T: ArrowPrimitiveType>(batch: &RecordBatch, name: &str, path: &Path) -> Result<Vec<T::Native>, SimError> {
    let column = column(batch, name, path)?;
    match column.as_primitive_opt::<T>() {
        Some(values) if values.null_count() == 0 => Ok(values.values().to_vec()),
        Some(_) => Err(broken(path, format!("column `{name}` has empty cells"))),
        None => Err(broken(path, format!("column `{name}` holds {} and not {}", column.data_type(), T::DATA_TYPE))),
    }
}

/// A column of strings, plain or as a dictionary, each turned into something; each text of a dictionary once.
fn strings<T: Clone>(
    batch: &RecordBatch,
    name: &str,
    path: &Path,
    turn: impl Fn(&str) -> T,
) -> Result<Vec<T>, SimError> {
    let column = column(batch, name, path)?;
    if column.null_count() > 0 {
        return Err(broken(path, format!("column `{name}` has empty cells")));
    }
    let texts = |values: &ArrayRef| -> Result<Vec<T>, SimError> {
        let wrong = || broken(path, format!("column `{name}` holds {} and not strings", values.data_type()));
        let values: &StringArray = values.as_string_opt::<i32>().ok_or_else(wrong)?;
        Ok(values.iter().map(|text| turn(text.unwrap_or_default())).collect())
    };
    match column.as_any_dictionary_opt() {
        None => texts(column),
        Some(dictionary) if dictionary.values().is_empty() => Ok(Vec::new()),
        Some(dictionary) => {
            let values = texts(dictionary.values())?;
            Ok(dictionary.normalized_keys().into_iter().map(|key| values[key].clone()).collect())
        }
    }
}
