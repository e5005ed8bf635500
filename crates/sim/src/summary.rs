//! What a run found, in the units a person reads: the document of `iojoule sim run --json`.

use std::collections::BTreeMap;
use std::time::Duration;

use iojoule_array::{Counters, DriveReport, Report, Unfinished};
use iojoule_disk::{DriveSpec, PowerState};
use iojoule_units::{ModelNs, Nanos};
use serde::Serialize;

use crate::distribution::Figures;
use crate::policies::Oracle;
use crate::source::Placed;
use crate::weblog::WebReport;
use crate::{Ran, Tally, Times};

/// The document of one run. Times are of the reported requests; everything else is of the whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Requests answered, reported or not.
    pub requests: u64,
    pub simulated_s: f64,
    pub wall_s: f64,
    /// Answers per simulated second.
    pub rate_per_s: Option<f64>,
    pub bytes: u64,
    /// False where the run was given up because too many requests were outstanding.
    pub sustained: bool,
    pub most_outstanding: u64,
    /// Requests that had no answer when the run ended.
    pub unanswered: u64,
    pub response_ms: Figures,
    pub service_ms: Figures,
    pub queue_ms: Figures,
    pub reads: Kind,
    pub writes: Kind,
    /// Requests answered but left out of the times: during warm-up, or asynchronous.
    pub left_out: u64,
    /// Requests whose data no drive holds any more.
    pub lost: u64,
    pub placed: Placed,
    /// Of all drives; null where a drive's power is not known, and `energy_reason` says why.
    pub energy_j: Option<f64>,
    pub mean_w: Option<f64>,
    pub energy_reason: Option<String>,
    /// Where the watts come from: a model, never a meter.
    pub boundary: &'static str,
    pub spinups: u64,
    pub drives: Vec<DriveSummary>,
    /// Gear changes; empty where the layout has no gears.
    pub gears: Vec<GearChange>,
    /// How often things happened in the array, by name.
    pub counters: BTreeMap<&'static str, u64>,
    /// The drive's name.
    pub drive: String,
    pub capacity_bytes: u64,
    /// What became of the requests of a web log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebReport>,
    /// What drives that know the future would have drawn; null where the drive's power is not known.
    pub oracle: Option<Oracle>,
    /// What the trace's reader found strange, and drives that were not rebuilt when the run ended.
    pub warnings: Vec<String>,
}

/// From when on which gear served; gears count from 0, the lowest.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GearChange {
    pub at_s: f64,
    pub gear: u8,
}

/// Reads or writes.
#[derive(Clone, Debug, Serialize)]
pub struct Kind {
    pub requests: u64,
    pub response_ms: Figures,
    pub service_ms: Figures,
    pub queue_ms: Figures,
}

#[derive(Clone, Debug, Serialize)]
pub struct DriveSummary {
    /// Share of the time with a command in service.
    pub busy: f64,
    pub commands: u64,
    /// Failed at the end.
    pub failed: bool,
    pub energy_j: Option<f64>,
    pub mean_w: Option<f64>,
    /// Seconds by state; they add up to the run.
    pub states_s: BTreeMap<&'static str, f64>,
    pub spinups: u64,
}

impl From<&Times> for Kind {
    fn from(times: &Times) -> Self {
        let response_ms = times.response.figures();
        let (service_ms, queue_ms) = (times.service.figures(), times.queue.figures());
        Self { requests: response_ms.count, response_ms, service_ms, queue_ms }
    }
}

/// What was simulated.
pub struct Described<'a> {
    pub drive: &'a DriveSpec,
    /// Bytes the array offers.
    pub capacity: u64,
    pub placed: Placed,
    pub web: Option<WebReport>,
    pub oracle: Option<Oracle>,
    pub warnings: Vec<String>,
}

impl Summary {
    pub fn new(ran: &Ran, tally: &Tally, report: &Report, described: Described<'_>, wall: Duration) -> Self {
        let all = Kind::from(&tally.all());
        let span = ran.end - ModelNs::ZERO;
        let mut energy_reason = None;
        let drives: Vec<DriveSummary> =
            report.drives.iter().map(|one| drive(one, described.drive, span, &mut energy_reason)).collect();
        let energy_j = drives.iter().map(|d| d.energy_j).sum::<Option<f64>>();
        Self {
            requests: ran.completed,
            simulated_s: span.as_secs_f64(),
            wall_s: wall.as_secs_f64(),
            rate_per_s: per_second(ran.completed as f64, span),
            bytes: tally.bytes,
            sustained: ran.sustained,
            most_outstanding: ran.most_outstanding,
            unanswered: ran.submitted - ran.completed,
            response_ms: all.response_ms,
            service_ms: all.service_ms,
            queue_ms: all.queue_ms,
            reads: Kind::from(&tally.reads),
            writes: Kind::from(&tally.writes),
            left_out: tally.left_out,
            lost: tally.lost,
            placed: described.placed,
            energy_j,
            mean_w: energy_j.and_then(|joules| per_second(joules, span)),
            energy_reason,
            boundary: "modelled",
            spinups: drives.iter().map(|d| d.spinups).sum(),
            drives,
            gears: report
                .gears
                .iter()
                .map(|&(at, gear)| GearChange { at_s: seconds(at - ModelNs::ZERO), gear })
                .collect(),
            counters: by_name(&report.counters),
            drive: described.drive.name.clone(),
            capacity_bytes: described.capacity,
            web: described.web,
            oracle: described.oracle.map(|oracle| Oracle {
                ratio: energy_j.filter(|_| oracle.energy_j > 0.0).map(|joules| joules / oracle.energy_j),
                ..oracle
            }),
            warnings: described.warnings.into_iter().chain(report.unfinished.iter().map(not_whole)).collect(),
        }
    }
}

fn drive(did: &DriveReport, spec: &DriveSpec, span: Nanos, reason: &mut Option<String>) -> DriveSummary {
    let energy = spec.energy(&did.ledger);
    let energy_j = energy.as_ref().ok().map(|joules| joules.0);
    if let Err(error) = energy {
        reason.get_or_insert_with(|| error.to_string());
    }
    let state = |state: PowerState| (state.name(), seconds(did.ledger.dwell(state)));
    DriveSummary {
        busy: per_second(seconds(did.busy), span).unwrap_or(0.0),
        commands: did.commands,
        failed: did.failed,
        energy_j,
        mean_w: energy_j.and_then(|joules| per_second(joules, span)),
        states_s: PowerState::ALL.into_iter().map(state).filter(|(_, s)| *s > 0.0).collect(),
        spinups: did.ledger.spin_ups(),
    }
}

fn not_whole(one: &Unfinished) -> String {
    let percent = 100.0 * one.good as f64 / one.of.max(1) as f64;
    format!("drive {} is rebuilt to {} %; the run ended before the rest", one.drive, percent.floor())
}

fn by_name(counters: &Counters) -> BTreeMap<&'static str, u64> {
    let Counters {
        propagated,
        propagation_forced,
        propagation_superseded,
        pending,
        reads_after_propagation,
        cache_hits,
        cache_misses,
        cache_written_back,
        replanned,
        lost,
        rebuilt_sectors,
        rebuilds,
        synced,
        shifts,
    } = *counters;
    BTreeMap::from([
        ("propagated", propagated),
        ("propagation_forced", propagation_forced),
        ("propagation_superseded", propagation_superseded),
        ("pending", pending),
        ("reads_after_propagation", reads_after_propagation),
        ("cache_hits", cache_hits),
        ("cache_misses", cache_misses),
        ("cache_written_back", cache_written_back),
        ("replanned", replanned),
        ("lost", lost),
        ("rebuilt_sectors", rebuilt_sectors),
        ("rebuilds", rebuilds),
        ("synced", synced),
        ("shifts", shifts),
    ])
}

fn seconds(time: Nanos) -> f64 {
    time.as_secs_f64()
}

fn per_second(amount: f64, span: Nanos) -> Option<f64> {
    (span.0 > 0).then(|| amount / span.as_secs_f64())
}
