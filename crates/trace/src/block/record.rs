//! One request of a block trace.

use iojoule_record::Op;
use iojoule_units::Nanos;

/// One request of a block trace, in the order of its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Arrival after the trace's first request; never less than the one before.
    pub at: Nanos,
    pub device: u32,
    pub op: Op,
    /// Bytes from the start of the device.
    pub offset: u64,
    pub bytes: u64,
    /// Whether the issuer went on without waiting; `None` where the format does not say.
    pub asynchronous: Option<bool>,
    /// What the traced system took from arrival to completion, where it was measured.
    pub response: Option<Nanos>,
}
