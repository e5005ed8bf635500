//! Where requests come from. A source says when its next request arrives; one that waits for answers is told of them.
//!
//! 1. [`Open`]: records at their own times, however late the array is.
//! 2. [`Closed`]: always so many outstanding; the times of the records are not looked at.
//! 3. [`Paced`]: each record waits for the one before it to be answered, then as long as the traced system waited.
//! 4. [`Place`]: how a record's device and address become an address of the array.
//! 5. [`Random`]: records that never happened, without a trace file.

mod closed;
mod open;
mod paced;
mod place;
mod random;

use std::path::Path;

use iojoule_array::{Completion, Request};
use iojoule_units::{ModelNs, Nanos};

use crate::SimError;
use crate::weblog::WebReport;

pub use closed::Closed;
pub use open::Open;
pub use paced::Paced;
pub use place::{Devices, Fit, Place, Placed};
pub use random::{Random, RandomLoad};

/// Where requests come from.
pub trait Source {
    /// When the next request arrives, as far as is known now; `None`: never, or not before an answer. Never earlier
    /// than a time said before.
    fn next_at(&mut self) -> Result<Option<ModelNs>, SimError>;

    /// The request `next_at` spoke of; its `id` is free.
    fn take(&mut self) -> Option<Request>;

    /// Whether answers bring requests: then `completed` must be told of each before time goes on.
    fn waits_for_answers(&self) -> bool {
        false
    }

    /// A request has ended.
    fn completed(&mut self, _completion: &Completion) {}

    /// Before anything else: requests that arrive before `warmup` are left out of the times of [`Source::web`], and a source
    /// that has more to tell than the array does writes it into `tables`, a folder.
    fn begin(&mut self, _warmup: Nanos, _tables: Option<&Path>) -> Result<(), SimError> {
        Ok(())
    }

    /// What became of the requests of a web log, at the end.
    fn web(&mut self) -> Result<Option<WebReport>, SimError> {
        Ok(None)
    }

    /// What was done to the records on their way.
    fn placed(&self) -> Placed {
        Placed::default()
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next_at(&mut self) -> Result<Option<ModelNs>, SimError> {
        (**self).next_at()
    }

    fn take(&mut self) -> Option<Request> {
        (**self).take()
    }

    fn waits_for_answers(&self) -> bool {
        (**self).waits_for_answers()
    }

    fn completed(&mut self, completion: &Completion) {
        (**self).completed(completion);
    }

    fn begin(&mut self, warmup: Nanos, tables: Option<&Path>) -> Result<(), SimError> {
        (**self).begin(warmup, tables)
    }

    fn web(&mut self) -> Result<Option<WebReport>, SimError> {
        (**self).web()
    }

    fn placed(&self) -> Placed {
        (**self).placed()
    }
}
