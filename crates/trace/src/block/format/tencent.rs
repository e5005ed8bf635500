//! Tencent cloud block storage: `timestamp,offset,size,type,volume`; whole seconds, sectors of 512 bytes, type 0 a
//! read, 1 a write.
//!
//! Source: README of the trace (SNIA IOTTA 27917); Zhang et al., "OSCA", USENIX ATC 2020. All requests of a second
//! have one time: what happens inside a second is not in the trace.

use iojoule_record::Op;
use iojoule_units::{Nanos, SECTOR};

use super::super::fault::Fault;
use super::super::field::{Between, Fields, sectors, shown};
use super::super::parse::{Line, Lines};
use super::super::{Record, TimeUnit};
use super::{Format, Open, fits};

pub static FORMAT: Format = Format {
    name: "tencent",
    title: "Tencent CBS",
    extensions: &[".csv", ".tencent"],
    unit: TimeUnit::Seconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head| fits(head, Tencent { unit: TimeUnit::Seconds }),
    open: Open::Stream(|source, setup| Ok(Box::new(Lines { source, line: Tencent { unit: setup.unit } }))),
};

struct Tencent {
    unit: TimeUnit,
}

impl Line for Tencent {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        if line.starts_with(b"Timestamp,") {
            return Ok(None);
        }
        let mut fields = Fields::new(line, Between::Comma);
        let at = Nanos(fields.time("the timestamp", self.unit)?);
        let offset = sectors(fields.whole("the offset")?, SECTOR, "sector")?;
        let bytes = sectors(fields.whole("the size")?, SECTOR, "size")?;
        let op = match fields.word("the type")? {
            b"0" => Op::Read,
            b"1" => Op::Write,
            other => return Err(Fault::new(format!("the type is {}, not 0 (read) or 1 (write)", shown(other)))),
        };
        let device = fields.device("the volume")?;
        fields.end()?;
        Ok(Some(Record { at, device, op, offset, bytes, asynchronous: None, response: None }))
    }
}
