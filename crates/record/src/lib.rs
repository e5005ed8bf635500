//! What every engine writes, and the clock it is written by.
//!
//! 1. [`clock`]: host time, and its pairing with UTC.
//! 2. [`Request`]: one fixed-size record a request; [`request::schema`] is its table.
//! 3. [`Recorder`]: each engine thread pushes records into a [`Lane`] of its own; one writer thread turns
//!    them into Parquet row groups, histograms and live figures while the run goes on.
//! 4. [`TableWriter`]: a Parquet file that stays readable up to its last row group when the writer is killed;
//!    [`recover`] mends such a file.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod clock;
mod error;
mod footer;
pub mod histogram;
mod interval_log;
mod lane;
mod live;
mod recorder;
pub mod request;
mod requests;
mod table;

pub use error::RecordError;
pub use footer::recover;
pub use lane::Lane;
pub use live::{Live, Snapshot};
pub use recorder::{Recorder, Totals};
pub use request::{ErrorClass, Op, Phase, Request};
pub use table::TableWriter;
