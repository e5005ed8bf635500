//! blkparse's text in its default format: `major,minor cpu sequence seconds pid action rwbs [sector + sectors]
//! [process]`. A request arrives with its Q event and is answered by the C event that covers it; other events are
//! left out. Several devices and CPUs stand in one file.
//!
//! Source: blktrace user guide and blkparse(1) (default output, actions, RWBS); the summary behind the events is not
//! read. A read is synchronous unless it is read-ahead, a write where it says S (Linux, `op_is_sync`).

use iojoule_record::Op;
use iojoule_units::{Nanos, SECTOR};

use super::super::fault::{Fault, Stop};
use super::super::field::{Between, Fields, digits, sectors, shown, time};
use super::super::pairing::Pairing;
use super::super::parse::{Line, Names, Parse};
use super::super::source::Source;
use super::super::{Record, TimeUnit};
use super::{Format, Head, Open, fits};

pub static FORMAT: Format = Format {
    name: "blkparse",
    title: "blkparse text",
    extensions: &[".blkparse"],
    unit: TimeUnit::Seconds,
    unit_stated: true,
    names_devices: true,
    likeness: |head: &Head<'_>| fits(head, Any(Names::default())),
    open: Open::Stream(|source, setup| {
        let unit = setup.unit;
        let names = setup.names.clone();
        Ok(Box::new(Blkparse { source, names, unit, pairing: Pairing::default(), events: 0, ended: false }))
    }),
};

enum Event {
    Queued(Record),
    Completed(Record),
    Other,
    /// The summary begins.
    End,
}

/// Every event counts as a fitting line, also those that are not requests.
struct Any(Names);

impl Line for Any {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        let nothing = Record {
            at: Nanos::ZERO,
            device: 0,
            op: Op::Flush,
            offset: 0,
            bytes: 0,
            asynchronous: None,
            response: None,
        };
        match event(line, TimeUnit::Seconds, &mut self.0)? {
            Event::Queued(record) | Event::Completed(record) => Ok(Some(record)),
            Event::Other => Ok(Some(nothing)),
            Event::End => Ok(None),
        }
    }
}

fn event(line: &[u8], unit: TimeUnit, names: &mut Names) -> Result<Event, Fault> {
    let mut fields = Fields::new(line, Between::Space);
    let device = fields.word("the device")?;
    let is_device = device
        .iter()
        .position(|c| *c == b',')
        .is_some_and(|at| digits(&device[..at]).is_some() && digits(&device[at + 1..]).is_some());
    if !is_device {
        let summary: [&[u8]; 7] = [b"CPU", b"Total", b"Events", b"Throughput", b"Skips", b"Reads", b"Input"];
        if summary.iter().any(|start| device.starts_with(start)) {
            return Ok(Event::End);
        }
        return Err(Fault::new(format!("the device is {}, not major,minor", shown(device))));
    }
    fields.whole("the CPU")?;
    fields.whole("the sequence number")?;
    let at = Nanos(time(fields.word("the time")?, "the time", unit)?);
    fields.word("the process id")?;
    let queued = match fields.word("the action")? {
        b"Q" => true,
        b"C" => false,
        _ => return Ok(Event::Other),
    };
    let rwbs = fields.word("the RWBS field")?;
    let Some((op, asynchronous)) = operation(rwbs) else { return Ok(Event::Other) };
    let mut range = (0, 0);
    let first = fields.next();
    if let Some(sector) = first.filter(|field| !field.starts_with(b"[") && !field.starts_with(b"(")) {
        let sector = super::super::field::whole(sector, "the sector")?;
        let plus = fields.word("+")?;
        if plus != b"+" {
            return Err(Fault::new(format!("{} stands where + does", shown(plus))));
        }
        let count = fields.whole("the number of sectors")?;
        range = (sectors(sector, SECTOR, "sector")?, sectors(count, SECTOR, "length")?);
    }
    let op = if range.1 == 0 { Op::Flush } else { op };
    let record = Record {
        at,
        device: names.number(device),
        op,
        offset: if op == Op::Flush { 0 } else { range.0 },
        bytes: range.1,
        asynchronous: Some(asynchronous),
        response: None,
    };
    Ok(if queued { Event::Queued(record) } else { Event::Completed(record) })
}

/// The operation and whether nobody waits for it; `None` where it is none of data.
fn operation(rwbs: &[u8]) -> Option<(Op, bool)> {
    // F in front is a flush before the data; alone it is all there is.
    let kind = rwbs.iter().find(|c| matches!(c, b'R' | b'W' | b'D')).or(rwbs.first())?;
    let has = |c| rwbs.contains(&c);
    match kind {
        b'R' => Some((Op::Read, has(b'A'))),
        b'W' => Some((Op::Write, !has(b'S'))),
        b'D' => Some((Op::Trim, !has(b'S'))),
        b'F' => Some((Op::Flush, !has(b'S'))),
        _ => None,
    }
}

struct Blkparse {
    source: Source,
    names: Names,
    unit: TimeUnit,
    pairing: Pairing,
    events: u64,
    ended: bool,
}

impl Parse for Blkparse {
    fn next(&mut self) -> Result<Option<Record>, Stop> {
        loop {
            if let Some(record) = self.pairing.pop(self.ended) {
                return Ok(Some(record));
            }
            if self.ended {
                return Ok(None);
            }
            let Some(line) = self.source.line()? else {
                self.ended = true;
                continue;
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            self.events += 1;
            match event(line, self.unit, &mut self.names).map_err(Stop::Broken)? {
                Event::Queued(record) => self.pairing.queued(record),
                Event::Completed(r) => self.pairing.completed(r.at, r.device, r.op, r.offset, r.bytes),
                Event::Other => {}
                Event::End => self.ended = true,
            }
        }
    }

    fn place(&self) -> String {
        format!("line {}", self.source.line_number())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.pairing.remarks();
        if self.pairing.requests() == 0 && self.events > 0 {
            remarks.push("no Q event: record with the queue action (blktrace -a queue -a complete)".into());
        }
        remarks
    }
}
