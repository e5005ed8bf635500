//! blktrace's binary events, one file a CPU (`x.blktrace.0`, `x.blktrace.1`, …) or merged by blkparse -d, in either
//! byte order. A request arrives with its queue event and is answered by the complete event that covers it.
//!
//! Source: blktrace's blktrace_api.h (magic 0x65617400 with version 7 in its low byte, 48 bytes an event and a payload
//! behind it, actions and categories) and Linux's include/uapi/linux/blktrace_api.h. Sectors of 512 bytes,
//! nanoseconds since the trace began.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iojoule_record::Op;
use iojoule_units::{Nanos, SECTOR};

use super::super::fault::{Fault, Stop};
use super::super::field::sectors;
use super::super::pairing::Pairing;
use super::super::parse::{Names, Parse};
use super::super::source::Source;
use super::super::{Record, TimeUnit};
use super::{Format, Head, Open};

pub static FORMAT: Format = Format {
    name: "blktrace",
    title: "blktrace binary",
    extensions: &[".blktrace.0"],
    unit: TimeUnit::Nanoseconds,
    unit_stated: true,
    names_devices: true,
    likeness: |head: &Head<'_>| f64::from(u8::from(order(head.bytes).is_some())),
    open: Open::Together(|sources, setup| {
        let cpus = sources.into_iter().map(Cpu::open).collect::<Result<Vec<_>, _>>()?;
        let (names, pairing) = (setup.names.clone(), Pairing::default());
        let held = BinaryHeap::new();
        Ok(Box::new(Blktrace { cpus, names, pairing, held, count: 0, read: 0, ended: false }))
    }),
};

const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const HEADER: usize = 48;
/// Events held back to bring those of all CPUs in order: an interrupt may log before what it interrupted.
const HOLD: usize = 1024;

const QUEUE: u32 = 1;
const COMPLETE: u32 = 8;
const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const SYNC: u32 = 1 << 3;
const NOTIFY: u32 = 1 << 10;
const AHEAD: u32 = 1 << 11;
const DISCARD: u32 = 1 << 13;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// The byte order that the magic number has.
fn order(bytes: &[u8]) -> Option<Order> {
    let &[a, b, c, d, ..] = bytes else { return None };
    let magic = [a, b, c, d];
    if u32::from_le_bytes(magic) & !0xff == MAGIC {
        Some(Order::Little)
    } else if u32::from_be_bytes(magic) & !0xff == MAGIC {
        Some(Order::Big)
    } else {
        None
    }
}

/// One file of events.
struct Cpu {
    source: Source,
    order: Order,
    ended: bool,
}

/// A queue or complete event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: u64,
    /// In the order of reading, so that events of one time keep it.
    number: u64,
    queued: bool,
    sector: u64,
    bytes: u32,
    category: u32,
    device: u32,
}

impl Cpu {
    fn open(mut source: Source) -> Result<Self, Stop> {
        let Some(order) = order(source.peek(HEADER)?) else {
            let reason = format!("{}: no blktrace magic number at its beginning", source.path.display());
            return Err(Stop::Lost(Fault::new(reason)));
        };
        Ok(Self { source, order, ended: false })
    }

    /// The next queue or complete event.
    fn next(&mut self) -> Result<Option<Event>, Stop> {
        loop {
            let b = match self.source.record(HEADER)? {
                None => {
                    self.ended = true;
                    return Ok(None);
                }
                Some(Err(cut)) => return Err(Stop::cut(HEADER, cut.have)),
                Some(Ok(b)) => b,
            };
            match order(b) {
                Some(found) if found == self.order => {}
                Some(_) => return Err(Stop::Lost(Fault::new("the event has the other byte order: mixed byte orders"))),
                None => {
                    return Err(Stop::Lost(Fault::new("no magic number where an event begins: damaged from here on")));
                }
            }
            let u32_at = |at: usize| {
                let four = [b[at], b[at + 1], b[at + 2], b[at + 3]];
                if self.order == Order::Little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }
            };
            let u64_at = |at: usize| {
                let (low, high) = if self.order == Order::Little { (at, at + 4) } else { (at + 4, at) };
                u64::from(u32_at(low)) | u64::from(u32_at(high)) << 32
            };
            let version = u32_at(0) & 0xff;
            if version != VERSION {
                let reason = format!("version {version} of the blktrace format; version {VERSION} is read");
                return Err(Stop::Lost(Fault::new(reason)));
            }
            let payload = if self.order == Order::Little { [b[46], b[47]] } else { [b[47], b[46]] };
            let payload = usize::from(u16::from_le_bytes(payload));
            let action = u32_at(28);
            let event = Event {
                time: u64_at(8),
                number: 0,
                queued: action & 0xffff == QUEUE,
                sector: u64_at(16),
                bytes: u32_at(24),
                category: action >> 16,
                device: u32_at(36),
            };
            if payload > 0 {
                match self.source.record(payload)? {
                    Some(Ok(_)) => {}
                    Some(Err(cut)) => return Err(Stop::cut(payload, cut.have)),
                    None => return Err(Stop::cut(payload, 0)),
                }
            }
            let wanted = event.queued || action & 0xffff == COMPLETE;
            if wanted && event.category & NOTIFY == 0 {
                return Ok(Some(event));
            }
        }
    }
}

struct Blktrace {
    cpus: Vec<Cpu>,
    names: Names,
    pairing: Pairing,
    /// Of every file its next event, and events held back.
    held: BinaryHeap<Reverse<(Event, usize)>>,
    count: u64,
    /// The file read last.
    read: usize,
    ended: bool,
}

impl Blktrace {
    /// The next event of all files by time.
    fn event(&mut self) -> Result<Option<Event>, Stop> {
        // As many events of every file are held, so that a quiet CPU does not let a busy one run ahead: a file is
        // read on when one of its events left.
        if self.count == 0 {
            for at in 0..self.cpus.len() {
                for _ in 0..HOLD {
                    if !self.draw(at)? {
                        break;
                    }
                }
            }
        }
        let Some(Reverse((event, from))) = self.held.pop() else { return Ok(None) };
        self.draw(from)?;
        Ok(Some(event))
    }

    fn draw(&mut self, from: usize) -> Result<bool, Stop> {
        if self.cpus[from].ended {
            return Ok(false);
        }
        self.read = from;
        let Some(event) = self.cpus[from].next()? else { return Ok(false) };
        self.count += 1;
        self.held.push(Reverse((Event { number: self.count, ..event }, from)));
        Ok(true)
    }

    fn take(&mut self, event: Event) -> Result<(), Stop> {
        let has = |bits| event.category & bits != 0;
        let op = match () {
            () if event.bytes == 0 => Op::Flush,
            () if has(DISCARD) => Op::Trim,
            () if has(WRITE) => Op::Write,
            () if has(READ) => Op::Read,
            () => return Ok(()),
        };
        if op == Op::Flush && !has(FLUSH) {
            return Ok(());
        }
        let at = i64::try_from(event.time)
            .map_err(|_| Stop::Broken(Fault::new(format!("time {} ns is negative or beyond 292 years", event.time))))?;
        let offset = if op == Op::Flush { 0 } else { sectors(event.sector, SECTOR, "sector").map_err(Stop::Broken)? };
        let name = format!("{},{}", event.device >> 20, event.device & 0xf_ffff);
        let device = self.names.number(name.as_bytes());
        let bytes = u64::from(event.bytes);
        if !event.queued {
            self.pairing.completed(Nanos(at), device, op, offset, bytes);
            return Ok(());
        }
        let asynchronous = Some(if op == Op::Read { has(AHEAD) } else { !has(SYNC) });
        self.pairing.queued(Record { at: Nanos(at), device, op, offset, bytes, asynchronous, response: None });
        Ok(())
    }
}

impl Parse for Blktrace {
    fn next(&mut self) -> Result<Option<Record>, Stop> {
        loop {
            if let Some(record) = self.pairing.pop(self.ended) {
                return Ok(Some(record));
            }
            if self.ended {
                return Ok(None);
            }
            match self.event()? {
                Some(event) => self.take(event)?,
                None => self.ended = true,
            }
        }
    }

    fn place(&self) -> String {
        let source = &self.cpus[self.read].source;
        match self.cpus.len() {
            1 => format!("byte {}", source.taken_at()),
            _ => format!("{} byte {}", source.path.display(), source.taken_at()),
        }
    }

    fn remarks(&self) -> Vec<String> {
        self.pairing.remarks()
    }
}
