//! DiskSim's ASCII trace: `arrival_ms device sector sectors flags`, flags hexadecimal, bit 0 a read, bit 8 asynchronous, bit 7 synchronous.
//!
//! Source: DiskSim 4.0 reference manual, "Input traces", and its reader of the `ascii` format (disksim_iotrace.c).
//! Flags: disksim_reqflags.h. Sectors of 512 bytes.

use iojoule_record::Op;
use iojoule_units::{Nanos, SECTOR};

use super::super::fault::Fault;
use super::super::field::{Between, Fields, sectors, shown};
use super::super::parse::{Line, Lines};
use super::super::{Record, TimeUnit};
use super::{Format, Head, Open, fit};

pub static FORMAT: Format = Format {
    name: "disksim",
    title: "DiskSim ASCII",
    extensions: &[".disksim", ".ascii", "ascii.trace"],
    unit: TimeUnit::Milliseconds,
    unit_stated: true,
    names_devices: false,
    likeness,
    open: Open::Stream(|source, setup| Ok(Box::new(Lines { source, line: Ascii { unit: setup.unit } }))),
};

/// MQSim's lines look the same where every arrival is whole; DiskSim writes decimals, and by whole milliseconds the
/// rate must be that of a disk.
fn likeness(head: &Head<'_>) -> f64 {
    let fit = fit(head, Ascii { unit: TimeUnit::Milliseconds });
    let decimals = head.lines().any(|line| line.contains(&b'.'));
    if decimals || fit.rate.is_none_or(|rate| rate > 0.1) { fit.share } else { 0.0 }
}

const READ: u64 = 1;
const SYNC: u64 = 0x80;
const ASYNC: u64 = 0x100;

struct Ascii {
    unit: TimeUnit,
}

impl Line for Ascii {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        let mut fields = Fields::new(line, Between::Space);
        let at = Nanos(fields.time("the arrival", self.unit)?);
        let device = fields.device("the device")?;
        let offset = sectors(fields.whole("the first sector")?, SECTOR, "sector")?;
        let bytes = sectors(fields.whole("the number of sectors")?, SECTOR, "length")?;
        let flags = fields.word("the flags")?;
        let flags = std::str::from_utf8(flags)
            .ok()
            .and_then(|text| u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok())
            .ok_or_else(|| Fault::new(format!("the flags are {}, not hexadecimal", shown(flags))))?;
        fields.end()?;
        let op = if flags & READ != 0 { Op::Read } else { Op::Write };
        let asynchronous = match (flags & ASYNC != 0, flags & SYNC != 0) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        Ok(Some(Record { at, device, op, offset, bytes, asynchronous, response: None }))
    }
}
