//! Our own table as CSV, for spreadsheets and scripts: the columns of the canonical table under its names.

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::super::fault::Fault;
use super::super::field::{Between, Fields, shown, time};
use super::super::parse::{Line, Lines};
use super::super::table::OPS;
use super::super::{Record, TimeUnit};
use super::{Format, Head, Open};

pub static FORMAT: Format = Format {
    name: "csv",
    title: "the canonical table as CSV",
    extensions: &[".csv"],
    unit: TimeUnit::Nanoseconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head: &Head<'_>| f64::from(u8::from(head.bytes.starts_with(HEADER.as_bytes()))),
    open: Open::Stream(|source, setup| Ok(Box::new(Lines { source, line: Plain { unit: setup.unit } }))),
};

pub(crate) const HEADER: &str = "at_ns,device,op,offset,bytes,asynchronous,response_ns";

struct Plain {
    unit: TimeUnit,
}

impl Line for Plain {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        if line == HEADER.as_bytes() {
            return Ok(None);
        }
        let mut fields = Fields::new(line, Between::Comma);
        let at = Nanos(fields.time("the time", self.unit)?);
        let device = fields.device("the device")?;
        let name = fields.word("the operation")?;
        let op = Op::ALL[..OPS].iter().find(|op| op.name().as_bytes() == name);
        let op =
            *op.ok_or_else(|| Fault::new(format!("the operation is {}, not {:?}", shown(name), &Op::NAMES[..OPS])))?;
        let offset = fields.whole("the offset")?;
        let bytes = fields.whole("the length")?;
        let asynchronous = match fields.word("asynchronous")? {
            b"" => None,
            b"true" => Some(true),
            b"false" => Some(false),
            other => return Err(Fault::new(format!("asynchronous is {}, not true or false", shown(other)))),
        };
        let response = match fields.word("the response")? {
            b"" => None,
            field => Some(Nanos(time(field, "the response", self.unit)?)),
        };
        fields.end()?;
        Ok(Some(Record { at, device, op, offset, bytes, asynchronous, response }))
    }
}
