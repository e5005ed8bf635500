//! The array on the simulated clock, as fast as it can go; sweeps over cores.
//!
//! 1. [`source`]: where requests come from: a trace at its own times, a closed loop, a measured trace that waits for
//!    its answers.
//! 2. [`run`]: tells the array the time, from arrival to event, and hands every completion to who listens.
//! 3. [`Tally`] and [`Summary`]: times as histograms, energy by state, what each drive did.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod distribution;
mod error;
mod output;
mod run;
pub mod source;
mod tally;

pub use distribution::Distribution;
pub use error::{Kind, SimError};
pub use output::{RequestsTable, Span, StatesTable, write_histograms};
pub use run::{Control, Ending, Listener, Machine, Ran, run};
pub use source::Source;
pub use tally::{Reported, Tally, Times};
