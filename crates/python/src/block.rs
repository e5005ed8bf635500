//! Block load through the door: configuration in and summary out as JSON text.

use iojoule_load::block::{BlockConfig, block};
use pyo3::prelude::*;
use serde_json::from_str;

use crate::door::Failure;
use crate::http::{Progress, run};

/// Runs a block load; the summary as JSON.
#[pyfunction]
pub fn block_load(py: Python<'_>, config: &str, progress: &Progress) -> PyResult<String> {
    let config: BlockConfig = from_str(config).map_err(|e| Failure::from(e).into_py(py))?;
    run(py, progress, config, block)
}
