//! What a policy in Python sees: a snapshot of the array at the moment of the call. It stays as it was if it is kept.

use iojoule_array::policy::{DriveView, State, View};
use iojoule_units::Nanos;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use super::seconds;

#[pyclass(name = "View", module = "iojoule._native", frozen)]
pub struct PyView {
    now_ns: i64,
    drives: Vec<DriveView>,
    gear: Option<(u8, Vec<u16>, bool)>,
    break_even: Option<Nanos>,
}

impl PyView {
    pub fn of(view: &dyn View, break_even: Option<Nanos>) -> Self {
        Self {
            now_ns: view.now().0,
            drives: (0..view.drives()).map(|drive| view.drive(drive)).collect(),
            gear: view.gear().map(|gear| (gear.now, gear.sizes.to_vec(), gear.shifting)),
            break_even,
        }
    }
}

#[pymethods]
impl PyView {
    /// Simulated seconds since the start of the run.
    #[getter]
    fn now_s(&self) -> f64 {
        seconds(self.now_ns)
    }

    /// Drives of the array.
    #[getter]
    fn drives(&self) -> usize {
        self.drives.len()
    }

    /// The drive's break-even time; None where its figures are not all known.
    #[getter]
    fn break_even_s(&self) -> Option<f64> {
        self.break_even.map(Nanos::as_secs_f64)
    }

    /// The gear, from 0, the active drives of each gear, and whether a shift is under way; None without gears.
    #[getter]
    fn gear(&self) -> Option<(u8, Vec<u16>, bool)> {
        self.gear.clone()
    }

    fn drive(&self, drive: i64) -> PyResult<PyDriveView> {
        let found = usize::try_from(drive).ok().and_then(|at| self.drives.get(at));
        let missing = || PyIndexError::new_err(format!("drive {drive} of {}", self.drives.len()));
        found.map(|drive| PyDriveView(*drive)).ok_or_else(missing)
    }
}

#[pyclass(name = "DriveView", module = "iojoule._native", frozen)]
pub struct PyDriveView(DriveView);

#[pymethods]
impl PyDriveView {
    /// busy, idle, spinning_down, resting, spinning_up or failed.
    #[getter]
    fn state(&self) -> &'static str {
        match self.0.state {
            State::Busy => "busy",
            State::Idle => "idle",
            State::SpinningDown => "spinning_down",
            State::Resting => "resting",
            State::SpinningUp => "spinning_up",
            State::Failed => "failed",
        }
    }

    /// Since when it has had nothing to do; None while it has.
    #[getter]
    fn idle_since_s(&self) -> Option<f64> {
        self.0.idle_since.map(|at| seconds(at.0))
    }

    /// Length of the last idle period that has ended.
    #[getter]
    fn last_idle_s(&self) -> f64 {
        seconds(self.0.last_idle.0)
    }

    /// Commands waiting, the one in service included.
    #[getter]
    fn queue(&self) -> u32 {
        self.0.queue
    }

    #[getter]
    fn spin_ups(&self) -> u64 {
        self.0.spin_ups
    }
}
