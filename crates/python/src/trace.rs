//! `trace_convert`, `trace_head`: options as JSON text in, the answer as JSON text out; progress through an atomic.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use iojoule_trace::block::{self, ConvertOptions, HeadOptions};
use pyo3::prelude::*;

use crate::door::{Failure, call};

/// How far a conversion has come; any thread may ask while it runs.
#[pyclass(module = "iojoule._native", frozen)]
#[derive(Default)]
pub struct TraceProgress {
    read: Arc<AtomicU64>,
}

#[pymethods]
impl TraceProgress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Bytes taken from the files, before decompression. Where sizes of devices must be found, files are read twice.
    fn bytes_read(&self) -> u64 {
        self.read.load(Relaxed)
    }
}

/// Traces of any format to one file: [`ConvertOptions`].
#[pyfunction]
#[pyo3(signature = (options, progress = None))]
pub fn trace_convert(py: Python<'_>, options: &str, progress: Option<&TraceProgress>) -> PyResult<String> {
    let read = progress.map(|progress| progress.read.clone()).unwrap_or_default();
    call(py, &AtomicBool::new(false), |stop| -> Result<String, Failure> {
        let mut options: ConvertOptions = serde_json::from_str(options)?;
        options.read.progress = read;
        Ok(serde_json::to_string(&block::convert(&options, stop)?)?)
    })
}

/// The first requests of traces: [`HeadOptions`].
#[pyfunction]
pub fn trace_head(py: Python<'_>, options: &str) -> PyResult<String> {
    call(py, &AtomicBool::new(false), |_| -> Result<String, Failure> {
        let options: HeadOptions = serde_json::from_str(options)?;
        Ok(serde_json::to_string(&block::head(&options)?)?)
    })
}
