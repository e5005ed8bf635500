//! What a block load is told, as JSON; an unknown key is an error.

use std::path::PathBuf;

use serde::Deserialize;

use crate::LoadError;
use crate::config::Waiting;

/// Most outstanding requests of a job: the kernel's ring has at most 32,768 entries, one of which is ours.
const DEEPEST: u32 = 32_767;

/// A whole block load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockConfig {
    /// The run folder; `tables` and `hist` in it exist.
    pub run: PathBuf,
    pub target: TargetSpec,
    pub work: Work,
    #[serde(default)]
    pub engine: Engine,
    #[serde(default)]
    pub waiting: Waiting,
    /// From the first request to the phase `measure`, in host time.
    #[serde(default)]
    pub warmup_ns: i64,
    /// Stay in phase `warmup` until told to measure (`Control::measure`).
    #[serde(default)]
    pub measure_when_told: bool,
    /// Length of the phase `measure`; a replay may leave it out.
    #[serde(default)]
    pub duration_ns: Option<i64>,
    /// Requests of the phase `measure`, over all jobs; the first reached of this and `duration_ns` ends the load.
    #[serde(default)]
    pub requests: Option<u64>,
    #[serde(default)]
    pub seed: u64,
    /// From the call to the epoch of the plan.
    #[serde(default = "tenth_second")]
    pub start_delay_ns: i64,
    /// After the last planned request: what is not done by then is recorded as `client_stop`.
    #[serde(default = "half_minute")]
    pub drain_ns: i64,
    #[serde(default)]
    pub verify: Option<VerifySpec>,
    #[serde(default)]
    pub content: Content,
    /// Every request recorded; false counts only, and is for finding out what recording costs.
    #[serde(default = "yes")]
    pub record: bool,
}

impl BlockConfig {
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let spans = [
            ("warmup_ns", Some(self.warmup_ns)),
            ("duration_ns", self.duration_ns),
            ("start_delay_ns", Some(self.start_delay_ns)),
            ("drain_ns", Some(self.drain_ns)),
        ];
        for (key, value) in spans {
            if let Some(value) = value.filter(|value| *value < 0) {
                return Err(LoadError::config(key, format!("{value} is below 0")));
            }
        }
        let ends = self.duration_ns.is_some() || self.requests.is_some();
        if matches!(self.work, Work::Synthetic(_)) && !ends {
            return Err(LoadError::config("duration_ns", "neither `duration_ns` nor `requests` says when to end"));
        }
        let (key, outstanding) = match &self.work {
            Work::Synthetic(load) => ("queue_depth", load.queue_depth),
            Work::Replay(load) => ("outstanding", load.outstanding),
        };
        if outstanding == 0 || outstanding > DEEPEST {
            return Err(LoadError::config(key, format!("{outstanding} is not between 1 and {DEEPEST}")));
        }
        Ok(())
    }
}

/// What is driven.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TargetSpec {
    /// Nothing: every request succeeds at once. Shows what the engine itself can do.
    Null { bytes: u64 },
    /// Block devices and files, opened as they are; `object` of a record is the index here.
    Files {
        files: Vec<FileSpec>,
        /// `O_DIRECT`.
        direct: bool,
        /// Open for writing too; without it a write is refused before the first request.
        writable: bool,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSpec {
    pub path: PathBuf,
    /// Part used, from its start; the whole where absent.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The caller holds this device for itself (`O_EXCL`) as long as the load lasts; then we need not, and could not.
    #[serde(default)]
    pub held: bool,
}

/// Which engine drives the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// `io_uring`; where the kernel denies it, threads, with a warning and in the summary.
    #[default]
    IoUring,
    /// One thread each outstanding request, `pread`/`pwrite`.
    Threads,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    Synthetic(SyntheticLoad),
    Replay(ReplayLoad),
}

/// Requests drawn from distributions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyntheticLoad {
    pub pattern: Pattern,
    #[serde(default)]
    pub mix: Mix,
    /// Sizes and their weights; one entry for a fixed size. Multiples of the target's block where it is direct.
    pub sizes: Vec<SizeShare>,
    /// Outstanding requests of each job.
    #[serde(default = "one")]
    pub queue_depth: u32,
    /// Engine threads, each with its own queue.
    #[serde(default = "one")]
    pub jobs: u32,
    #[serde(default)]
    pub arrivals: Arrivals,
    #[serde(default)]
    pub at_cap: AtCap,
    #[serde(default)]
    pub region: Region,
    /// `fsync` or `fdatasync` after every `every` writes of a job.
    #[serde(default)]
    pub flush: Option<Flush>,
}

/// Where the next request goes. Positions are multiples of the request's size (of the least size where sizes differ)
/// inside the region; several files are one address space, one behind the other, and no request crosses an edge.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// One after the other, around at the end; job j of n starts at j/n of the region.
    Sequential,
    /// Uniform, with replacement.
    Random,
    /// Rank k with probability ~ 1/k^theta (theta above 0, also above 1), ranks scattered over the region.
    Zipf { theta: f64 },
    /// Self-similar: a share `h` of the requests goes to a share `1-h` of the region (0.5 < h < 1), scattered.
    Pareto { h: f64 },
    /// Shares of the requests on bands of the region; what is left over is uniform over the whole region.
    HotBand { bands: Vec<Band> },
    /// From one to the next `stride_bytes` further on.
    Strided { stride_bytes: u64 },
}

/// `share` of the requests goes to `[from, to)` of the region, both in 0..=1; inside, uniform, or leaning to the low
/// end where `skewed`: x = from + (to − from)·u².
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    pub share: f64,
    pub from: f64,
    pub to: f64,
    #[serde(default)]
    pub skewed: bool,
}

/// Shares of the requests; what is neither written nor trimmed is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mix {
    pub write: f64,
    pub trim: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    pub bytes: u64,
    #[serde(default = "weight")]
    pub weight: f64,
}

/// When the next request is planned.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// When an earlier one is done.
    #[default]
    Closed,
    /// Every 1/rate seconds, over all jobs.
    Constant { rate_per_s: f64 },
    /// Exponential gaps of mean 1/rate, over all jobs.
    Poisson { rate_per_s: f64 },
    /// At the times of a canonical block trace, whose places are not used.
    Trace { trace: PathBuf, speedup: f64 },
}

/// What becomes of a request that is due while the cap on outstanding requests is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtCap {
    /// It waits; its planned time stays.
    #[default]
    Block,
    /// It is recorded as `dropped` and never sent.
    Drop,
    /// The load ends there, and says so.
    Stop,
}

/// Part of the target that is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Region {
    pub offset: u64,
    /// To the end where absent.
    pub bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flush {
    pub every: u64,
    /// `fdatasync` instead of `fsync`.
    #[serde(default)]
    pub data_only: bool,
}

/// A block trace as it was taken.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayLoad {
    /// A canonical table (`iojoule trace convert`).
    pub trace: PathBuf,
    /// Only these devices of it, played on the target's files in this order; all where absent, device k on file k. One
    /// file takes all devices.
    #[serde(default)]
    pub devices: Option<Vec<u32>>,
    /// Trace time over host time.
    #[serde(default = "unity")]
    pub speedup: f64,
    /// Host time from the first request to the last, instead of a speed-up.
    #[serde(default)]
    pub fit_ns: Option<i64>,
    /// Share of the requests kept, chosen at equal distances (TRACER): 0.25 keeps every fourth.
    #[serde(default = "unity")]
    pub keep: f64,
    /// Not at the trace's times but each as soon as one is done.
    #[serde(default)]
    pub as_fast_as_possible: bool,
    /// Cap on outstanding requests.
    #[serde(default = "outstanding")]
    pub outstanding: u32,
    #[serde(default)]
    pub at_cap: AtCap,
    #[serde(default)]
    pub remap: Remap,
    #[serde(default)]
    pub align: Align,
    /// Writes, trims and flushes are done too; otherwise they are left out and counted.
    #[serde(default)]
    pub writes: bool,
    /// Leave out what the trace plans at or after this time of its own.
    #[serde(default)]
    pub until_ns: Option<i64>,
    #[serde(default)]
    pub max_requests: Option<u64>,
}

/// How an address beyond the target is brought onto it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remap {
    /// An address beyond the end is an error before the first request.
    #[default]
    Refuse,
    /// Modulo the target's size, in pages of 4 KiB.
    Wrap,
    /// Stretched or shrunk by target size / trace size, page by page of 4 KiB.
    Scale,
}

/// What becomes of a request that is not whole blocks where the target asks for such (`O_DIRECT`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// It is an error before the first request.
    #[default]
    Refuse,
    /// It is made larger, to the whole blocks around it.
    Round,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Content {
    /// Original over compressed size that a compressor of 4 KiB blocks should reach; 1 is incompressible.
    pub compression: f64,
    /// All over distinct blocks of 4 KiB; 1 has no duplicates.
    pub deduplication: f64,
}

impl Default for Content {
    fn default() -> Self {
        Self { compression: 1.0, deduplication: 1.0 }
    }
}

/// What was written is stamped; what is read is checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifySpec {
    /// Generations written and acknowledged, kept over restarts.
    pub state: PathBuf,
    /// Bytes that carry one stamp; every request is a multiple of it, and so is its place.
    pub block_bytes: u32,
}

fn one() -> u32 {
    1
}
fn unity() -> f64 {
    1.0
}
fn weight() -> f64 {
    1.0
}
fn yes() -> bool {
    true
}
fn outstanding() -> u32 {
    1024
}
fn tenth_second() -> i64 {
    100_000_000
}
fn half_minute() -> i64 {
    30_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_configuration_is_read() {
        let text = r#"{"run": "r", "target": {"kind": "files", "files": [{"path": "/dev/loop0"}], "direct": true,
            "writable": false}, "work": {"kind": "synthetic", "pattern": {"kind": "zipf", "theta": 0.9},
            "sizes": [{"bytes": 4096}], "queue_depth": 32, "arrivals": {"kind": "poisson", "rate_per_s": 5000.0}},
            "duration_ns": 1000000000}"#;
        let config: BlockConfig = serde_json::from_str(text).unwrap();
        let Work::Synthetic(load) = config.work else { panic!("not synthetic") };
        assert_eq!((load.queue_depth, load.jobs), (32, 1));
        assert_eq!(load.pattern, Pattern::Zipf { theta: 0.9 });
        assert!(serde_json::from_str::<BlockConfig>(&text.replace("queue_depth", "queue_dept")).is_err());
    }
}
