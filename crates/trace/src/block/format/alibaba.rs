//! Alibaba cloud block storage: `device_id,opcode,offset,length,timestamp`; R or W, bytes, bytes, microseconds.
//!
//! Source: alibaba/block-traces, README; Li et al., "An in-depth analysis of cloud block storage workloads",
//! IISWC 2020.

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::super::fault::Fault;
use super::super::field::{Between, Fields, shown};
use super::super::parse::{Line, Lines};
use super::super::{Record, TimeUnit};
use super::{Format, Open, fits};

pub static FORMAT: Format = Format {
    name: "alibaba",
    title: "Alibaba",
    extensions: &[".csv", ".alibaba"],
    unit: TimeUnit::Microseconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head| fits(head, Alibaba { unit: TimeUnit::Microseconds }),
    open: Open::Stream(|source, setup| Ok(Box::new(Lines { source, line: Alibaba { unit: setup.unit } }))),
};

struct Alibaba {
    unit: TimeUnit,
}

impl Line for Alibaba {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        if line.starts_with(b"device_id,") {
            return Ok(None);
        }
        let mut fields = Fields::new(line, Between::Comma);
        let device = fields.device("the device")?;
        let op = match fields.word("the opcode")? {
            b"R" => Op::Read,
            b"W" => Op::Write,
            other => return Err(Fault::new(format!("the opcode is {}, not R or W", shown(other)))),
        };
        let offset = fields.whole("the offset")?;
        let bytes = fields.whole("the length")?;
        let at = Nanos(fields.time("the timestamp", self.unit)?);
        fields.end()?;
        Ok(Some(Record { at, device, op, offset, bytes, asynchronous: None, response: None }))
    }
}
