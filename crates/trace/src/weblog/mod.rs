//! Access logs of web servers.
//!
//! 1. [`input`] opens plain or compressed files and cuts them into lines; [`line`](mod@line) parses one.
//! 2. [`info`](mod@info) counts what a log holds, in memory that does not grow with it.
//! 3. [`prepare`](mod@prepare) makes the replay table: [`select`] and [`rules`] decide which lines stay, [`names`]
//!    pseudonymises them, `sort` brings them into time order, [`spread`] places them inside their second.
//! 4. [`synth`](mod@synth) writes a log that never happened.

mod arrivals;
mod distinct;
mod error;
pub mod format;
pub mod info;
pub mod input;
mod keeper;
mod key;
pub mod line;
mod material;
pub mod names;
mod objects;
pub mod prepare;
mod prepare_options;
pub mod rules;
pub mod select;
mod site;
mod sort;
pub mod spread;
mod statics;
pub mod synth;
mod table;
pub mod time;
mod zipf;

pub use error::WeblogError;
pub use info::{Info, InfoOptions, info};
pub use prepare::{Prepared, prepare};
pub use prepare_options::PrepareOptions;
pub use statics::is_static;
pub use synth::{SynthOptions, Synthesised, synth};
