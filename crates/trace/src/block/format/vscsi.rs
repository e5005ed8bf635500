//! CloudPhysics: what a hypervisor saw of a virtual machine's disk. Records of 32 bytes (version 1) or 40 (version 2,
//! with response times), little-endian, blocks of 512 bytes, microseconds. Also the CSV form made of it, with header
//! `version,time,op,size,lbn` and whole seconds.
//!
//! Source: libCacheSim, customizedReader/vscsi.h; Waldspurger et al., "SHARDS", FAST 2015. The first byte of the
//! version field tells the layout. Operation codes are SCSI's (SBC-3); commands without data are left out.

use iojoule_record::Op;
use iojoule_units::{Nanos, SECTOR};

use super::super::fault::{Fault, Stop};
use super::super::field::{Between, Fields, sectors, shown};
use super::super::parse::{Line, Lines, Parse};
use super::super::source::Source;
use super::super::{Record, TimeUnit};
use super::{Format, Head, Open, fits};

pub static FORMAT: Format = Format {
    name: "vscsi",
    title: "CloudPhysics vscsi",
    extensions: &[".vscsi", ".vscsitrace"],
    unit: TimeUnit::Microseconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head| f64::from(u8::from(layout(head.bytes).is_some())),
    open: Open::Stream(|mut source, setup| {
        let Some(layout) = layout(source.peek(LOOK * 40)?) else {
            let reason = "neither version 1 nor 2 of the vscsi format in little-endian order; a trace of another byte \
                          order must be swapped first";
            return Err(Stop::Lost(Fault::new(reason)));
        };
        let scale = 10i64.pow(setup.unit.digits());
        Ok(Box::new(Vscsi { source, layout, scale, others: 0 }))
    }),
};

pub static CSV: Format = Format {
    name: "vscsi-csv",
    title: "CloudPhysics CSV",
    extensions: &[".csv"],
    unit: TimeUnit::Seconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head: &Head<'_>| {
        if head.bytes.starts_with(b"version,time,op,size,lbn") {
            fits(head, VscsiCsv { unit: TimeUnit::Seconds })
        } else {
            0.0
        }
    },
    open: Open::Stream(|source, setup| Ok(Box::new(Lines { source, line: VscsiCsv { unit: setup.unit } }))),
};

/// Records looked at to tell the version.
const LOOK: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    One,
    Two,
}

impl Layout {
    fn bytes(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }

    /// Where command and version stand.
    fn command_at(self) -> usize {
        match self {
            Self::One => 12,
            Self::Two => 0,
        }
    }

    fn version(self) -> u16 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

fn u64_at(b: &[u8], at: usize) -> u64 {
    u64::from(u32_at(b, at)) | u64::from(u32_at(b, at + 4)) << 32
}

fn layout(head: &[u8]) -> Option<Layout> {
    [Layout::Two, Layout::One].into_iter().find(|layout| {
        let mut records = head.chunks_exact(layout.bytes()).take(LOOK).peekable();
        records.peek().is_some()
            && records.all(|r| {
                let at = layout.command_at();
                u16_at(r, at + 2) >> 8 == layout.version() && u16_at(r, at) <= 0xff
            })
    })
}

/// What a SCSI operation code does with data; `None` where nothing.
fn operation(code: u16) -> Option<Op> {
    match code {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(Op::Write),
        0x41 | 0x93 | 0x42 => Some(Op::Trim),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

struct Vscsi {
    source: Source,
    layout: Layout,
    scale: i64,
    others: u64,
}

impl Parse for Vscsi {
    fn next(&mut self) -> Result<Option<Record>, Stop> {
        loop {
            let length = self.layout.bytes();
            let b = match self.source.record(length)? {
                None => return Ok(None),
                Some(Err(cut)) => return Err(Stop::cut(length, cut.have)),
                Some(Ok(b)) => b,
            };
            let at = self.layout.command_at();
            let (code, version) = (u16_at(b, at), u16_at(b, at + 2));
            if version >> 8 != self.layout.version() {
                let reason = if version.swap_bytes() >> 8 == self.layout.version() {
                    "the record is big-endian and those before are little-endian".into()
                } else {
                    format!("version field {version:#06x}: not a record of version {}", self.layout.version())
                };
                return Err(Stop::Broken(Fault::new(reason)));
            }
            let Some(op) = operation(code) else {
                self.others += 1;
                continue;
            };
            let (size_at, place_at) = match self.layout {
                Layout::One => (4, 16),
                Layout::Two => (8, 16),
            };
            let time =
                |ticks: u64, what: &str| {
                    i64::try_from(ticks).ok().and_then(|t| t.checked_mul(self.scale)).map(Nanos).ok_or_else(|| {
                        Stop::Broken(Fault::new(format!("{what} {ticks} is negative or beyond 292 years")))
                    })
                };
            return Ok(Some(Record {
                at: time(u64_at(b, place_at + 8), "time")?,
                device: 0,
                op,
                offset: sectors(u64_at(b, place_at), SECTOR, "block").map_err(Stop::Broken)?,
                bytes: u64::from(u32_at(b, size_at)),
                asynchronous: None,
                response: match self.layout {
                    Layout::One => None,
                    Layout::Two => Some(time(u64_at(b, place_at + 16), "response time")?),
                },
            }));
        }
    }

    fn place(&self) -> String {
        format!("byte {}", self.source.taken_at())
    }

    fn remarks(&self) -> Vec<String> {
        let said = format!("{} SCSI commands that move no data are left out", self.others);
        (self.others > 0).then_some(said).into_iter().collect()
    }
}

struct VscsiCsv {
    unit: TimeUnit,
}

impl Line for VscsiCsv {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        if line.starts_with(b"version,") {
            return Ok(None);
        }
        let mut fields = Fields::new(line, Between::Comma);
        fields.whole("the version")?;
        let at = Nanos(fields.time("the time", self.unit)?);
        let code = fields.word("the operation")?;
        let op = std::str::from_utf8(code)
            .ok()
            .and_then(|text| u16::from_str_radix(text, 16).ok())
            .ok_or_else(|| Fault::new(format!("the operation is {}, not a SCSI code in hexadecimal", shown(code))))?;
        let bytes = fields.whole("the size")?;
        let offset = sectors(fields.whole("the block")?, SECTOR, "block")?;
        fields.end()?;
        let record = |op| Record { at, device: 0, op, offset, bytes, asynchronous: None, response: None };
        Ok(operation(op).map(record))
    }
}
