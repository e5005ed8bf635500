//! What a block load came to, as the run's manifest keeps it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::block::config::Engine;
use crate::summary::{Lateness, PhaseSpan};

#[derive(Clone, Debug, Serialize)]
pub struct BlockSummary {
    /// Host time of the plan's zero.
    pub epoch_ns: i64,
    pub end_ns: i64,
    pub phases: Vec<PhaseSpan>,
    /// From the first planned instant of phase `measure` to the last.
    pub trace_span_ns: Option<i64>,
    /// From the first issued instant of the same requests to the last.
    pub replayed_span_ns: Option<i64>,
    /// Replayed / planned span; none in a closed loop.
    pub stretch: Option<f64>,
    pub lateness: Lateness,
    /// Records written.
    pub requests: u64,
    pub succeeded: u64,
    pub bytes: u64,
    /// By error class; classes that did not occur are absent.
    pub errors: BTreeMap<&'static str, u64>,
    /// By errno name (`EIO`) of what the device refused.
    pub errnos: BTreeMap<String, u64>,
    pub dropped: u64,
    pub queued_at_cap: u64,
    /// Planned requests that were not due when the load was ended.
    pub unplayed: u64,
    /// Requests of a trace left out because writing was not allowed.
    pub left_out: u64,
    /// Blocks checked, and those found wrong.
    pub verified: u64,
    pub corrupt: u64,
    /// The first of them, in words.
    pub corruptions: Vec<String>,
    pub max_in_flight: u64,
    /// Requests handed over in one system call: mean.
    pub batch_mean: f64,
    /// Time inside the submitting system call.
    pub submit_p50_ns: u64,
    pub submit_p99_ns: u64,
    /// Processor seconds of the engine threads, and of the thread that writes the records.
    pub cpu_s: f64,
    pub writer_cpu_s: f64,
    pub engine: Engine,
    /// `O_DIRECT` was in force; none on the null target.
    pub direct: Option<bool>,
    pub jobs: u32,
    pub queue_depth: u32,
    pub target_bytes: u64,
    pub warnings: Vec<String>,
}
