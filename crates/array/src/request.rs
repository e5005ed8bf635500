//! What is asked of an array, and what it answers.

use iojoule_disk::Op;
use iojoule_units::{Lba, ModelNs};

/// One request to the array; `id` is the caller's and comes back with its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: u64,
    pub op: Op,
    pub lba: Lba,
    pub sectors: u32,
    /// A write the caller does not wait for; a memory cache in front may hold it back.
    pub asynchronous: bool,
}

/// How a request ended. Queue time is `started − arrived`, service time `done − started`, response time their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub request: Request,
    pub arrived: ModelNs,
    /// The first of its commands was given to a drive (or the memory cache answered).
    pub started: ModelNs,
    pub done: ModelNs,
    /// False where the data are lost: more drives failed than the layout bears.
    pub served: bool,
}
