//! The one door between Python and the engine: release the GIL, run on a Rust thread, look for signals every
//! 50 ms, map errors to the exception tree of `iojoule.errors`, turn a panic into `InternalError`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

/// Who can help: the name of a class of `iojoule.errors`.
#[derive(Clone, Copy, Debug)]
pub enum Class {
    Config,
    Host,
    RunFailed,
    Internal,
}

/// An error on its way to Python.
#[derive(Debug)]
pub struct Failure {
    pub class: Class,
    pub message: String,
}

impl Failure {
    pub fn new(class: Class, error: impl std::fmt::Display) -> Self {
        Self { class, message: error.to_string() }
    }

    pub fn into_py(self, py: Python<'_>) -> PyErr {
        let name = match self.class {
            Class::Config => "ConfigError",
            Class::Host => "HostError",
            Class::RunFailed => "RunFailed",
            Class::Internal => "InternalError",
        };
        let raise = || py.import("iojoule.errors")?.getattr(name)?.call1((self.message.as_str(),));
        match raise() {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }
}

impl From<iojoule_record::RecordError> for Failure {
    fn from(error: iojoule_record::RecordError) -> Self {
        Self::new(Class::RunFailed, error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::new(Class::Config, format!("options are not understood: {error}"))
    }
}

/// Runs `work` without the GIL. A Python signal handler that raises sets `stop`, waits for `work` to notice,
/// and its exception wins over whatever `work` returns.
pub fn call<T, E, F>(py: Python<'_>, stop: &AtomicBool, work: F) -> PyResult<T>
where
    T: Send,
    E: Into<Failure> + Send,
    F: FnOnce(&AtomicBool) -> Result<T, E> + Send,
{
    let (tell, told) = channel();
    // A receiver may not be shared, and the closures that wait without the GIL borrow it.
    let told = Mutex::new(told);
    let wait = || match told.lock() {
        Ok(told) => told.recv_timeout(Duration::from_millis(50)),
        Err(_) => Err(RecvTimeoutError::Disconnected),
    };
    let (raised, outcome) = std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("iojoule-engine".into()).spawn_scoped(scope, move || {
            let result = work(stop);
            let _ = tell.send(());
            result
        });
        let worker = match worker {
            Ok(worker) => worker,
            Err(error) => return (None, Err(Failure::new(Class::Host, format!("cannot start a thread: {error}")))),
        };
        let mut raised = None;
        while let Err(RecvTimeoutError::Timeout) = py.detach(wait) {
            if raised.is_none()
                && let Err(signal) = py.check_signals()
            {
                stop.store(true, Relaxed);
                raised = Some(signal);
            }
        }
        let outcome = match py.detach(|| worker.join()) {
            Ok(result) => result.map_err(Into::into),
            Err(panic) => Err(Failure::new(Class::Internal, text_of(&*panic))),
        };
        (raised, outcome)
    });
    match raised {
        Some(signal) => Err(signal),
        None => outcome.map_err(|failure: Failure| failure.into_py(py)),
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "the engine panicked".into())
}
