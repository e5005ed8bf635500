//! fio's I/O log. Version 2: `file action [offset length]`, time passes by `wait` alone. Version 3:
//! `microseconds file action [offset length]`. A file is a device.
//!
//! Source: fio's HOWTO, "Trace file format v2", "v3", and iolog.c (`log_io_u`: microseconds since the log began). In
//! version 2 each `wait` is relative to the one before, so waits add up. Syncs of any kind are flushes.

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::super::fault::{Fault, Stop};
use super::super::field::{Between, Fields, shown};
use super::super::parse::{Line, Names, Parse};
use super::super::source::Source;
use super::super::{Record, TimeUnit};
use super::{Format, Head, Open};

pub static FORMAT: Format = Format {
    name: "fio",
    title: "fio iolog v2, v3",
    extensions: &[".iolog", ".fio"],
    unit: TimeUnit::Microseconds,
    unit_stated: true,
    names_devices: true,
    likeness: |head: &Head<'_>| f64::from(u8::from(head.bytes.starts_with(b"fio version "))),
    open: Open::Stream(|mut source, setup| {
        let timed = match source.line()? {
            Some(b"fio version 2 iolog") => false,
            Some(b"fio version 3 iolog") => true,
            other => {
                let reason = format!(
                    "the first line is {}, not \"fio version 2 iolog\" or \"fio version 3 iolog\"",
                    shown(other.unwrap_or_default())
                );
                return Err(Stop::Lost(Fault::new(reason)));
            }
        };
        let line = Iolog { timed, unit: setup.unit, now: 0, names: setup.names.clone() };
        Ok(Box::new(Fio { source, line, requests: 0 }))
    }),
};

struct Iolog {
    timed: bool,
    unit: TimeUnit,
    now: i64,
    names: Names,
}

impl Line for Iolog {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        let mut fields = Fields::new(line, Between::Space);
        if self.timed {
            self.now = fields.time("the timestamp", self.unit)?;
        }
        let file = fields.word("the file")?;
        let action = fields.word("the action")?;
        let op = match action {
            b"add" | b"open" | b"close" => return Ok(None),
            b"wait" if !self.timed => {
                let wait = fields.time("the time to wait", self.unit)?;
                self.now = self.now.checked_add(wait).ok_or_else(|| Fault::new("waits of more than 292 years"))?;
                return Ok(None);
            }
            b"wait" => return Err(Fault::new("wait has no place in version 3, whose lines have times")),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" | b"sync_file_range" | b"syncfs" => Op::Flush,
            other => return Err(Fault::new(format!("action {} is not known", shown(other)))),
        };
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => (fields.whole("the offset")?, fields.whole("the length")?),
        };
        let device = self.names.number(file);
        Ok(Some(Record { at: Nanos(self.now), device, op, offset, bytes, asynchronous: None, response: None }))
    }
}

struct Fio {
    source: Source,
    line: Iolog,
    requests: u64,
}

impl Parse for Fio {
    #[inline]
    fn next(&mut self) -> Result<Option<Record>, Stop> {
        while let Some(line) = self.source.line()? {
            if line.is_empty() {
                continue;
            }
            if let Some(record) = self.line.parse(line).map_err(Stop::Broken)? {
                self.requests += 1;
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn place(&self) -> String {
        format!("line {}", self.source.line_number())
    }

    fn remarks(&self) -> Vec<String> {
        let timeless = !self.line.timed && self.line.now == 0 && self.requests > 1;
        let said = "a version 2 iolog without wait has no times: all requests are at 0".to_owned();
        timeless.then_some(said).into_iter().collect()
    }
}
