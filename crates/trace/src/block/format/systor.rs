//! SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size` with that header; seconds, seconds, R or W, bytes, bytes.
//! Rows are not in the order of their timestamps.
//!
//! Source: Lee et al., "Understanding storage traffic characteristics on enterprise virtual desktop infrastructure",
//! SYSTOR 2017, and the README of the trace (SNIA IOTTA 4964). A response that was not measured is empty.

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::super::fault::Fault;
use super::super::field::{Between, Fields, shown, time};
use super::super::parse::{Line, Lines};
use super::super::{Record, TimeUnit};
use super::{Format, Open, fits};

pub static FORMAT: Format = Format {
    name: "systor",
    title: "SYSTOR '17",
    extensions: &[".csv"],
    unit: TimeUnit::Seconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head| fits(head, Systor { unit: TimeUnit::Seconds }),
    open: Open::Stream(|source, setup| Ok(Box::new(Lines { source, line: Systor { unit: setup.unit } }))),
};

struct Systor {
    unit: TimeUnit,
}

impl Line for Systor {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        if line.starts_with(b"Timestamp,") {
            return Ok(None);
        }
        let mut fields = Fields::new(line, Between::Comma);
        let at = Nanos(fields.time("the timestamp", self.unit)?);
        let response = match fields.word("the response")? {
            b"" => None,
            field => Some(Nanos(time(field, "the response", self.unit)?)),
        };
        let op = match fields.word("the type")? {
            b"R" => Op::Read,
            b"W" => Op::Write,
            other => return Err(Fault::new(format!("the type is {}, not R or W", shown(other)))),
        };
        let device = fields.device("the LUN")?;
        let offset = fields.whole("the offset")?;
        let bytes = fields.whole("the size")?;
        fields.end()?;
        Ok(Some(Record { at, device, op, offset, bytes, asynchronous: None, response }))
    }
}
