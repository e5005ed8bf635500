//! Hears of every completion and keeps what a run leaves behind.

use std::path::{Path, PathBuf};

use iojoule_array::{Array, Completion, Report};
use iojoule_disk::power::{self, PowerSpec};
use iojoule_disk::{DriveSpec, PowerState};
use iojoule_record::Phase;
use iojoule_units::{ModelNs, Nanos, Watts};
use serde::Deserialize;

use super::{RequestsTable, Span, StatesTable, write_histograms};
use crate::{Listener, Reported, SimError, Tally, policies};

/// Where tables and histograms go: folders `tables` and `hist` of a run folder, which exist.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    pub folder: PathBuf,
    /// A row per request, too.
    #[serde(default)]
    pub requests: bool,
}

/// The times of a run, and its tables where they are asked for.
pub struct Recording {
    tally: Tally,
    warmup: ModelNs,
    hist: Option<PathBuf>,
    states: Option<StatesTable>,
    watts: [Option<Watts>; PowerState::COUNT],
    requests: Option<RequestsTable>,
}

impl Recording {
    pub fn new(
        reported: Reported,
        warmup: Nanos,
        output: Option<&Output>,
        drive: &DriveSpec,
    ) -> Result<Self, SimError> {
        let tables = |folder: &Path, name: &str| folder.join("tables").join(name);
        let (mut states, mut requests) = (None, None);
        if let Some(output) = output {
            let names = PowerState::ALL.map(PowerState::name);
            states = Some(StatesTable::create(&tables(&output.folder, "states.parquet"), &names)?);
            if output.requests {
                requests = Some(RequestsTable::create(&tables(&output.folder, "requests.parquet"))?);
            }
        }
        Ok(Self {
            tally: Tally::new(reported, warmup),
            warmup: ModelNs::ZERO + warmup,
            hist: output.map(|output| output.folder.join("hist")),
            states,
            watts: watts(&drive.power),
            requests,
        })
    }

    /// Whether the drives' timelines are to be kept.
    pub fn wants_states(&self) -> bool {
        self.states.is_some()
    }

    /// Writes what is left and closes the tables.
    pub fn close(mut self, report: &mut Report) -> Result<Tally, SimError> {
        if let Some(mut states) = self.states.take() {
            for (drive, did) in (0..).zip(&mut report.drives) {
                let mut left = Vec::new();
                did.ledger.end_spans(|span| left.push(span));
                left.into_iter().try_for_each(|span| states.add(row(drive, span, &self.watts)))?;
            }
            states.close()?;
        }
        if let Some(requests) = self.requests.take() {
            requests.close()?;
        }
        if let Some(hist) = &self.hist {
            write_histograms(hist, &self.tally)?;
        }
        Ok(self.tally)
    }
}

impl Listener<Array> for Recording {
    #[inline]
    fn completed(&mut self, completion: &Completion) -> Result<(), SimError> {
        self.tally.add(completion);
        match &mut self.requests {
            None => Ok(()),
            Some(table) => {
                let phase = if completion.arrived < self.warmup { Phase::Warmup } else { Phase::Measure };
                table.add(completion, phase)
            }
        }
    }

    fn look(&mut self, array: &mut Array) -> Result<(), SimError> {
        policies::sound(array)?;
        let Some(states) = &mut self.states else { return Ok(()) };
        let mut outcome = Ok(());
        for (number, drive) in (0..).zip(array.drives()) {
            drive.drain_spans(|span| {
                if outcome.is_ok() {
                    outcome = states.add(row(number, span, &self.watts));
                }
            });
        }
        outcome
    }
}

fn row(drive: u16, span: power::Span, watts: &[Option<Watts>; PowerState::COUNT]) -> Span {
    let state = span.state as u8;
    Span { drive, start: span.from, end: span.to, state, watts: watts[state as usize] }
}

fn watts(power: &PowerSpec) -> [Option<Watts>; PowerState::COUNT] {
    PowerState::ALL.map(|state| power.watts(state).ok())
}
