//! Many drives as one: layouts, schedulers, policies, write propagation, a memory cache, faults. The array is a state
//! machine that is told the time and asked what happens next: it never sleeps, spawns or reads a clock, and knows
//! nothing of requests that have not come.
//!
//! 1. [`layout`]: what each drive must do for a request, as a [`Plan`].
//! 2. [`policy`]: when drives rest, and which gear the array runs in.
//! 3. [`scheduler`]: which of the waiting requests a drive serves next.
//! 4. [`ArrayConfig`] describes an [`Array`]; its driver tells it requests and the time, and it answers with
//!    [`Completion`]s and at the end with a [`Report`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod array;
mod cache;
mod config;
mod engine;
mod error;
pub mod layout;
mod plan;
pub mod policy;
mod report;
mod request;
pub mod scheduler;

pub use array::Array;
pub use config::{ArrayConfig, CacheConfig, Fault, FaultKind, OverheadAt, Phase, Propagation, ReadChoice, StepConfig};
pub use error::ArrayError;
pub use plan::{Extent, Health, Need, Piece, Plan, Wait};
pub use report::{Counters, DriveReport, Report, Unfinished};
pub use request::{Completion, Request};
pub use scheduler::SchedulerKind;
