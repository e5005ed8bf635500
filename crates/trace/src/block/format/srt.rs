//! HP Labs' SRT, versions 1.x: a text header that describes the disks, a form feed, then records of big-endian words.
//! Addresses count the device's own sectors (256 bytes on the disks of 1992), sizes count bytes.
//!
//! Source: Ruemmler and Wilkes, "UNIX disk access patterns", USENIX Winter 1993, whose traces these are; DiskSim 4.0's
//! reader (disksim_iotrace.c, `hpl`). Words: size, version and type, seconds, microseconds, start and stop in
//! microseconds after the request was queued, bytes, sector, device, driver type, cylinder, flags (bit 0 a read, bit 8
//! asynchronous), more.

use std::collections::BTreeMap;

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::super::fault::{Fault, Stop};
use super::super::field::{digits, sectors};
use super::super::parse::Parse;
use super::super::source::Source;
use super::super::{Record, TimeUnit};
use super::{Format, Head, Open};

pub static FORMAT: Format = Format {
    name: "srt",
    title: "HP SRT 1.x",
    extensions: &[".srt"],
    unit: TimeUnit::Microseconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head: &Head<'_>| f64::from(u8::from(head.bytes.starts_with(MAGIC))),
    open: Open::Stream(|source, _| Ok(Box::new(Srt::open(source)?))),
};

const MAGIC: &[u8] = b"$$TR_IOREC-";
const HEADER_LIMIT: usize = 1 << 20;
/// Sizes of a record in bytes: without and with queue length and suspect flags.
const SIZES: std::ops::RangeInclusive<u32> = 52..=256;
/// A disk request; other types are not requests of a disk.
const DISK: u32 = 1;
const READ: u32 = 1;
const ASYNC: u32 = 1 << 8;

/// What the header says of a disk.
#[derive(Clone, Copy, Debug, Default)]
struct Disk {
    sector_bytes: u64,
    track_sectors: u64,
    cylinder_tracks: u64,
    cylinders: u64,
}

struct Srt {
    source: Source,
    disks: BTreeMap<u32, Disk>,
    others: u64,
}

impl Srt {
    fn open(mut source: Source) -> Result<Self, Stop> {
        let mut have = 4096;
        let length = loop {
            let head = source.peek(have)?;
            if !head.starts_with(MAGIC) {
                return Err(Stop::Lost(Fault::new("no \"$$TR_IOREC-\" at its beginning: not an SRT trace")));
            }
            // The words behind the form feed may hold any byte, the text before it none.
            if let Some(end) = memchr::memchr(0x0c, head) {
                break end + 1;
            }
            if head.len() < have || have >= HEADER_LIMIT {
                return Err(Stop::Lost(Fault::new("no form feed ends the text header; the trace is truncated")));
            }
            have *= 2;
        };
        let Some(Ok(header)) = source.record(length)? else {
            return Err(Stop::Lost(Fault::new("the header cannot be read")));
        };
        let header = String::from_utf8_lossy(header);
        let version = header[MAGIC.len()..].split([' ', '\n']).next().unwrap_or_default();
        if !version.starts_with("1.") {
            return Err(Stop::Lost(Fault::new(format!("SRT version {version:?}; 1.x is read"))));
        }
        let disks = disks(&header);
        Ok(Self { source, disks, others: 0 })
    }
}

/// Reads `N -> {`, `key = value,` of the disks; sections have arrows too, but none of the keys.
fn disks(header: &str) -> BTreeMap<u32, Disk> {
    let mut disks: BTreeMap<u32, Disk> = BTreeMap::new();
    let (mut depth, mut open) = (0i32, None);
    for line in header.lines() {
        if let Some((number, "{")) = line.split_once("->").map(|(n, rest)| (n.trim(), rest.trim()))
            && depth == 1
        {
            open = number.parse().ok();
        }
        if let (Some(device), Some((key, value))) = (open, line.split_once('='))
            && let Some(value) = digits(value.trim().trim_end_matches(',').trim_end().as_bytes())
        {
            let disk: &mut Disk = disks.entry(device).or_default();
            match key.trim() {
                "nspt" => disk.track_sectors = value,
                "ntpc" => disk.cylinder_tracks = value,
                "ncyl" => disk.cylinders = value,
                "sectorsize" => disk.sector_bytes = value,
                _ => {}
            }
        }
        let count = |c| line.bytes().filter(|b| *b == c).count() as i32;
        depth += count(b'{') - count(b'}');
        if depth <= 1 {
            open = None;
        }
    }
    disks
}

impl Parse for Srt {
    fn next(&mut self) -> Result<Option<Record>, Stop> {
        loop {
            let lead = self.source.peek(4)?;
            let &[a, b, c, d] = lead else {
                if lead.is_empty() {
                    return Ok(None);
                }
                return Err(Stop::cut(56, lead.len()));
            };
            let size = u32::from_be_bytes([a, b, c, d]);
            if !SIZES.contains(&size) || size % 4 != 0 {
                let at = self.source.next_at();
                let reason = if SIZES.contains(&size.swap_bytes()) {
                    format!("the record at byte {at} is little-endian; SRT is big-endian: mixed byte orders")
                } else {
                    format!("the record at byte {at} claims {size} bytes; records have 52 to 256: damaged from here on")
                };
                return Err(Stop::Lost(Fault::new(reason)));
            }
            let length = size as usize;
            let bytes = match self.source.record(length)? {
                Some(Ok(bytes)) => bytes,
                Some(Err(cut)) => return Err(Stop::cut(length, cut.have)),
                None => return Ok(None),
            };
            let word = |at: usize| {
                let b = &bytes[4 * at..];
                u32::from_be_bytes([b[0], b[1], b[2], b[3]])
            };
            if word(1) & 0xffff != DISK {
                self.others += 1;
                continue;
            }
            let (seconds, micros) = (word(2), word(3));
            if seconds > i32::MAX as u32 || micros >= 1_000_000 {
                let reason = format!("time {seconds} s {micros} us: negative or no time");
                return Err(Stop::Broken(Fault::new(reason)));
            }
            let device = word(8) >> 8 & 0xff;
            let Some(disk) = self.disks.get(&device).filter(|disk| disk.sector_bytes > 0) else {
                let reason = format!("device {device} is not in the header, so its sector size is unknown");
                return Err(Stop::Broken(Fault::new(reason)));
            };
            let flags = word(11);
            return Ok(Some(Record {
                at: Nanos(i64::from(seconds) * 1_000_000_000 + i64::from(micros) * 1000),
                device,
                op: if flags & READ != 0 { Op::Read } else { Op::Write },
                offset: sectors(u64::from(word(7)), disk.sector_bytes, "sector").map_err(Stop::Broken)?,
                bytes: u64::from(word(6)),
                asynchronous: Some(flags & ASYNC != 0),
                response: Some(Nanos(i64::from(word(5)) * 1000)),
            }));
        }
    }

    fn place(&self) -> String {
        format!("byte {}", self.source.taken_at())
    }

    fn sizes(&self) -> Vec<(u32, u64)> {
        let size = |disk: &Disk| {
            let track = disk.sector_bytes.checked_mul(disk.track_sectors)?;
            track.checked_mul(disk.cylinder_tracks)?.checked_mul(disk.cylinders).filter(|size| *size > 0)
        };
        self.disks.iter().filter_map(|(&device, disk)| Some((device, size(disk)?))).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let said = format!("{} records that are not disk requests are left out", self.others);
        (self.others > 0).then_some(said).into_iter().collect()
    }
}
