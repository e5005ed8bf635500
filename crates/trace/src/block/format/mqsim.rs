//! MQSim's trace: `arrival device sector sectors type`, type 0 a write, 1 a read, sectors of 512 bytes.
//!
//! Source: MQSim (CMU-SAFARI), README "trace-based" and ASCII_Trace_Definition.h. MQSim takes the times as
//! nanoseconds; the file does not tell, and the published sample is 0.14 s long by that reading.

use iojoule_record::Op;
use iojoule_units::{Nanos, SECTOR};

use super::super::fault::Fault;
use super::super::field::{Between, Fields, sectors, shown};
use super::super::parse::{Line, Lines};
use super::super::{Record, TimeUnit};
use super::{Format, Open, fit};

pub static FORMAT: Format = Format {
    name: "mqsim",
    title: "MQSim",
    extensions: &[".mqsim"],
    unit: TimeUnit::Nanoseconds,
    unit_stated: false,
    names_devices: false,
    likeness: |head| {
        let fit = fit(head, Mqsim { unit: TimeUnit::Nanoseconds, strict: true });
        if fit.rate.is_none_or(|rate| rate < 20e6) { fit.share } else { 0.0 }
    },
    open: Open::Stream(|source, setup| Ok(Box::new(Lines { source, line: Mqsim { unit: setup.unit, strict: false } }))),
};

struct Mqsim {
    unit: TimeUnit,
    /// Times are whole numbers: what tells it from DiskSim's format.
    strict: bool,
}

impl Line for Mqsim {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        let mut fields = Fields::new(line, Between::Space);
        let at =
            if self.strict { fields.whole("the arrival")? as i64 } else { fields.time("the arrival", self.unit)? };
        let device = fields.device("the device")?;
        let offset = sectors(fields.whole("the first sector")?, SECTOR, "sector")?;
        let bytes = sectors(fields.whole("the number of sectors")?, SECTOR, "length")?;
        let op = match fields.word("the type")? {
            b"0" => Op::Write,
            b"1" => Op::Read,
            other => return Err(Fault::new(format!("the type is {}, not 0 (write) or 1 (read)", shown(other)))),
        };
        fields.end()?;
        Ok(Some(Record { at: Nanos(at), device, op, offset, bytes, asynchronous: None, response: None }))
    }
}
