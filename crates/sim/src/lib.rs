//! The array on the simulated clock, as fast as it can go; sweeps over cores.
//!
//! 1. [`Job`] says what is to be simulated; [`simulate`] makes a [`Summary`] of it.
//! 2. [`source`]: where requests come from: a trace at its own times, a closed loop, a measured trace that waits for
//!    its answers.
//! 3. [`run`]: tells the array the time, from arrival to event, and hands every completion to who listens.
//! 4. [`Tally`]: times as histograms; [`output`]: tables of states and requests.
//! 5. [`weblog`]: a web server's log as requests to the array below it.
//! 6. [`sweep`](fn@sweep): many jobs over all cores.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod disksim;
mod distribution;
mod error;
mod job;
mod load;
pub mod output;
mod policies;
mod run;
pub mod source;
mod summary;
mod sweep;
mod tally;
mod validate;
pub mod weblog;

pub use distribution::{Distribution, Figures};
pub use error::{Kind, SimError};
pub use job::{DriveChoice, End, Job, simulate};
pub use load::{Arrivals, Load, Sharing};
pub use policies::{BuiltIn, Oracle, Policies};
pub use run::{Control, Ending, Listener, Machine, Ran, run};
pub use source::Source;
pub use summary::Summary;
pub use sweep::{Point, Swept, sweep};
pub use tally::{Reported, Tally, Times};
pub use validate::{Validate, Validation, validate};
