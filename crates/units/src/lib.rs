//! Units as types, so that no bare number crosses a crate boundary and watts cannot be added to joules.
//! Times are integers in nanoseconds: a sum of many small steps stays exact.

mod energy;
mod time;

pub use energy::{Joules, Watts};
pub use time::{HostNs, ModelNs, Nanos};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// The address of a sector of [`SECTOR`] bytes, counted from the start of a drive or an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lba(pub u64);

/// Bytes in a sector, the unit in which drives and arrays are addressed.
pub const SECTOR: u64 = 512;
