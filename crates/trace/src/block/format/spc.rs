//! Storage Performance Council trace: `asu,lba,bytes,r|w,seconds[,more]`.
//!
//! Source: SPC Trace File Format Specification, revision 1.0.1 (2002): fields may have blanks around them and further
//! fields may follow. It leaves the size of a block to the trace's description; the published ones (UMass Financial
//! and WebSearch) count 512 bytes.

use iojoule_record::Op;
use iojoule_units::{Nanos, SECTOR};

use super::super::fault::Fault;
use super::super::field::{Between, Fields, sectors, shown};
use super::super::parse::{Line, Lines};
use super::super::{Record, TimeUnit};
use super::{Format, Open, fits};

pub static FORMAT: Format = Format {
    name: "spc",
    title: "SPC",
    extensions: &[".spc"],
    unit: TimeUnit::Seconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head| fits(head, Spc { unit: TimeUnit::Seconds }),
    open: Open::Stream(|source, setup| Ok(Box::new(Lines { source, line: Spc { unit: setup.unit } }))),
};

struct Spc {
    unit: TimeUnit,
}

impl Line for Spc {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        let mut fields = Fields::new(line, Between::Comma);
        let device = fields.device("the ASU")?;
        let offset = sectors(fields.whole("the block address")?, SECTOR, "block")?;
        let bytes = fields.whole("the size")?;
        let op = match fields.word("the opcode")? {
            b"r" | b"R" => Op::Read,
            b"w" | b"W" => Op::Write,
            other => return Err(Fault::new(format!("the opcode is {}, not R or W", shown(other)))),
        };
        let at = Nanos(fields.time("the timestamp", self.unit)?);
        Ok(Some(Record { at, device, op, offset, bytes, asynchronous: None, response: None }))
    }
}
