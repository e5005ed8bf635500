//! What a load came to, as the run's manifest keeps it. Everything here can be computed from the table again; it is
//! told at the end so that a bad run is seen at once.

use std::collections::BTreeMap;

use iojoule_record::{ErrorClass, Phase};
use serde::Serialize;

use crate::tally::Tally;
use crate::timing::Lateness;

/// A phase as it was planned, cut where the load ended early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseSpan {
    pub phase: &'static str,
    pub begin_ns: i64,
    pub end_ns: i64,
}

impl From<(Phase, i64, i64)> for PhaseSpan {
    fn from((phase, begin_ns, end_ns): (Phase, i64, i64)) -> Self {
        Self { phase: phase.name(), begin_ns, end_ns }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Host time of the trace's zero, or of the closed loop's start.
    pub epoch_ns: i64,
    /// Host time at which the last engine thread ended.
    pub end_ns: i64,
    pub phases: Vec<PhaseSpan>,
    /// From the first planned instant of phase `measure` to the last, speed-up applied.
    pub trace_span_ns: Option<i64>,
    /// From the first issued instant of the same requests to the last.
    pub replayed_span_ns: Option<i64>,
    /// Replayed span / trace span; none where the trace has no span.
    pub stretch: Option<f64>,
    pub lateness: Lateness,
    /// Records written.
    pub requests: u64,
    pub succeeded: u64,
    pub bytes: u64,
    /// By error class; classes that did not occur are absent.
    pub errors: BTreeMap<&'static str, u64>,
    pub dropped: u64,
    pub queued_at_cap: u64,
    /// Requests of the trace that were not yet due when the load was ended.
    pub unplayed: u64,
    pub connections_opened: u64,
    /// Requests sent again because the server had closed their idle connection; not errors.
    pub reconnects: u64,
    /// Most connections open at once; of several threads the sum of their maxima, an upper bound.
    pub max_open: u64,
    /// Most requests in flight at once; with the same bound.
    pub max_in_flight: u64,
    /// Processor seconds of the engine threads.
    pub cpu_s: f64,
    pub threads: u32,
    /// What a person should know about this load.
    pub warnings: Vec<String>,
}

impl Summary {
    pub(crate) fn of(tally: &Tally, epoch_ns: i64, phases: Vec<PhaseSpan>, threads: u32) -> Self {
        let count = |class: ErrorClass| tally.by_error[class as usize];
        let errors = ErrorClass::ALL
            .iter()
            .filter(|class| **class != ErrorClass::None && count(**class) > 0)
            .map(|class| (class.name(), count(*class)));
        let (trace_span_ns, replayed_span_ns) = tally.timing.spans();
        Self {
            epoch_ns,
            end_ns: tally.end_ns,
            phases,
            trace_span_ns,
            replayed_span_ns,
            stretch: tally.timing.stretch(),
            lateness: tally.timing.lateness(),
            requests: tally.requests,
            succeeded: count(ErrorClass::None),
            bytes: tally.bytes,
            errors: errors.collect(),
            dropped: count(ErrorClass::Dropped),
            queued_at_cap: tally.queued_at_cap,
            unplayed: tally.unplayed,
            connections_opened: tally.connections_opened,
            reconnects: tally.reconnects,
            max_open: tally.max_open,
            max_in_flight: tally.max_in_flight,
            cpu_s: tally.cpu_ns as f64 / 1e9,
            threads,
            warnings: warnings(tally),
        }
    }
}

fn warnings(tally: &Tally) -> Vec<String> {
    let mut warnings = Vec::new();
    if tally.ports_exhausted > 0 {
        warnings.push(format!(
            "no local port was left {} times: closed connections hold theirs for a minute; use connection mode \
             per_client or pool, or widen net.ipv4.ip_local_port_range",
            tally.ports_exhausted
        ));
    }
    if tally.queued_at_cap > 0 {
        warnings.push(format!("{} requests waited because the cap on connections was reached", tally.queued_at_cap));
    }
    warnings
}
