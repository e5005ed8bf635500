//! How a trace's devices and addresses become addresses of the array. The trace was taken on other hardware, so what
//! does not fit is a decision of the design, never an accident: wrapped, scaled or refused, and counted.

use std::collections::BTreeMap;

use iojoule_array::Request;
use iojoule_disk::Op;
use iojoule_record::Op as TraceOp;
use iojoule_trace::block::Record;
use iojoule_units::{Lba, SECTOR};
use serde::{Deserialize, Serialize};

use crate::SimError;

/// What is done with an address beyond the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// It is an error.
    #[default]
    Refuse,
    /// The address is taken modulo the capacity.
    Wrap,
    /// Every address is multiplied by capacity / size of the trace's address space, in whole sectors; sizes of requests
    /// stay.
    Scale,
}

/// How the devices of a trace share the array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// There is one; another one is an error.
    #[default]
    One,
    /// All speak of the same addresses.
    Merged,
    /// Each begins at an address of its own: first sector and sectors by device number.
    Apart(BTreeMap<u32, (u64, u64)>),
}

impl Devices {
    /// One device behind the other, in the order of their numbers; sizes in bytes.
    pub fn concatenated(sizes: &BTreeMap<u32, u64>) -> Self {
        let mut next = 0;
        let place = |(&device, &bytes): (&u32, &u64)| {
            let (first, sectors) = (next, bytes.div_ceil(SECTOR));
            next += sectors;
            (device, (first, sectors))
        };
        Self::Apart(sizes.iter().map(place).collect())
    }

    /// Sectors from the first to the last address of all devices, where they are known.
    fn span(&self) -> Option<u64> {
        match self {
            Self::Apart(places) => places.values().map(|(first, sectors)| first + sectors).max(),
            Self::One | Self::Merged => None,
        }
    }
}

/// What was done to the records on their way to the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// Requests that became requests to the array.
    pub taken: u64,
    /// Addresses moved into the array because they were beyond it.
    pub wrapped: u64,
    /// Requests larger than the whole array, cut to its size.
    pub cut: u64,
    /// Trims, flushes and requests of no bytes: a drive model has no work for them.
    pub skipped: u64,
}

/// The rule for one run.
#[derive(Clone, Debug)]
pub struct Place {
    devices: Devices,
    fit: Fit,
    /// Sectors of the array.
    capacity: u64,
    /// Sectors of the trace's address space, for [`Fit::Scale`].
    span: u64,
    only: Option<u32>,
    pub placed: Placed,
}

impl Place {
    /// `trace_span`: bytes of the trace's address space; needed to scale unless the devices' sizes are known.
    pub fn new(devices: Devices, fit: Fit, capacity: u64, trace_span: Option<u64>) -> Result<Self, SimError> {
        let span = trace_span.map(|bytes| bytes.div_ceil(SECTOR)).or(devices.span());
        if capacity == 0 {
            return Err(SimError::Config("the array has no room for data".into()));
        }
        let span = match (fit, span) {
            (Fit::Scale, None | Some(0)) => {
                return Err(SimError::Config("to scale addresses the size of the traced device must be known".into()));
            }
            (_, span) => span.unwrap_or(capacity),
        };
        Ok(Self { devices, fit, capacity, span, only: None, placed: Placed::default() })
    }

    /// The record as a request to the array; `None` where it has no work for drives. A request that would cross the
    /// array's end is moved back to end there; one larger than the array is cut.
    #[inline]
    pub fn request(&mut self, record: &Record) -> Result<Option<Request>, SimError> {
        let op = match record.op {
            TraceOp::Read if record.bytes > 0 => Op::Read,
            TraceOp::Write if record.bytes > 0 => Op::Write,
            _ => {
                self.placed.skipped += 1;
                return Ok(None);
            }
        };
        let end = record.offset.checked_add(record.bytes).ok_or_else(|| self.error(record, "its end overflows"))?;
        let (first, mut sectors) = (record.offset / SECTOR, end.div_ceil(SECTOR) - record.offset / SECTOR);
        let asked = self.on_device(record, first, sectors)?;
        let lba = match self.fit {
            Fit::Scale => (u128::from(asked) * u128::from(self.capacity) / u128::from(self.span)) as u64,
            Fit::Refuse | Fit::Wrap => asked,
        };
        let fits = lba.checked_add(sectors).is_some_and(|end| end <= self.capacity);
        let lba = if fits {
            lba
        } else if self.fit == Fit::Refuse {
            return Err(self.error(
                record,
                &format!(
                    "sectors {lba} to {} are beyond the array's {}; fit = wrap or scale brings them inside",
                    lba.saturating_add(sectors),
                    self.capacity
                ),
            ));
        } else {
            self.placed.wrapped += 1;
            if sectors > self.capacity {
                self.placed.cut += 1;
                sectors = self.capacity;
            }
            (lba % self.capacity).min(self.capacity - sectors)
        };
        let sectors = u32::try_from(sectors).map_err(|_| self.error(record, "it is larger than 2 TiB"))?;
        self.placed.taken += 1;
        Ok(Some(Request { id: 0, op, lba: Lba(lba), sectors, asynchronous: record.asynchronous == Some(true) }))
    }

    fn on_device(&mut self, record: &Record, first: u64, sectors: u64) -> Result<u64, SimError> {
        match &self.devices {
            Devices::Merged => Ok(first),
            Devices::One => match *self.only.get_or_insert(record.device) {
                device if device == record.device => Ok(first),
                device => Err(self.error(
                    record,
                    &format!(
                        "it is for device {}, those before were for device {device}: say how devices share the array \
                         (devices = \"concatenate\", \"merge\" or a table of sizes)",
                        record.device
                    ),
                )),
            },
            Devices::Apart(places) => match places.get(&record.device) {
                Some((base, size)) if first + sectors <= *size => Ok(base + first),
                Some((_, size)) => Err(self.error(
                    record,
                    &format!("sectors {first} to {} are beyond device {} of {size}", first + sectors, record.device),
                )),
                None => Err(self.error(record, &format!("it is for device {}, which has no size", record.device))),
            },
        }
    }

    fn error(&self, _record: &Record, reason: &str) -> SimError {
        SimError::Request { number: self.placed.taken + self.placed.skipped + 1, reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use iojoule_units::Nanos;
    use proptest::prelude::*;

    use super::*;

    fn record(device: u32, offset: u64, bytes: u64) -> Record {
        Record { at: Nanos::ZERO, device, op: TraceOp::Read, offset, bytes, asynchronous: None, response: None }
    }

    #[test]
    fn partial_sectors_are_whole_ones_to_a_drive() {
        let mut place = Place::new(Devices::One, Fit::Refuse, 1000, None).unwrap();
        let request = place.request(&record(0, 511, 2)).unwrap().unwrap();
        assert_eq!((request.lba, request.sectors), (Lba(0), 2));
    }

    #[test]
    fn devices_lie_one_behind_the_other() {
        let devices = Devices::concatenated(&BTreeMap::from([(7, 4096), (2, 1000)]));
        let mut place = Place::new(devices, Fit::Refuse, 1000, None).unwrap();
        assert_eq!(place.request(&record(2, 0, 512)).unwrap().unwrap().lba, Lba(0));
        assert_eq!(place.request(&record(7, 512, 512)).unwrap().unwrap().lba, Lba(3));
        assert!(place.request(&record(2, 1024, 512)).is_err());
        assert!(place.request(&record(3, 0, 512)).is_err());
    }

    #[test]
    fn a_second_device_is_refused_where_nobody_said_how_they_share() {
        let mut place = Place::new(Devices::One, Fit::Wrap, 1000, None).unwrap();
        assert!(place.request(&record(1, 0, 512)).is_ok());
        assert!(place.request(&record(2, 0, 512)).unwrap_err().to_string().contains("concatenate"));
    }

    #[test]
    fn an_address_beyond_the_array_is_refused_with_the_number_of_its_request() {
        let mut place = Place::new(Devices::One, Fit::Refuse, 100, None).unwrap();
        place.request(&record(0, 0, 512)).unwrap();
        let error = place.request(&record(0, 100 * 512, 512)).unwrap_err().to_string();
        assert_eq!(
            error,
            "request 2 of the trace: sectors 100 to 101 are beyond the array's 100; fit = wrap or scale brings them inside"
        );
    }

    proptest! {
        #[test]
        fn whatever_the_rule_a_request_lies_within_the_array(
            capacity in 1_u64..10_000, offset in 0_u64..10_000_000, bytes in 1_u64..10_000_000, scale: bool,
        ) {
            let fit = if scale { Fit::Scale } else { Fit::Wrap };
            let mut place = Place::new(Devices::One, fit, capacity, Some(10_000_000)).unwrap();
            let request = place.request(&record(0, offset, bytes)).unwrap().unwrap();
            prop_assert!(request.sectors > 0);
            prop_assert!(request.lba.0 + u64::from(request.sectors) <= capacity);
        }
    }
}
