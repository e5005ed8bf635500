//! A block trace as a source of requests.

use crate::LoadError;
use crate::block::config::ReplayLoad;
use crate::block::source::{Next, Remains, Source};
use crate::block::target::Target;

/// A trace opened, looked through and read ahead, so that its first requests are there when the clock starts.
pub(crate) struct Replay {
    /// Requests that will be issued; 0 where nobody knows.
    pub requests: u64,
    /// Bytes of the largest of them.
    pub largest: u32,
}

impl Replay {
    /// `target` gives the files, their sizes and whether they may be written.
    pub fn open(load: &ReplayLoad, _target: &Target) -> Result<Self, LoadError> {
        Err(LoadError::config("work", format!("{} cannot be replayed yet", load.trace.display())))
    }

    /// The one engine thread's requests; the trace's zero is planned at host time `epoch_ns`.
    pub fn source(self, _epoch_ns: i64) -> Requests {
        Requests
    }
}

pub(crate) struct Requests;

impl Source for Requests {
    fn next(&mut self, _now: i64) -> Next {
        Next::End
    }

    fn finish(self) -> Result<Remains, LoadError> {
        Ok(Remains::default())
    }
}
