//! Tables through the door: a Parquet writer that survives a kill, fed with anything that speaks the Arrow
//! PyCapsule stream interface (pyarrow tables and batches, DuckDB results, Polars frames).

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use iojoule_record as record;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::door::Failure;

#[pyclass(module = "iojoule._native")]
pub struct TableWriter {
    inner: Mutex<Option<record::TableWriter>>,
}

fn failure(py: Python<'_>) -> impl Fn(record::RecordError) -> PyErr {
    move |error| Failure::from(error).into_py(py)
}

fn stream(data: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = data.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| PyTypeError::new_err("no Arrow stream capsule"))?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream; `from_raw` takes its contents and leaves a released one,
    // as the interface asks of a consumer.
    unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) }.map_err(|e| PyValueError::new_err(e.to_string()))
}

#[pymethods]
impl TableWriter {
    /// `like` gives the schema: any Arrow stream, its rows are written too.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, like: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = stream(like)?;
        let inner = record::TableWriter::create(&path, reader.schema(), &[]).map_err(failure(py))?;
        let table = Self { inner: Mutex::new(Some(inner)) };
        table.write_all(py, reader)?;
        Ok(table)
    }

    /// Add the rows of an Arrow stream of the same schema.
    fn write(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write_all(py, stream(rows)?)
    }

    /// What was written until now survives a kill.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.with(|table| table.commit().map_err(failure(py)))
    }

    /// Close the file; a second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let table = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
        table.map_or(Ok(()), |table| table.close().map_err(failure(py)))
    }
}

impl TableWriter {
    fn with<T>(&self, act: impl FnOnce(&mut record::TableWriter) -> PyResult<T>) -> PyResult<T> {
        let mut table = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        act(table.as_mut().ok_or_else(|| PyValueError::new_err("the table is closed"))?)
    }

    fn write_all(&self, py: Python<'_>, rows: RecordBatchStreamReader) -> PyResult<()> {
        self.with(|table| {
            for batch in rows {
                let batch = batch.map_err(|e| PyValueError::new_err(e.to_string()))?;
                table.write(&batch).map_err(failure(py))?;
            }
            Ok(())
        })
    }
}

/// Makes the table of a killed writer readable up to its last row group; true where it had to be mended.
#[pyfunction]
pub fn recover_table(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    record::recover(&path).map_err(failure(py))
}
