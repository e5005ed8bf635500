//! What a conversion writes: the canonical table, or text that another program reads. Under a temporary name until it
//! is whole.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use iojoule_record::Op;
use iojoule_units::SECTOR;

use super::super::format::plain::HEADER;
use super::super::table::{Writer, stage};
use super::super::{Record, TraceError};
use super::layout::Place;
use super::options::ConvertOptions;
use super::to::To;
use crate::staged::Staged;

pub(crate) enum Sink {
    Table(Box<Writer>),
    Text(Box<Text>),
}

pub(crate) struct Text {
    to: To,
    staged: Staged,
    file: BufWriter<File>,
    /// Files that fio was told of.
    opened: BTreeSet<u32>,
    last_us: i64,
    rounded: u64,
}

impl Sink {
    pub fn create(to: To, options: &ConvertOptions, places: &[Place]) -> Result<Self, TraceError> {
        let target = &options.output;
        if let Some(same) = options.paths.iter().find(|path| *path == target) {
            return Err(TraceError::Option(format!("{}: the output is an input", same.display())));
        }
        let sources: Vec<String> = options.paths.iter().map(|p| p.display().to_string()).collect();
        let source = serde_json::json!({ "files": sources, "format": options.read.format }).to_string();
        let devices = match places.last() {
            Some(last) => serde_json::json!([{ "number": 0, "bytes": last.first_byte + last.bytes }]),
            None => serde_json::json!(
                options
                    .read
                    .device_bytes
                    .iter()
                    .map(|(n, b)| serde_json::json!({ "number": n, "bytes": b }))
                    .collect::<Vec<_>>()
            ),
        };
        let devices = if options.fit.is_some() { serde_json::json!([]) } else { devices };
        let metadata = [("iojoule.source", source), ("iojoule.devices", devices.to_string())];
        Self::new(to, target, &metadata.map(|(key, value)| (key.to_owned(), value)), options.force)
    }

    /// `metadata` is for those formats that can hold it, as [`Writer::create`] takes it.
    pub fn new(to: To, target: &Path, metadata: &[(String, String)], force: bool) -> Result<Self, TraceError> {
        if to == To::Parquet {
            return Ok(Self::Table(Box::new(Writer::create(target, metadata, force)?)));
        }
        let staged = stage(target, force)?;
        let failed = |e| TraceError::io(target, e);
        let mut file = BufWriter::with_capacity(1 << 18, File::create_new(&staged.temporary).map_err(failed)?);
        match to {
            To::Fio => file.write_all(b"fio version 3 iolog\n"),
            To::Csv => writeln!(file, "{HEADER}"),
            To::Disksim | To::Parquet => Ok(()),
        }
        .map_err(failed)?;
        let text = Text { to, staged, file, opened: BTreeSet::new(), last_us: 0, rounded: 0 };
        Ok(Self::Text(Box::new(text)))
    }

    /// False where the format cannot say this request.
    pub fn push(&mut self, record: &Record) -> Result<bool, TraceError> {
        match self {
            Self::Table(writer) => writer.push(*record).map(|()| true),
            Self::Text(text) => text.push(record).map_err(|e| TraceError::io(&text.staged.target, e)),
        }
    }

    /// Completes the file; gives what was lost.
    pub fn close(self) -> Result<Vec<String>, TraceError> {
        match self {
            Self::Table(writer) => writer.close().map(|()| Vec::new()),
            Self::Text(text) => text.close(),
        }
    }
}

impl Text {
    fn push(&mut self, record: &Record) -> std::io::Result<bool> {
        let Record { at, device, op, offset, bytes, asynchronous, response } = *record;
        let ns = at.0;
        match self.to {
            To::Disksim => {
                if matches!(op, Op::Trim | Op::Flush) {
                    return Ok(false);
                }
                let first = offset / SECTOR;
                let sectors = (offset + bytes).div_ceil(SECTOR) - first;
                self.rounded += u64::from(offset % SECTOR != 0 || bytes % SECTOR != 0);
                let waits = match asynchronous {
                    None => 0,
                    Some(false) => 0x80,
                    Some(true) => 0x100,
                };
                let flags = u32::from(op == Op::Read) | waits;
                writeln!(self.file, "{}.{:06} {device} {first} {sectors} {flags:x}", ns / 1_000_000, ns % 1_000_000)?;
            }
            To::Fio => {
                self.last_us = ns / 1000;
                self.rounded += u64::from(ns % 1000 != 0);
                if self.opened.insert(device) {
                    writeln!(self.file, "{0} device{device} add\n{0} device{device} open", self.last_us)?;
                }
                match op {
                    Op::Flush => writeln!(self.file, "{} device{device} sync 0 0", self.last_us)?,
                    _ => writeln!(self.file, "{} device{device} {} {offset} {bytes}", self.last_us, op.name())?,
                }
            }
            To::Csv | To::Parquet => {
                let waits = asynchronous.map_or("", |a| if a { "true" } else { "false" });
                write!(self.file, "{ns},{device},{},{offset},{bytes},{waits},", op.name())?;
                match response {
                    Some(response) => writeln!(self.file, "{}", response.0)?,
                    None => writeln!(self.file)?,
                }
            }
        }
        Ok(true)
    }

    fn close(mut self) -> Result<Vec<String>, TraceError> {
        let mut finish = || -> std::io::Result<()> {
            for device in &self.opened {
                writeln!(self.file, "{} device{device} close", self.last_us)?;
            }
            self.file.flush()
        };
        finish().map_err(|e| TraceError::io(&self.staged.target, e))?;
        drop(self.file);
        self.staged.publish(TraceError::io)?;
        let said = match self.to {
            To::Disksim => format!("{} requests were rounded to whole sectors, which DiskSim counts", self.rounded),
            _ => format!("{} times were cut to the microseconds that fio counts", self.rounded),
        };
        Ok((self.rounded > 0).then_some(said).into_iter().collect())
    }
}
