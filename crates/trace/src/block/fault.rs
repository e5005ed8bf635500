//! Why one record is not a request.

use std::borrow::Cow;
use std::io;

/// What is wrong with a record and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub Cow<'static, str>);

impl Fault {
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }
}

/// Why a reader did not give a request.
#[derive(Debug)]
pub(crate) enum Stop {
    Io(io::Error),
    /// The record is broken, and the next one can be found.
    Broken(Fault),
    /// The record is broken, and where the next one begins is unknown.
    Lost(Fault),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Stop {
    /// A record of `length` bytes of which the file has only `have`.
    pub fn cut(length: usize, have: usize) -> Self {
        let reason = format!(
            "the file ends inside a record: {have} of its {length} bytes are there; the trace is truncated, fetch it again"
        );
        Self::Lost(Fault::new(reason))
    }
}
