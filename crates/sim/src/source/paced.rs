//! A measured trace that waits for its answers: each request is sent as long after the answer to the one before it as
//! it was on the traced system. So a DiskSim "validate" trace is replayed: sending at the measured times would mix the
//! measured drive's speed into the simulated one's.

use iojoule_array::{Completion, Request};
use iojoule_trace::block::Record;
use iojoule_units::{ModelNs, Nanos};

use super::{Place, Placed, Source};
use crate::SimError;

/// Records one at a time; every one must say what its response time was.
pub struct Paced<I> {
    records: I,
    place: Place,
    /// When the record before was answered on the traced system, and on the simulated one.
    before: Option<(Nanos, Option<ModelNs>)>,
    next: Option<(ModelNs, Request)>,
    ended: bool,
}

impl<I, E> Paced<I>
where
    I: Iterator<Item = Result<Record, E>>,
    E: Into<SimError>,
{
    pub fn new(records: I, place: Place) -> Self {
        Self { records, place, before: None, next: None, ended: false }
    }
}

impl<I, E> Source for Paced<I>
where
    I: Iterator<Item = Result<Record, E>>,
    E: Into<SimError>,
{
    fn next_at(&mut self) -> Result<Option<ModelNs>, SimError> {
        while self.next.is_none() && !self.ended {
            let pause_from = match self.before {
                None => None,
                Some((measured, Some(simulated))) => Some((measured, simulated)),
                // The one before is still on its way.
                Some((_, None)) => return Ok(None),
            };
            let Some(record) = self.records.next() else {
                self.ended = true;
                break;
            };
            let record = record.map_err(Into::into)?;
            let Some(response) = record.response else {
                return Err(SimError::Config("a paced replay needs a trace with measured response times".into()));
            };
            let Some(request) = self.place.request(&record)? else { continue };
            let at = match pause_from {
                None => ModelNs(record.at.0),
                Some((measured, simulated)) => simulated + Nanos((record.at - measured).0.max(0)),
            };
            self.before = Some((record.at + response, None));
            self.next = Some((at, request));
        }
        Ok(self.next.map(|(at, _)| at))
    }

    fn take(&mut self) -> Option<Request> {
        self.next.take().map(|(_, request)| request)
    }

    fn waits_for_answers(&self) -> bool {
        true
    }

    fn completed(&mut self, completion: &Completion) {
        if let Some((_, simulated)) = &mut self.before {
            *simulated = Some(completion.done);
        }
    }

    fn placed(&self) -> Placed {
        self.place.placed
    }
}
