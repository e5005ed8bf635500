//! Columns of a Parquet table as plain vectors, whichever writer made it: strings plain or as a dictionary, integers
//! of their declared width.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};

use crate::LoadError;

/// A column of strings.
pub(crate) struct Column {
    values: StringArray,
    /// Where each row's string stands in `values`; the rows themselves where absent.
    keys: Option<Vec<usize>>,
}

impl Column {
    pub fn at(&self, row: usize) -> &str {
        self.values.value(self.keys.as_ref().map_or(row, |keys| keys[row]))
    }
}

fn column<'a>(record: &'a RecordBatch, name: &str, path: &Path) -> Result<&'a ArrayRef, LoadError> {
    let column =
        record.column_by_name(name).ok_or_else(|| LoadError::table(path, format!("has no column `{name}`")))?;
    if column.null_count() > 0 {
        return Err(LoadError::table(path, format!("column `{name}` has empty cells")));
    }
    Ok(column)
}

fn wrong(name: &str, column: &ArrayRef, wanted: &str, path: &Path) -> LoadError {
    LoadError::table(path, format!("column `{name}` holds {} and not {wanted}", column.data_type()))
}

pub(crate) fn integers(record: &RecordBatch, name: &str, path: &Path) -> Result<Vec<i64>, LoadError> {
    let column = column(record, name, path)?;
    let values = column.as_primitive_opt::<Int64Type>().ok_or_else(|| wrong(name, column, "int64", path))?;
    Ok(values.values().to_vec())
}

pub(crate) fn unsigned(record: &RecordBatch, name: &str, path: &Path) -> Result<Vec<u32>, LoadError> {
    let column = column(record, name, path)?;
    let values = column.as_primitive_opt::<UInt32Type>().ok_or_else(|| wrong(name, column, "uint32", path))?;
    Ok(values.values().to_vec())
}

pub(crate) fn sizes(record: &RecordBatch, name: &str, path: &Path) -> Result<Vec<u64>, LoadError> {
    let column = column(record, name, path)?;
    let values = column.as_primitive_opt::<UInt64Type>().ok_or_else(|| wrong(name, column, "uint64", path))?;
    Ok(values.values().to_vec())
}

pub(crate) fn strings(record: &RecordBatch, name: &str, path: &Path) -> Result<Column, LoadError> {
    let column = column(record, name, path)?;
    let (values, keys) = match column.as_any_dictionary_opt() {
        Some(dictionary) if dictionary.values().is_empty() => (dictionary.values().clone(), Some(Vec::new())),
        Some(dictionary) => (dictionary.values().clone(), Some(dictionary.normalized_keys())),
        None => (column.clone(), None),
    };
    let values = if let Some(short) = values.as_string_opt::<i32>() {
        short.clone()
    } else if let Some(long) = values.as_string_opt::<i64>() {
        long.iter().collect()
    } else {
        return Err(wrong(name, column, "strings", path));
    };
    Ok(Column { values, keys })
}
