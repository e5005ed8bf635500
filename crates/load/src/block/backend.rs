//! What carries requests out, one each engine thread.

use crate::LoadError;
use crate::block::source::Io;

/// A request that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub slot: u32,
    /// Bytes done, or less than 0: the errno, negated.
    pub result: i32,
    /// When it was issued and done, where the backend knows better than the loop.
    pub times: Option<(i64, i64)>,
}

/// Requests go in with [`push`](Self::push), leave together with [`submit`](Self::submit) and come back by
/// [`pop`](Self::pop). A slot is one outstanding request.
pub(crate) trait Backend {
    /// Written bytes are read and read bytes are written by somebody.
    const MOVES_DATA: bool;

    /// Puts a request in line, and which buffer it reads into or writes from; slot and buffer are free.
    fn push(&mut self, slot: u32, buffer: u32, io: &Io);

    /// Hands over what was pushed, in one system call where that is possible. Returns the time it took in nanoseconds,
    /// where there was something to hand over.
    fn submit(&mut self) -> Result<Option<i64>, LoadError>;

    /// Something has come back, or will have at the next system call.
    fn news(&mut self) -> bool;

    /// Waits until something has come back, for `wait_ns` at most; 0 only looks.
    fn wait(&mut self, wait_ns: i64) -> Result<(), LoadError>;

    /// How many have come back by now.
    fn ready(&mut self) -> usize;

    /// One that has come back; those [`ready`](Self::ready) counted are there.
    fn pop(&mut self) -> Option<Done>;

    /// Cancels what can be cancelled. True where nothing is outstanding any more, so that the buffers are ours again.
    fn stop(&mut self, outstanding: usize) -> bool;

    /// Processor time of threads beside the calling one, known once it has stopped.
    fn cpu_ns(&self) -> i64 {
        0
    }
}
