//! What comes next: the one question an engine thread asks.

use iojoule_record::Op;

use crate::LoadError;

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
    /// The next request that is due by `now` (host time). It is not asked again before that request has found a place
    /// among the outstanding ones, save where the policy at the cap is to drop or to stop.
    fn next(&mut self, now: i64) -> Next;

    /// A request that was taken from here has come back; `fine` where all of it was done.
    fn done(&mut self, _io: &Io, _fine: bool) {}

    /// The load is over: what was not played, or why the requests ended before their time.
    fn finish(self) -> Result<Remains, LoadError>
    where
        Self: Sized,
    {
        Ok(Remains::default())
    }
}

/// What a source still held when the load ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remains {
    /// Planned, and not due when the load was ended.
    pub unplayed: u64,
    /// Left out because writing was not allowed.
    pub left_out: u64,
    pub warnings: Vec<String>,
}
