//! `weblog_info`, `weblog_prepare`, `weblog_synth`: options as JSON text in, the answer as JSON text out.

use std::sync::atomic::AtomicBool;

use iojoule_trace::Kind;
use iojoule_trace::weblog::{self, WeblogError};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::door::{Class, Failure, call};

impl From<Kind> for Class {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Config => Self::Config,
            Kind::Host => Self::Host,
            Kind::Interrupted => Self::RunFailed,
        }
    }
}

impl From<WeblogError> for Failure {
    fn from(error: WeblogError) -> Self {
        Self::new(error.kind().into(), error)
    }
}

/// What logs hold: `{"paths": [...]}`.
#[pyfunction]
pub fn weblog_info(py: Python<'_>, options: &str) -> PyResult<String> {
    run(py, options, weblog::info)
}

/// Logs to a replay table and an objects table.
#[pyfunction]
pub fn weblog_prepare(py: Python<'_>, options: &str) -> PyResult<String> {
    run(py, options, weblog::prepare)
}

/// A log that never happened.
#[pyfunction]
pub fn weblog_synth(py: Python<'_>, options: &str) -> PyResult<String> {
    run(py, options, weblog::synth)
}

fn run<O, A>(py: Python<'_>, options: &str, verb: fn(&O, &AtomicBool) -> Result<A, WeblogError>) -> PyResult<String>
where
    O: DeserializeOwned,
    A: Serialize,
{
    call(py, &AtomicBool::new(false), |stop| -> Result<String, Failure> {
        let options: O = serde_json::from_str(options)?;
        Ok(serde_json::to_string(&verb(&options, stop)?)?)
    })
}
