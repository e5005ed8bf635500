//! The bindings; the only crate that knows Python.
use pyo3::prelude::*;

#[pymodule]
mod _native {}
