//! What of the configuration the machinery asks while it runs.

use iojoule_units::Nanos;

use crate::config::{Propagation, ReadChoice, StepConfig};
use crate::scheduler::SchedulerKind;

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub scheduler: SchedulerKind,
    pub age_limit: Option<Nanos>,
    pub read_choice: ReadChoice,
    pub propagation: Propagation,
    pub nvram_entries: u32,
    pub idle_delay: Nanos,
    /// Added to the answer of a request that drives served.
    pub answer_overhead: Nanos,
    /// Added to every command.
    pub command_overhead: Nanos,
    pub rebuild: StepConfig,
    pub sync: StepConfig,
}
