//! The bindings; the only crate that knows Python. One verb is one file here, one section of `_native.pyi` and
//! one test under `tests/native`.

mod block;
mod door;
mod http;
mod policy;
mod sim;
mod table;
mod trace;
mod trace_info;
mod trace_synth;
mod weblog;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::block::block_load;
    #[pymodule_export]
    use crate::http::{Progress, Server, build_content, http_closed, http_replay, serve};
    #[pymodule_export]
    use crate::sim::{SimControl, sim_run, sim_sweep, sim_validate};
    #[pymodule_export]
    use crate::table::{TableWriter, recover_table};
    #[pymodule_export]
    use crate::trace::{TraceProgress, trace_convert, trace_head};
    #[pymodule_export]
    use crate::trace_info::trace_info;
    #[pymodule_export]
    use crate::trace_synth::{trace_profiles, trace_synth};
    #[pymodule_export]
    use crate::weblog::{weblog_info, weblog_prepare, weblog_synth};

    /// True where the engine was built without optimisation: such a build refuses to measure.
    #[pymodule_export]
    const DEBUG_BUILD: bool = cfg!(debug_assertions);

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
