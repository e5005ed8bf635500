//! One drive: where its sectors are, how long a command takes, and what it draws meanwhile. A drive is a state
//! machine that is told the time; it never reads a clock.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod command;
mod error;
pub mod power;
pub mod spec;

pub use command::{Command, Op, Place, Service};
pub use error::DiskError;
pub use spec::{DriveKind, DriveSpec};
