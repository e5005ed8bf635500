//! `trace_info`: what block traces are like; options as JSON text in, the answer as JSON text out.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use iojoule_trace::block::info::{InfoOptions, info_of};
use iojoule_trace::block::{Options, TraceError};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::door::{Failure, call};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    paths: Vec<PathBuf>,
    #[serde(default)]
    reading: Options,
    #[serde(default)]
    info: InfoOptions,
}

/// `{"paths": [...], "reading": {...}, "info": {...}}`.
#[pyfunction]
pub fn trace_info(py: Python<'_>, options: &str) -> PyResult<String> {
    call(py, &AtomicBool::new(false), |stop| -> Result<String, Failure> {
        let asked: Asked = serde_json::from_str(options)?;
        let told = info_of(&asked.paths, &asked.reading, &asked.info, stop)?;
        Ok(serde_json::to_string(&told)?)
    })
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Self::new(error.kind().into(), error)
    }
}
