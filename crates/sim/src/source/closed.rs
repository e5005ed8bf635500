//! A closed loop: always so many requests outstanding, the next one sent the moment one is answered (or `think` later).

use iojoule_array::{Completion, Request};
use iojoule_trace::block::Record;
use iojoule_units::{ModelNs, Nanos};

use super::{Place, Placed, Source};
use crate::SimError;

/// Records in their order, `outstanding` at a time; their times are not looked at.
pub struct Closed<I> {
    records: I,
    place: Place,
    think: Nanos,
    /// When the slots that are free may send, in order: `think` is the same for all, so times never go back.
    free: std::collections::VecDeque<ModelNs>,
    next: Option<Request>,
}

impl<I, E> Closed<I>
where
    I: Iterator<Item = Result<Record, E>>,
    E: Into<SimError>,
{
    pub fn new(records: I, place: Place, outstanding: u32, think: Nanos) -> Result<Self, SimError> {
        if outstanding == 0 {
            return Err(SimError::Config("a closed loop needs at least one outstanding request".into()));
        }
        let free = std::iter::repeat_n(ModelNs::ZERO, outstanding as usize).collect();
        Ok(Self { records, place, think, free, next: None })
    }
}

impl<I, E> Source for Closed<I>
where
    I: Iterator<Item = Result<Record, E>>,
    E: Into<SimError>,
{
    fn next_at(&mut self) -> Result<Option<ModelNs>, SimError> {
        let Some(&at) = self.free.front() else { return Ok(None) };
        while self.next.is_none() {
            let Some(record) = self.records.next() else { return Ok(None) };
            self.next = self.place.request(&record.map_err(Into::into)?)?;
        }
        Ok(Some(at))
    }

    fn take(&mut self) -> Option<Request> {
        self.free.pop_front();
        self.next.take()
    }

    fn waits_for_answers(&self) -> bool {
        true
    }

    fn completed(&mut self, completion: &Completion) {
        self.free.push_back(completion.done + self.think);
    }

    fn placed(&self) -> Placed {
        self.place.placed
    }
}
