//! MSR Cambridge: `time,host,disk,Read|Write,offset,bytes,response`; time and response in Windows' ticks of 100 ns, the
//! time since 1601. A disk of a host is a device.
//!
//! Source: MSR Cambridge Traces, README (SNIA IOTTA 388); Narayanan et al., "Write Off-Loading", FAST 2008.

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::super::fault::Fault;
use super::super::field::{Between, Fields, shown, time};
use super::super::parse::{Line, Lines, Names};
use super::super::{Record, TimeUnit};
use super::{Format, Open, fits};

pub static FORMAT: Format = Format {
    name: "msr",
    title: "MSR Cambridge",
    extensions: &[".csv"],
    unit: TimeUnit::Ticks,
    unit_stated: true,
    names_devices: true,
    likeness: |head| fits(head, Msr { unit: TimeUnit::Ticks, names: Names::default(), name: Vec::new() }),
    open: Open::Stream(|source, setup| {
        let line = Msr { unit: setup.unit, names: setup.names.clone(), name: Vec::new() };
        Ok(Box::new(Lines { source, line }))
    }),
};

/// 1 January 1970 in ticks since 1601; nanoseconds since 1601 would not fit.
const UNIX: u64 = 116_444_736_000_000_000;

struct Msr {
    unit: TimeUnit,
    names: Names,
    name: Vec<u8>,
}

impl Line for Msr {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        if line.starts_with(b"Timestamp,") {
            return Ok(None);
        }
        let mut fields = Fields::new(line, Between::Comma);
        let stamp = fields.word("the timestamp")?;
        let at = match super::super::field::digits(stamp) {
            Some(ticks) if ticks >= UNIX && self.unit == TimeUnit::Ticks => {
                let since = i64::try_from(ticks - UNIX).ok().and_then(|t| t.checked_mul(100));
                since.ok_or_else(|| Fault::new(format!("the timestamp {ticks} is beyond the year 2262")))?
            }
            _ => time(stamp, "the timestamp", self.unit)?,
        };
        self.name.clear();
        self.name.extend_from_slice(fields.word("the host")?);
        self.name.push(b'.');
        let disk = fields.word("the disk")?;
        super::super::field::whole(disk, "the disk")?;
        self.name.extend_from_slice(disk);
        let op = match fields.word("the type")? {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            other => return Err(Fault::new(format!("the type is {}, not Read or Write", shown(other)))),
        };
        let offset = fields.whole("the offset")?;
        let bytes = fields.whole("the size")?;
        let response = Some(Nanos(fields.time("the response time", self.unit)?));
        fields.end()?;
        let device = self.names.number(&self.name);
        Ok(Some(Record { at: Nanos(at), device, op, offset, bytes, asynchronous: None, response }))
    }
}
