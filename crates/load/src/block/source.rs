//! What comes next: the one question an engine thread asks.

use iojoule_record::Op;

/// A request before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Io {
    /// Number over the whole load; unique.
    pub seq: u64,
    /// Host time at which it should leave; [`Io::NOW`] in a closed loop.
    pub planned_ns: i64,
    pub op: Op,
    /// Index of the file it goes to.
    pub file: u32,
    pub offset: u64,
    pub bytes: u32,
}

impl Io {
    /// Planned for the instant at which it is taken.
    pub const NOW: i64 = i64::MIN;
}

/// The answer of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This one is due.
    Io(Io),
    /// Nothing is due before this host time.
    At(i64),
    /// Nothing will come any more.
    End,
}

/// One engine thread's requests, in planned order.
pub(crate) trait Source {
    /// The next request that is due by `now` (host time).
    fn next(&mut self, now: i64) -> Next;
}
