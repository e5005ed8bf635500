//! A drive's model against a measured trace of the real one: how far the two distributions of access time lie apart, reads
//! and writes apart too, since errors of both may cancel.

use std::path::PathBuf;

use iojoule_disk::validate::{Line, replay, rms_binned, rms_exact};
use iojoule_disk::{Model, Op};
use iojoule_record::Op as TraceOp;
use iojoule_trace::block::validate as trace;
use serde::{Deserialize, Serialize};

use crate::{DriveChoice, SimError};

/// What is compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validate {
    pub drive: DriveChoice,
    /// In DiskSim's "validate" format.
    pub trace: PathBuf,
}

/// The document of `iojoule sim validate --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    pub drive: String,
    /// Of a drive from DiskSim's files: where its bus comes from, if not from the file itself, and what of the file has no
    /// effect here though DiskSim acts on it.
    pub notes: Vec<String>,
    #[serde(flatten)]
    pub all: Compared,
    pub reads: Option<Compared>,
    pub writes: Option<Compared>,
}

/// Measured and simulated times of the same requests, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    pub requests: usize,
    pub measured_mean_ms: f64,
    pub simulated_mean_ms: f64,
    /// On bins that grow by 1 %, as DiskSim publishes it.
    pub rms_ms: f64,
    /// Without bins.
    pub rms_exact_ms: f64,
    pub measured_p95_ms: f64,
    pub simulated_p95_ms: f64,
    pub measured_max_ms: f64,
    pub simulated_max_ms: f64,
}

/// Replays the trace on the drive.
pub fn validate(asked: &Validate) -> Result<Validation, SimError> {
    let (spec, unmodelled) = asked.drive.spec()?;
    let model = Model::new(&spec).map_err(SimError::config)?;
    let (mut lines, mut measured) = (Vec::new(), Vec::new());
    for (number, step) in (1_u64..).zip(trace::lines(&asked.trace)?) {
        let step = step?;
        let refuse = |reason: String| SimError::Request { number, reason };
        let end = step.lba.0.saturating_add(step.sectors);
        if end > model.sectors() {
            return Err(refuse(format!("it ends at sector {end}, beyond the drive's {}", model.sectors())));
        }
        let sectors = u32::try_from(step.sectors).map_err(|_| refuse("it is larger than 2 TiB".into()))?;
        let op = if step.op == TraceOp::Read { Op::Read } else { Op::Write };
        lines.push(Line { op, lba: step.lba, sectors, think: step.inter });
        measured.push(step.measured.0 as f64 / 1e6);
    }
    let simulated = replay(&model, lines.iter().copied());
    let of = |op: Option<Op>| {
        let kept = || lines.iter().enumerate().filter(move |(_, line)| op.is_none_or(|op| line.op == op));
        let pick = |times: &[f64]| kept().map(|(i, _)| times[i]).collect::<Vec<f64>>();
        Compared::of(&pick(&measured), &pick(&simulated))
    };
    let all = of(None).ok_or_else(|| SimError::Config(format!("{}: no requests", asked.trace.display())))?;
    let bus = spec.source.get("disk.bus").map(|source| format!("bus: {source}"));
    let notes = bus.into_iter().chain(unmodelled).collect();
    Ok(Validation { drive: spec.name, notes, all, reads: of(Some(Op::Read)), writes: of(Some(Op::Write)) })
}

impl Compared {
    fn of(measured: &[f64], simulated: &[f64]) -> Option<Self> {
        let (m, s) = (Ranked::of(measured)?, Ranked::of(simulated)?);
        Some(Self {
            requests: measured.len(),
            measured_mean_ms: m.mean,
            simulated_mean_ms: s.mean,
            rms_ms: rms_binned(measured, simulated),
            rms_exact_ms: rms_exact(measured, simulated),
            measured_p95_ms: m.p95,
            simulated_p95_ms: s.p95,
            measured_max_ms: m.max,
            simulated_max_ms: s.max,
        })
    }
}

struct Ranked {
    mean: f64,
    p95: f64,
    max: f64,
}

impl Ranked {
    /// `None` of nothing. A quantile is the value of rank ceil(p n).
    fn of(times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let rank = (0.95 * sorted.len() as f64).ceil() as usize;
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        Some(Self { mean, p95: *sorted.get(rank.saturating_sub(1))?, max: *sorted.last()? })
    }
}
