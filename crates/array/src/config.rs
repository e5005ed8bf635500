//! The description of an array: what a configuration file says. Times are whole nanoseconds, sizes sectors.

use serde::{Deserialize, Serialize};

use crate::layout::LayoutConfig;
use crate::policy::PolicyConfig;
use crate::scheduler::SchedulerKind;

/// An array of equal drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayConfig {
    pub drives: u16,
    pub layout: LayoutConfig,
    /// Sectors.
    #[serde(default = "defaults::stripe_unit")]
    pub stripe_unit: u32,
    #[serde(default)]
    pub scheduler: SchedulerKind,
    /// A request that has waited longer is served first, the oldest before others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_limit_ns: Option<i64>,
    /// Which of several drives with the same data is read.
    #[serde(default)]
    pub read_choice: ReadChoice,
    /// When the other copies of written data follow the first.
    #[serde(default)]
    pub propagation: Propagation,
    /// Copies that may be pending; when it is full a write ends with its last copy.
    #[serde(default = "defaults::nvram_entries")]
    pub nvram_entries: u32,
    /// A drive without requests for this long works on pending copies and rebuilds.
    #[serde(default)]
    pub idle_delay_ns: i64,
    #[serde(default)]
    pub policy: PolicyConfig,
    /// A memory cache in the host, in front of the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheConfig>,
    /// Added to every request that drives serve: processing, transfer, whatever the drive's model leaves out.
    #[serde(default)]
    pub overhead_ns: i64,
    #[serde(default)]
    pub overhead_at: OverheadAt,
    #[serde(default)]
    pub phase: Phase,
    /// Of everything that is drawn: phases, policies.
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// How a rebuild runs beside the load.
    #[serde(default)]
    pub rebuild: StepConfig,
    /// How a shift of gears brings blocks up to date beside the load.
    #[serde(default)]
    pub sync: StepConfig,
}

/// Which of several drives with the same data is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadChoice {
    /// The idle drive that reaches the data first; where none is idle, the drive that comes to it first.
    #[default]
    FirstServed,
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest commands; of equals the one with the nearest sector number.
    ShortestQueue,
}

/// When the copies of a write beyond the first are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Propagation {
    /// In the drives' idle time; until then the copies are stale and not read.
    #[default]
    Background,
    /// Before the write ends.
    Foreground,
    /// Never, and no copy counts as stale: what replication would give if it were free.
    None,
}

/// What the constant overhead delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverheadAt {
    /// The answer; the drive goes on.
    #[default]
    Response,
    /// The drive, with every command.
    Drive,
}

/// The angles at which the spindles begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// All the same, as DiskSim 4.0 does.
    Same,
    /// Drawn from the seed, as drives are.
    #[default]
    Random,
}

/// A least-recently-used cache of blocks in the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Sectors.
    pub block: u32,
    pub blocks: u32,
    /// Time of a request that memory answers.
    #[serde(default)]
    pub hit_ns: i64,
    /// Writes nobody waits for are held back and written at this interval; unset, they are written as they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_ns: Option<i64>,
}

/// Something that happens to a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub drive: u16,
    pub at_ns: i64,
    pub kind: FaultKind,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    Fail,
    /// A new drive takes the failed one's place and is rebuilt.
    Replace,
}

/// Work beside the load, done in steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// Steps under way at once.
    #[serde(default = "defaults::outstanding")]
    pub outstanding: u32,
    /// Least share of a busy drive's commands, 0 to 1; idle time is used in any case.
    #[serde(default = "defaults::share")]
    pub share: f64,
}

impl Default for StepConfig {
    fn default() -> Self {
        Self { outstanding: defaults::outstanding(), share: defaults::share() }
    }
}

mod defaults {
    pub(super) fn stripe_unit() -> u32 {
        128
    }

    pub(super) fn nvram_entries() -> u32 {
        10_000
    }

    pub(super) fn outstanding() -> u32 {
        1
    }

    pub(super) fn share() -> f64 {
        0.1
    }
}
