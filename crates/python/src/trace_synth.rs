//! `trace_synth`: a block trace that never happened; options as JSON text in, the answer as JSON text out.

use std::sync::atomic::AtomicBool;

use iojoule_trace::block::synth::{PROFILES, SynthConfig, SynthOptions, synth};
use pyo3::prelude::*;
use serde_json::{Map, json};

use crate::door::{Failure, call};

/// `{"output": ..., "profile": ..., "changes": {...}}`.
#[pyfunction]
pub fn trace_synth(py: Python<'_>, options: &str) -> PyResult<String> {
    call(py, &AtomicBool::new(false), |stop| -> Result<String, Failure> {
        let options: SynthOptions = serde_json::from_str(options)?;
        Ok(serde_json::to_string(&synth(&options, stop)?)?)
    })
}

/// Each profile's line and its configuration, by name.
#[pyfunction]
pub fn trace_profiles(py: Python<'_>) -> PyResult<String> {
    call(py, &AtomicBool::new(false), |_| -> Result<String, Failure> {
        let mut all = Map::new();
        for (name, what) in PROFILES {
            let config = SynthConfig::resolve(Some(name), &Map::new())?;
            all.insert(name.to_owned(), json!({ "what": what, "config": config }));
        }
        Ok(serde_json::to_string(&all)?)
    })
}
