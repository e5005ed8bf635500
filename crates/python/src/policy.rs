//! Power policies written in Python. The array calls them at decision points only; each call attaches to the
//! interpreter, shows the class a snapshot of the array and takes its answer as orders. What goes wrong in the class
//! is its author's to mend: it ends the run with file, line and method.

mod orders;
mod view;

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iojoule_array::policy::{Argument, Orders, Policy, PolicyConfig, View, Wants};
use iojoule_disk::DriveSpec;
use iojoule_sim::{Policies, SimError};
use iojoule_units::Nanos;
use pyo3::exceptions::PySyntaxError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTraceback};

use view::PyView;

/// Makes the policies of configurations with `kind = "python"`.
pub struct Interpreter;

impl Policies for Interpreter {
    fn make(&self, config: &PolicyConfig, drive: &DriveSpec) -> Result<Box<dyn Policy>, SimError> {
        let PolicyConfig::Python { file, class, arguments, window_ns, .. } = config else {
            return Err(SimError::Internal(format!("policy {} is not Python's", config.kind())));
        };
        let refuse = |text: String| SimError::Config(format!("policy python: {text}"));
        if window_ns.is_some_and(|ns| ns <= 0) {
            return Err(refuse(format!("window_ns is above 0, not {}", window_ns.unwrap_or_default())));
        }
        let code = std::fs::read(file).map_err(|e| refuse(format!("cannot read {}: {e}", file.display())))?;
        let break_even = drive.power.standby().ok().and_then(|figures| figures.break_even());
        Python::attach(|py| {
            let script = Script { file: file.clone(), class: class.clone() };
            let object = script
                .load(py, code)
                .and_then(|module| script.class_in(&module))
                .and_then(|made| script.object(py, &made, arguments))
                .map_err(&refuse)?;
            let has = |method| object.hasattr(method).unwrap_or(false);
            let wants = Wants {
                idle: has("idle"),
                arrived: has("arrived"),
                window: window_ns.filter(|_| has("window")).map(Nanos),
            };
            if window_ns.is_some() && wants.window.is_none() {
                return Err(refuse(format!("{class} has no method window, but window_ns is given")));
            }
            if wants == Wants::default() {
                let text =
                    "has none of the methods idle, arrived and (with window_ns) window: it would never be called";
                return Err(refuse(format!("{class} {text}")));
            }
            let object = object.unbind();
            Ok(Box::new(PythonPolicy { script, object, wants, break_even, failure: None }) as Box<dyn Policy>)
        })
    }
}

/// The class and where it was found.
struct Script {
    file: PathBuf,
    class: String,
}

impl Script {
    /// Runs the file as a module of its own, however often it is loaded: runs share nothing.
    fn load<'py>(&self, py: Python<'py>, code: Vec<u8>) -> Result<Bound<'py, PyModule>, String> {
        static LOADED: AtomicU64 = AtomicU64::new(0);
        let name = format!("iojoule_policy_{}", LOADED.fetch_add(1, Relaxed));
        let text =
            |bytes: Vec<u8>| CString::new(bytes).map_err(|_| format!("{}: holds a NUL byte", self.file.display()));
        let (code, file, module) = (text(code)?, text(self.path().into_bytes())?, text(name.clone().into_bytes())?);
        PyModule::from_code(py, &code, &file, &module).map_err(|e| self.tell(py, "", &e))
    }

    fn class_in<'py>(&self, module: &Bound<'py, PyModule>) -> Result<Bound<'py, PyAny>, String> {
        module.getattr(self.class.as_str()).map_err(|_| format!("{} has no class {}", self.file.display(), self.class))
    }

    fn object<'py>(
        &self,
        py: Python<'py>,
        class: &Bound<'py, PyAny>,
        arguments: &std::collections::BTreeMap<String, Argument>,
    ) -> Result<Bound<'py, PyAny>, String> {
        let given = PyDict::new(py);
        let set = |(name, argument): (&String, &Argument)| match argument {
            Argument::Flag(value) => given.set_item(name, value),
            Argument::Whole(value) => given.set_item(name, value),
            Argument::Real(value) => given.set_item(name, value),
            Argument::Text(value) => given.set_item(name, value),
        };
        let called = arguments.iter().try_for_each(set).and_then(|()| class.call((), Some(&given)));
        called.map_err(|e| self.tell(py, "__init__", &e))
    }

    fn path(&self) -> String {
        self.file.display().to_string()
    }

    /// An exception as `file:line: Class.method: Type: text`; the line is the last one of the file in the traceback.
    fn tell(&self, py: Python<'_>, method: &str, error: &PyErr) -> String {
        let path = self.path();
        let line = if error.is_instance_of::<PySyntaxError>(py) {
            error.value(py).getattr("lineno").and_then(|line| line.extract()).ok()
        } else {
            error.traceback(py).and_then(|traceback| last_line(traceback, &self.file))
        };
        let at = line.map_or(path.clone(), |line: u32| format!("{path}:{line}"));
        let call = if method.is_empty() { String::new() } else { format!(" {}.{method}:", self.class) };
        format!("{at}:{call} {}", error.to_string().trim_end())
    }
}

/// The line of `file` in which the innermost of its frames was.
fn last_line(traceback: Bound<'_, PyTraceback>, file: &Path) -> Option<u32> {
    let mut next = Some(traceback.into_any());
    let mut line = None;
    while let Some(frame) = next {
        let name: Option<String> =
            (|| frame.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract())().ok();
        if name.is_some_and(|name| Path::new(&name) == file) {
            line = frame.getattr("tb_lineno").and_then(|line| line.extract()).ok();
        }
        next = frame.getattr("tb_next").ok().filter(|next| !next.is_none());
    }
    line
}

/// What a call is about.
enum About<'a> {
    Drive(u16),
    Busy(&'a [f64]),
}

struct PythonPolicy {
    script: Script,
    object: Py<PyAny>,
    wants: Wants,
    break_even: Option<Nanos>,
    failure: Option<String>,
}

impl PythonPolicy {
    /// Calls a method with what it is about, the time and a view; its answer becomes orders.
    fn call(&mut self, method: &'static str, about: About<'_>, view: &dyn View, orders: &mut Orders) {
        if self.failure.is_some() {
            return;
        }
        let outcome = Python::attach(|py| {
            let called = || -> PyResult<Bound<'_, PyAny>> {
                let seen = Bound::new(py, PyView::of(view, self.break_even))?;
                let (object, now_s) = (self.object.bind(py), seconds(view.now().0));
                match about {
                    About::Drive(drive) => object.call_method1(method, (drive, now_s, seen)),
                    About::Busy(shares) => object.call_method1(method, (shares.to_vec(), now_s, seen)),
                }
            };
            let answer = called().map_err(|e| self.script.tell(py, method, &e))?;
            let at = || format!("{}: {}.{method}", self.script.path(), self.script.class);
            orders::take(&answer, view.drives(), orders).map_err(|why| format!("{}: {why}", at()))
        });
        self.failure = outcome.err().map(|why| format!("policy python: {why}"));
    }
}

/// Seconds of a whole number of nanoseconds; exact to the nanosecond for runs up to fifty days.
fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

impl Policy for PythonPolicy {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn idle(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        self.call("idle", About::Drive(drive), view, orders);
    }

    fn timer(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        self.call("timer", About::Drive(drive), view, orders);
    }

    fn arrived(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        self.call("arrived", About::Drive(drive), view, orders);
    }

    fn window(&mut self, busy: &[f64], view: &dyn View, orders: &mut Orders) {
        self.call("window", About::Busy(busy), view, orders);
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}
