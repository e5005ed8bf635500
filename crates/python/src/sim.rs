//! `sim_run`, `sim_sweep`, `sim_validate`: jobs as JSON text in, figures as JSON text out.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iojoule_sim::{self as sim, Control, Job, Kind, Point, SimError, Validate};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::door::{Class, Failure, call};
use crate::policy::Interpreter;

impl From<SimError> for Failure {
    fn from(error: SimError) -> Self {
        let class = match error.kind() {
            Kind::Config => Class::Config,
            Kind::Host => Class::Host,
            Kind::Output | Kind::Interrupted => Class::RunFailed,
            Kind::Internal => Class::Internal,
        };
        Self::new(class, error)
    }
}

/// What a simulation has reached, and the way to end it; any thread may use it meanwhile.
#[pyclass(module = "iojoule._native", frozen)]
#[derive(Default)]
pub struct SimControl {
    control: Arc<Control>,
}

#[pymethods]
impl SimControl {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Requests answered and simulated seconds of a run; points finished of a sweep, as `requests`.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = PyDict::new(py);
        figures.set_item("requests", self.control.requests.load(Relaxed))?;
        figures.set_item("simulated_s", self.control.simulated_ns.load(Relaxed) as f64 / 1e9)?;
        Ok(figures)
    }

    fn stop(&self) {
        self.control.stop.store(true, Relaxed);
    }
}

/// Simulates one job; the summary as JSON.
#[pyfunction]
pub fn sim_run(py: Python<'_>, job: &str, control: &SimControl) -> PyResult<String> {
    let control = control.control.clone();
    call(py, &AtomicBool::new(false), move |stop| -> Result<String, Failure> {
        let job: Job = serde_json::from_str(job)?;
        Ok(serde_json::to_string(&sim::simulate(&job, &Interpreter, stop, &control)?)?)
    })
}

/// Simulates many jobs on `threads` threads; every one that finishes adds a line to `results`.
#[pyfunction]
pub fn sim_sweep(
    py: Python<'_>,
    points: &str,
    results: PathBuf,
    threads: usize,
    control: &SimControl,
) -> PyResult<String> {
    let control = control.control.clone();
    call(py, &AtomicBool::new(false), move |stop| -> Result<String, Failure> {
        let points: Vec<Point> = serde_json::from_str(points)?;
        Ok(serde_json::to_string(&sim::sweep(&points, &results, threads, &Interpreter, stop, &control)?)?)
    })
}

/// Replays a measured trace on a drive's model; the comparison as JSON.
#[pyfunction]
pub fn sim_validate(py: Python<'_>, options: &str) -> PyResult<String> {
    call(py, &AtomicBool::new(false), |_| -> Result<String, Failure> {
        let asked: Validate = serde_json::from_str(options)?;
        Ok(serde_json::to_string(&sim::validate(&asked)?)?)
    })
}
