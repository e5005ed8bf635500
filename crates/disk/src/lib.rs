//! One drive: where its sectors are, how long a command takes, and what it draws meanwhile. A drive is a state
//! machine that is told the time; it never reads a clock.
//!
//! 1. A [`DriveSpec`] says what a drive is, in its file's words; [`import`] makes one from DiskSim's files.
//! 2. [`Model`] compiles it: tables of tracks and seek times, overheads and bus in whole nanoseconds. Drives of a kind share it.
//! 3. A [`Drive`] takes a [`Command`] and answers with a [`Service`]. Reading ahead and writing behind are worked out when
//!    the next command comes; between commands nothing runs. A [`Positioner`] says what a command would wait for.
//! 4. The [`Ledger`] holds how long the drive was in each [`PowerState`]; energy is its product with the figures of [`power`].
//! 5. [`validate`] holds a model against a measured disk.

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
