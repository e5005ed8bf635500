//! What a block load came to, as the run's manifest keeps it.

use std::collections::BTreeMap;

use iojoule_record::{ErrorClass, Phase};
use serde::Serialize;

use crate::block::config::Engine;
use crate::block::replay_survey::ReplayFacts;
use crate::block::span::Span;
use crate::block::tally::Tally;
use crate::summary::PhaseSpan;
use crate::timing::Lateness;

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
    /// What was played of a trace, and how it differs from it.
    pub replay: Option<ReplayFacts>,
    pub warnings: Vec<String>,
}

impl BlockSummary {
    /// What the counts of all jobs come to; what they do not know (engine, target) is left for the caller.
    pub(crate) fn of(tally: Tally, span: &Span<'_>) -> Self {
        let count = |class: ErrorClass| tally.by_error[class as usize];
        let errors = ErrorClass::ALL
            .iter()
            .filter(|class| **class != ErrorClass::None && count(**class) > 0)
            .map(|class| (class.name(), count(*class)));
        let (trace_span_ns, replayed_span_ns) = tally.timing.spans();
        let (from, to) = span.measure();
        let cuts = [span.epoch_ns, from, to].map(|at| at.min(tally.end_ns));
        let named = [Phase::Warmup, Phase::Measure].into_iter().zip(cuts.windows(2));
        let phases = named.filter(|(_, cut)| cut[0] < cut[1]).map(|(phase, cut)| (phase, cut[0], cut[1]).into());
        let mut warnings = tally.warnings;
        if tally.queued_at_cap > 0 {
            warnings.push(format!(
                "{} requests waited because the cap on outstanding requests was reached",
                tally.queued_at_cap
            ));
        }
        let errnos: BTreeMap<_, _> = tally.by_errno.iter().map(|(errno, count)| (errno_name(*errno), *count)).collect();
        if !errnos.is_empty() {
            let named: Vec<_> = errnos.iter().map(|(name, count)| format!("{count} with {name}")).collect();
            warnings.push(format!("the target failed requests: {}", named.join(", ")));
        }
        Self {
            epoch_ns: span.epoch_ns,
            end_ns: tally.end_ns,
            phases: phases.collect(),
            trace_span_ns,
            replayed_span_ns,
            stretch: tally.timing.stretch(),
            lateness: tally.timing.lateness(),
            requests: tally.requests,
            succeeded: count(ErrorClass::None),
            bytes: tally.bytes,
            errors: errors.collect(),
            errnos,
            dropped: count(ErrorClass::Dropped),
            queued_at_cap: tally.queued_at_cap,
            unplayed: tally.unplayed,
            left_out: tally.left_out,
            verified: tally.verified,
            corrupt: count(ErrorClass::Corrupt),
            corruptions: tally.corruptions,
            max_in_flight: tally.max_in_flight,
            batch_mean: if tally.batches == 0 { 0.0 } else { tally.submitted as f64 / tally.batches as f64 },
            submit_p50_ns: tally.submit.value_at_quantile(0.50),
            submit_p99_ns: tally.submit.value_at_quantile(0.99),
            cpu_s: tally.cpu_ns as f64 / 1e9,
            writer_cpu_s: 0.0,
            engine: Engine::IoUring,
            direct: None,
            jobs: 0,
            queue_depth: 0,
            target_bytes: 0,
            replay: None,
            warnings,
        }
    }
}

/// The name of an error number as the manuals give it, of those a storage device answers with.
fn errno_name(errno: u16) -> String {
    let name = match i32::from(errno) {
        libc::EIO => "EIO",
        libc::ENOSPC => "ENOSPC",
        libc::EINVAL => "EINVAL",
        libc::ENXIO => "ENXIO",
        libc::ENODEV => "ENODEV",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::EROFS => "EROFS",
        libc::EBADF => "EBADF",
        libc::EDQUOT => "EDQUOT",
        libc::EFBIG => "EFBIG",
        libc::EPERM => "EPERM",
        libc::EACCES => "EACCES",
        libc::ENOMEM => "ENOMEM",
        libc::EAGAIN => "EAGAIN",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::EREMOTEIO => "EREMOTEIO",
        libc::EILSEQ => "EILSEQ",
        libc::ENODATA => "ENODATA",
        libc::ENOLINK => "ENOLINK",
        libc::EBUSY => "EBUSY",
        libc::ECANCELED => "ECANCELED",
        libc::ENOTTY => "ENOTTY",
        libc::ESTALE => "ESTALE",
        other => return format!("errno {other}"),
    };
    name.into()
}
