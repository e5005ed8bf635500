//! Units as types, so that no bare number crosses a crate boundary and watts cannot be added to joules.
//! Times are integers in nanoseconds: a sum of many small steps stays exact.

mod energy;
mod time;

pub use energy::{Joules, Watts};
pub use time::{HostNs, Nanos};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);
