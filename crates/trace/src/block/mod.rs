//! Block traces: timed requests to block devices, from any of the formats they are published in to one canonical table.

mod record;

pub use record::Record;
