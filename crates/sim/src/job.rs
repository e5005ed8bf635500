//! One simulation from its description to its summary.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use iojoule_array::{Array, ArrayConfig, Completion, Report, Request};
use iojoule_disk::{DriveSpec, Model, import};
use iojoule_units::{ModelNs, Nanos, SECTOR};
use serde::Deserialize;

use crate::load::{Load, Warnings};
use crate::output::{Output, Recording};
use crate::summary::{Described, Summary};
use crate::{Control, Ending, Machine, Policies, Ran, Reported, SimError, disksim, policies, run};

/// What is to be simulated. `drive` and `array` are given, or `disksim` says both.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    #[serde(default)]
    pub seed: u64,
    pub drive: Option<DriveChoice>,
    pub array: Option<ArrayConfig>,
    /// A DiskSim system (`.parv`).
    pub disksim: Option<PathBuf>,
    pub load: Load,
    #[serde(default)]
    pub reported: Reported,
    #[serde(default)]
    pub warmup_ns: i64,
    pub limit: Option<u64>,
    pub max_outstanding: Option<u64>,
    #[serde(default)]
    pub end: End,
    pub duration_ns: Option<i64>,
    /// Also what drives that know their future would have drawn; a policy that does anything is run against a second run in
    /// which it does nothing.
    #[serde(default = "yes")]
    pub oracle: bool,
    pub output: Option<Output>,
}

fn yes() -> bool {
    true
}

/// With what a run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    #[default]
    LastAnswer,
    LastArrival,
}

/// A drive by name or by file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum DriveChoice {
    Preset { preset: String },
    File { file: PathBuf, name: Option<String> },
}

impl DriveChoice {
    /// The drive's specification, and what its file asks for and is not modelled.
    pub fn spec(&self) -> Result<(DriveSpec, Vec<String>), SimError> {
        let alone = |spec| (spec, Vec::new());
        match self {
            Self::Preset { preset } => DriveSpec::preset(preset).map(alone).map_err(SimError::config),
            Self::File { file, name } => {
                let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
                if matches!(extension, "parv" | "diskspecs" | "model") {
                    let (spec, unused) = import::drive_of(file, name.as_deref()).map_err(SimError::config)?;
                    return Ok((spec, disksim::unmodelled(&unused)));
                }
                if name.is_some() {
                    return Err(SimError::Config("a drive in TOML has no other name than its own".into()));
                }
                let text = std::fs::read_to_string(file)
                    .map_err(|e| SimError::Config(format!("cannot read {}: {e}", file.display())))?;
                DriveSpec::from_toml_named(&text, &file.display().to_string()).map(alone).map_err(SimError::config)
            }
        }
    }
}

/// What a job comes down to.
struct System {
    drive: DriveSpec,
    array: ArrayConfig,
    load: Load,
    warnings: Vec<String>,
}

impl Job {
    fn system(&self) -> Result<System, SimError> {
        let load = self.load.clone();
        match (&self.drive, &self.array, &self.disksim) {
            (Some(drive), Some(array), None) => {
                let (drive, warnings) = drive.spec()?;
                Ok(System { drive, array: array.clone(), load, warnings })
            }
            (None, None, Some(path)) => {
                let found = disksim::system(path, &load)?;
                Ok(System { drive: found.drive, array: found.array, load: found.load, warnings: found.warnings })
            }
            _ => Err(SimError::Config("a job is a drive and an array, or a DiskSim system".into())),
        }
    }
}

/// Simulates the job; the same job gives the same tables and figures, byte for byte, but for the wall time. `policies` makes
/// the policies that are not built in.
pub fn simulate(job: &Job, policies: &dyn Policies, stop: &AtomicBool, control: &Control) -> Result<Summary, SimError> {
    let began = Instant::now();
    let System { drive: spec, array: config, load, warnings: mut said } = job.system()?;
    let model = Model::new(&spec).map_err(SimError::config)?;
    let (policy, witness) = policies::policy(&config, &spec, policies, job.oracle)?;
    let mut array = Array::with_policy(&config, &model, policy).map_err(SimError::config)?;
    let warnings = Warnings::default();
    let mut source = load.source(array.capacity(), job.seed, &warnings)?;
    let tables = job.output.as_ref().map(|output| output.folder.join("tables"));
    source.begin(Nanos(job.warmup_ns), tables.as_deref())?;
    let mut recording = Recording::new(job.reported, Nanos(job.warmup_ns), job.output.as_ref(), &spec)?;
    if recording.wants_states() {
        array.drives().for_each(|drive| drive.watch(true));
    }
    let ending = Ending {
        limit: job.limit,
        max_outstanding: job.max_outstanding,
        at_last_arrival: job.end == End::LastArrival,
        not_before: job.duration_ns.map(Nanos),
    };
    let ran = run(&mut array, &mut source, &ending, &mut recording, stop, control);
    policies::sound(&array)?;
    let ran = ran?;
    let (placed, web) = (source.placed(), source.web()?);
    drop(source);
    let (report, end) = settled(&mut array, ran.end);
    let (mut report, ran) = (report, Ran { end, ..ran });
    let tally = recording.close(&mut report)?;
    said.extend(warnings.taken());
    let oracle = match witness {
        Some(witness) => policies::oracle_of(&ran, &report, &witness, &spec),
        None if job.oracle => {
            let source = |capacity| load.source(capacity, job.seed, &Warnings::default());
            policies::oracle(&config, &model, source, &ending, stop)?
        }
        None => None,
    };
    let described =
        Described { drive: &spec, capacity: array.capacity() * SECTOR, placed, web, oracle, warnings: said };
    Ok(Summary::new(&ran, &tally, &report, described, began.elapsed()))
}

/// The report at the instant at which every drive has ended what it had begun: a cached write on its way to the medium, a
/// spin-down. So the states of all drives cover the same time.
fn settled(array: &mut Array, mut end: ModelNs) -> (Report, ModelNs) {
    loop {
        let report = array.finish(end);
        let latest = report.drives.iter().map(|did| did.ledger.until()).max().unwrap_or(end);
        if latest <= end {
            return (report, end);
        }
        end = latest;
    }
}

impl Machine for Array {
    fn submit(&mut self, now: ModelNs, request: Request) {
        Array::submit(self, now, request);
    }

    fn next_event(&self) -> Option<ModelNs> {
        Array::next_event(self)
    }

    fn advance(&mut self, now: ModelNs, done: &mut Vec<Completion>) {
        Array::advance(self, now, done);
    }

    fn outstanding(&self) -> u64 {
        Array::outstanding(self)
    }
}
