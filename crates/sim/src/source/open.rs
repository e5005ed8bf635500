//! Open arrivals: each record comes at its time, whether or not the array keeps up.

use iojoule_array::Request;
use iojoule_trace::block::Record;
use iojoule_units::ModelNs;

use super::{Place, Placed, Source};
use crate::SimError;

/// Records at their own times divided by `speed`.
pub struct Open<I> {
    records: I,
    place: Place,
    speed: f64,
    next: Option<(ModelNs, Request)>,
    last: ModelNs,
}

impl<I, E> Open<I>
where
    I: Iterator<Item = Result<Record, E>>,
    E: Into<SimError>,
{
    /// `speed`: 2.0 plays the trace in half its time; above 0.
    pub fn new(records: I, place: Place, speed: f64) -> Result<Self, SimError> {
        if !(speed.is_finite() && speed > 0.0) {
            return Err(SimError::Config(format!("speed must be above 0, not {speed}")));
        }
        Ok(Self { records, place, speed, next: None, last: ModelNs::ZERO })
    }

    fn arrival(&self, record: &Record) -> ModelNs {
        // An unscaled time stays the integer it is.
        let at = if self.speed == 1.0 { record.at.0 } else { (record.at.0 as f64 / self.speed).round() as i64 };
        ModelNs(at).max(self.last)
    }
}

impl<I, E> Source for Open<I>
where
    I: Iterator<Item = Result<Record, E>>,
    E: Into<SimError>,
{
    #[inline]
    fn next_at(&mut self) -> Result<Option<ModelNs>, SimError> {
        while self.next.is_none() {
            let Some(record) = self.records.next() else { return Ok(None) };
            let record = record.map_err(Into::into)?;
            if let Some(request) = self.place.request(&record)? {
                self.last = self.arrival(&record);
                self.next = Some((self.last, request));
            }
        }
        Ok(self.next.map(|(at, _)| at))
    }

    #[inline]
    fn take(&mut self) -> Option<Request> {
        self.next.take().map(|(_, request)| request)
    }

    fn placed(&self) -> Placed {
        self.place.placed
    }
}
