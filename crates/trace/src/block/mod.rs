//! Block traces: timed requests to block devices, from any of the formats they are published in to one canonical table.
//!
//! 1. [`open`] recognises a format ([`format`](mod@format)) and gives a [`Reader`]: [`Record`]s in time order.
//! 2. [`table`] is the canonical Parquet table.
//! 3. [`convert`](mod@convert) selects, moves, thins and writes; [`head`](mod@head) shows the first requests.
//!    [`validate`] reads DiskSim's closed-loop traces as what they are.
//! 4. [`info`](mod@info) says what a trace is like; [`synth`] draws traces that are like it.

pub mod convert;
mod error;
mod fault;
mod field;
pub mod format;
pub mod head;
pub mod info;
mod notes;
mod open;
mod options;
mod pairing;
mod parse;
mod rate;
mod reader;
mod record;
mod sorted;
mod source;
pub mod synth;
pub mod table;
pub mod validate;

pub use convert::{ConvertOptions, Converted, convert};
pub use error::TraceError;
pub use head::{HeadOptions, Headed, head};
pub use notes::{Device, FileNote, Notes};
pub use open::{open, open_bytes};
pub use options::{Options, TimeUnit};
pub use parse::WINDOW;
pub use reader::Reader;
pub use record::Record;

#[cfg(test)]
mod tests;
