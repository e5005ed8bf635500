//! HTTP load through the door: configurations in and summaries out as JSON text, progress through atomics.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iojoule_load::{self as load, Control, LoadError, Wish};
use iojoule_record::{Live, Phase};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::from_str;

use crate::door::{Class, Failure, call};

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let class = match &error {
            LoadError::Config { .. } | LoadError::Table { .. } => Class::Config,
            LoadError::Host { .. } | LoadError::System { .. } | LoadError::File { .. } => Class::Host,
            LoadError::Record(_) => Class::RunFailed,
        };
        Self::new(class, error)
    }
}

/// The live figures of one load, and the way to end it; any thread may use it while the load runs.
#[pyclass(module = "iojoule._native", frozen)]
#[derive(Default)]
pub struct Progress {
    live: Arc<Live>,
    control: Control,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The counters at this moment, by name; `phase` is a name or None.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = self.live.snapshot();
        let figures = PyDict::new(py);
        for (name, value) in [
            ("issued", now.issued),
            ("done", now.done),
            ("errors", now.errors),
            ("bytes", now.bytes),
            ("in_flight", now.in_flight),
            ("planned", now.planned),
            ("p50_ns", now.p50_ns),
            ("p99_ns", now.p99_ns),
        ] {
            figures.set_item(name, value)?;
        }
        let phase = (now.phase as usize).checked_sub(1).and_then(|index| Phase::NAMES.get(index).copied());
        figures.set_item("phase", phase)?;
        Ok(figures)
    }

    /// End the load: after what is in flight, or `now`, recording that as `client_stop`.
    #[pyo3(signature = (now = false))]
    fn stop(&self, now: bool) {
        self.control.ask(if now { Wish::Now } else { Wish::Finish });
    }

    /// Whether an end was asked for; for loads that another program makes.
    #[getter]
    fn stopping(&self) -> bool {
        self.control.wish() != Wish::Run
    }

    /// Begin the phase `measure` of a load that waits to be told; at this host time.
    fn measure(&self, from_ns: i64) {
        self.control.measure(from_ns);
    }
}

/// Runs a load that records as it goes; its summary as JSON.
pub fn run<C: Sync, S: serde::Serialize>(
    py: Python<'_>,
    progress: &Progress,
    config: C,
    act: fn(&C, Arc<Live>, &Control) -> Result<S, LoadError>,
) -> PyResult<String> {
    call(py, progress.control.now_flag(), |_| {
        let summary = act(&config, progress.live.clone(), &progress.control)?;
        Ok::<_, Failure>(serde_json::to_string(&summary)?)
    })
}

/// Replays a prepared web log; the summary as JSON.
#[pyfunction]
pub fn http_replay(py: Python<'_>, config: &str, progress: &Progress) -> PyResult<String> {
    let config: load::ReplayConfig = from_str(config).map_err(|e| Failure::from(e).into_py(py))?;
    run(py, progress, config, load::replay)
}

/// Runs a closed loop; the summary as JSON.
#[pyfunction]
pub fn http_closed(py: Python<'_>, config: &str, progress: &Progress) -> PyResult<String> {
    let config: load::ClosedConfig = from_str(config).map_err(|e| Failure::from(e).into_py(py))?;
    run(py, progress, config, load::closed)
}

/// Makes every object of an objects table a file under `root`; the summary as JSON.
#[pyfunction]
pub fn build_content(py: Python<'_>, objects: PathBuf, root: PathBuf, seed: u64) -> PyResult<String> {
    call(py, &AtomicBool::new(false), |stop| {
        let summary = load::build_content(&objects, &root, seed, stop)?;
        Ok::<_, Failure>(serde_json::to_string(&summary)?)
    })
}

/// The builtin static file server; it listens from its making on and answers while `run` runs.
#[pyclass(module = "iojoule._native", frozen)]
pub struct Server {
    inner: load::Server,
    stop: AtomicBool,
}

#[pymethods]
impl Server {
    /// `address` is `host:port` with a numeric host; port 0 takes any free one.
    #[new]
    #[pyo3(signature = (root, address = "127.0.0.1:0", threads = 1))]
    fn new(py: Python<'_>, root: PathBuf, address: &str, threads: u32) -> PyResult<Self> {
        let bind = || {
            let address: SocketAddr =
                address.parse().map_err(|e| Failure::new(Class::Config, format!("address: {address:?}: {e}")))?;
            load::Server::bind(address, &root, threads).map_err(Failure::from)
        };
        let inner = bind().map_err(|failure| failure.into_py(py))?;
        Ok(Self { inner, stop: AtomicBool::new(false) })
    }

    /// The port it listens on.
    #[getter]
    fn port(&self) -> u16 {
        self.inner.local_addr().port()
    }

    /// Requests answered so far.
    #[getter]
    fn answered(&self) -> u64 {
        self.inner.answered()
    }

    /// Serve until `stop` is called or a signal handler raises.
    fn run(&self, py: Python<'_>) -> PyResult<()> {
        call(py, &self.stop, |stop| self.inner.run(stop))
    }

    /// End `run`, from another thread or a signal handler.
    fn stop(&self) {
        self.stop.store(true, Relaxed);
    }
}

/// Serves the files under `root` at `host:port` until a signal handler raises, or a signal ends the process.
#[pyfunction]
#[pyo3(signature = (root, host, port, threads = 1))]
pub fn serve(py: Python<'_>, root: PathBuf, host: &str, port: u16, threads: u32) -> PyResult<()> {
    Server::new(py, root, &format!("{host}:{port}"), threads)?.run(py)
}
