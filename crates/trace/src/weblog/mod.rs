//! Access logs of web servers.
//!
//! 1. [`input`] opens plain or compressed files and cuts them into lines; [`line`] parses one.
//! 2. [`info`](mod@info) counts what a log holds, in memory that does not grow with it.
//! 3. [`prepare`](mod@prepare) makes the replay table: [`select`] and [`rules`] decide which lines stay, [`names`]
//!    pseudonymises them, [`sort`] brings them into time order, [`spread`] places them inside their second.
//! 4. [`synth`](mod@synth) writes a log that never happened.

mod distinct;
mod error;
pub mod format;
pub mod info;
pub mod input;
pub mod line;
mod material;
mod statics;
pub mod time;

pub use error::{Kind, WeblogError};
pub use info::{Info, InfoOptions, info};
pub use statics::is_static;
