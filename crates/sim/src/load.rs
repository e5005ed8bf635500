//! What is asked of the array, as a design says it, and the [`Source`] made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use iojoule_record::Op;
use iojoule_trace::block::synth::{Synth, SynthConfig};
use iojoule_trace::block::{self, Options, Reader, Record, TimeUnit, TraceError};
use iojoule_units::Nanos;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::source::{Closed, Devices, Fit, Open, Paced, Place, Random, RandomLoad};
use crate::weblog::{WebLoad, WebSource};
use crate::{SimError, Source};

/// Requests and how they arrive. One of `files`, `random`, `synth` and `weblog` is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Traces, read as one.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    pub format: Option<String>,
    pub time_unit: Option<TimeUnit>,
    pub random: Option<RandomLoad>,
    /// A synthetic trace; only one device.
    pub synth: Option<SynthLoad>,
    /// A prepared web log and the server that answers it, instead of block requests.
    pub weblog: Option<WebLoad>,
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Closed arrivals: requests outstanding.
    #[serde(default = "one")]
    pub outstanding: u32,
    /// Closed arrivals: pause between an answer and the next request.
    #[serde(default)]
    pub think_ns: i64,
    #[serde(default = "unscaled")]
    pub speed: f64,
    #[serde(default)]
    pub fit: Fit,
    #[serde(default)]
    pub devices: Sharing,
}

/// A synthetic trace by profile, with the keys of [`SynthConfig`] that are changed; the seed is the job's unless given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SynthLoad {
    pub profile: Option<String>,
    #[serde(default)]
    pub changes: Map<String, Value>,
}

fn one() -> u32 {
    1
}

fn unscaled() -> f64 {
    1.0
}

/// When requests arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    #[default]
    Open,
    Closed,
    Paced,
}

/// How the devices of a trace share the array, as a design says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    #[default]
    One,
    Merge,
    /// One behind the other; their sizes are those the trace tells, or the ends of their last requests.
    Concatenate,
    /// One behind the other, sizes in bytes by device.
    Sizes(BTreeMap<u32, u64>),
    /// First sector and sectors of each device on the array.
    At(BTreeMap<u32, (u64, u64)>),
}

impl SynthLoad {
    fn config(&self, seed: u64) -> Result<SynthConfig, SimError> {
        let mut changes = self.changes.clone();
        changes.entry("seed").or_insert_with(|| seed.into());
        Ok(SynthConfig::resolve(self.profile.as_deref(), &changes)?)
    }
}

type Records = Box<dyn Iterator<Item = Result<Record, SimError>> + Send>;

impl Load {
    /// The source of this load for an array of `capacity` sectors; a trace that must be measured first is read twice.
    pub fn source(&self, capacity: u64, seed: u64, warnings: &Warnings) -> Result<Box<dyn Source>, SimError> {
        if let Some(weblog) = &self.weblog {
            if !self.files.is_empty() || self.random.is_some() {
                return Err(SimError::Config("a load is one of trace files, a random load and a web log".into()));
            }
            return Ok(Box::new(WebSource::open(weblog, capacity, self.speed)?));
        }
        let place = self.place(capacity)?;
        let records = self.records(capacity, seed, warnings)?;
        Ok(match self.arrivals {
            Arrivals::Open => Box::new(Open::new(records, place, self.speed)?),
            Arrivals::Closed => Box::new(Closed::new(records, place, self.outstanding, Nanos(self.think_ns))?),
            Arrivals::Paced => Box::new(Paced::new(records, place)),
        })
    }

    fn records(&self, capacity: u64, seed: u64, warnings: &Warnings) -> Result<Records, SimError> {
        match (&self.random, &self.synth, self.files.is_empty()) {
            (Some(random), None, true) => Ok(Box::new(Random::new(random, capacity, seed)?)),
            (None, Some(synth), true) => Ok(Box::new(Synth::new(&synth.config(seed)?)?.map(Ok))),
            (None, None, false) => {
                let reader = block::open(&self.files, &self.options())?;
                Ok(Box::new(Traced { reader, warnings: warnings.clone() }))
            }
            _ => Err(SimError::Config("a load is one of trace files, a random load and a synthetic trace".into())),
        }
    }

    /// Numbers of the devices the trace asks for; reads it through.
    pub(crate) fn devices_asked(&self) -> Result<BTreeSet<u32>, SimError> {
        Ok(Sizes::of(block::open(&self.files, &self.options())?)?.0.into_keys().collect())
    }

    fn options(&self) -> Options {
        Options { format: self.format.clone(), time_unit: self.time_unit, ..Options::default() }
    }

    fn place(&self, capacity: u64) -> Result<Place, SimError> {
        let measured = || -> Result<Sizes, SimError> { Sizes::of(block::open(&self.files, &self.options())?) };
        if let Some(synth) = &self.synth {
            return Place::new(Devices::One, self.fit, capacity, Some(synth.config(0)?.data_bytes));
        }
        let (devices, span) = match &self.devices {
            Sharing::One if self.fit == Fit::Scale && !self.files.is_empty() => {
                (Devices::One, Some(measured()?.span()))
            }
            Sharing::Merge if self.fit == Fit::Scale => (Devices::Merged, Some(measured()?.span())),
            Sharing::One => (Devices::One, None),
            Sharing::Merge => (Devices::Merged, None),
            Sharing::Concatenate => (Devices::concatenated(&measured()?.0), None),
            Sharing::Sizes(sizes) => (Devices::concatenated(sizes), None),
            Sharing::At(places) => (Devices::Apart(places.clone()), None),
        };
        Place::new(devices, self.fit, capacity, span)
    }
}

/// What the reader of a trace found strange; known when the trace has been read.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    pub fn taken(self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A trace that leaves its reader's warnings behind.
struct Traced {
    reader: Box<dyn Reader>,
    warnings: Warnings,
}

impl Iterator for Traced {
    type Item = Result<Record, SimError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.reader.next().map(|record| record.map_err(SimError::from))
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let found = self.reader.notes().warnings;
        self.warnings.0.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }
}

/// The end of the last request to each device, in bytes.
struct Sizes(BTreeMap<u32, u64>);

impl Sizes {
    fn of(records: impl Iterator<Item = Result<Record, TraceError>>) -> Result<Self, SimError> {
        let mut sizes = BTreeMap::new();
        for record in records {
            let record = record?;
            if matches!(record.op, Op::Read | Op::Write) {
                let end = sizes.entry(record.device).or_insert(0_u64);
                *end = (*end).max(record.offset.saturating_add(record.bytes));
            }
        }
        Ok(Self(sizes))
    }

    fn span(&self) -> u64 {
        self.0.values().copied().max().unwrap_or(0)
    }
}
