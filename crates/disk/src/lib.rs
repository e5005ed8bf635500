//! One drive: where its sectors are, how long a command takes, and what it draws meanwhile. A drive is a state
//! machine that is told the time; it never reads a clock.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cache;
mod command;
mod disk_model;
mod drive;
mod error;
mod flash;
mod geometry;
mod hard_disk;
pub mod import;
mod mechanics;
mod media;
mod model;
pub mod power;
mod presets;
mod read_ahead;
mod seek;
pub mod spec;
mod timing;
pub mod validate;
mod zone_runs;

pub use command::{Command, Op, Place, Service};
pub use drive::Drive;
pub use error::DiskError;
pub use geometry::{Geometry, Track};
pub use mechanics::Positioner;
pub use model::Model;
pub use power::{Ledger, PowerState};
pub use spec::{DriveKind, DriveSpec};
