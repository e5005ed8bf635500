//! A drive's overheads and bus in whole nanoseconds.

use iojoule_units::{ModelNs, Nanos};

use crate::spec::{DriveSpec, HardDiskSpec};
use crate::{DiskError, Op};

/// Times from the specification, scaled.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub per_request: Nanos,
    read_hit: [Nanos; 2],
    read_miss: [Nanos; 2],
    write_hit: [Nanos; 2],
    write_miss: [Nanos; 2],
    pub read_disconnect: [Nanos; 2],
    pub write_disconnect: Nanos,
    pub completion: [Nanos; 2],
    pub preparation: Nanos,
    pub first_reselect: Nanos,
    pub other_reselect: Nanos,
    pub extra_command: Nanos,
    pub extra_disconnect: Nanos,
    pub extra_between: Nanos,
    pub extra_second_disconnect: Nanos,
    pub extra_seek_delta: Nanos,
    pub minimum_seek_delay: Nanos,
    /// A sector over the bus, for a read and a write.
    pub bus_sector: [Nanos; 2],
}

impl Timing {
    pub(crate) fn new(spec: &DriveSpec, disk: &HardDiskSpec) -> Result<Self, DiskError> {
        let o = &disk.overhead;
        let check = |ms: f64, key: &str| {
            if ms.is_finite() && (0.0..=60e3).contains(&ms) {
                return Ok(Nanos((ms * 1e6).round() as i64));
            }
            let (drive, key, why) = (spec.name.clone(), format!("disk.{key}"), "between 0 and 60000 ms".into());
            Err(DiskError::Value { drive, key, value: ms.to_string(), why })
        };
        let scaled = |ms: f64, key: &str| check(ms * o.scale, &format!("overhead.{key}"));
        let pair = |read: f64, write: f64, key: &str| Ok([scaled(read, key)?, scaled(write, key)?]);
        let sector = |bus: f64| check(disk.bus.drive_sector_ms.max(bus), "bus");
        Ok(Self {
            per_request: scaled(o.per_request_ms, "per_request_ms")?,
            read_hit: pair(o.read_hit_after_read_ms, o.read_hit_after_write_ms, "read_hit")?,
            read_miss: pair(o.read_miss_after_read_ms, o.read_miss_after_write_ms, "read_miss")?,
            write_hit: pair(o.write_hit_after_read_ms, o.write_hit_after_write_ms, "write_hit")?,
            write_miss: pair(o.write_miss_after_read_ms, o.write_miss_after_write_ms, "write_miss")?,
            read_disconnect: pair(
                o.read_disconnect_after_read_ms,
                o.read_disconnect_after_write_ms,
                "read_disconnect",
            )?,
            write_disconnect: scaled(o.write_disconnect_ms, "write_disconnect_ms")?,
            completion: pair(o.read_completion_ms, o.write_completion_ms, "completion")?,
            preparation: scaled(o.data_preparation_ms, "data_preparation_ms")?,
            first_reselect: scaled(o.first_reselect_ms, "first_reselect_ms")?,
            other_reselect: scaled(o.other_reselect_ms, "other_reselect_ms")?,
            extra_command: scaled(o.extra_command_ms, "extra_command_ms")?,
            extra_disconnect: scaled(o.extra_disconnect_ms, "extra_disconnect_ms")?,
            extra_between: scaled(o.extra_between_ms, "extra_between_ms")?,
            extra_second_disconnect: scaled(o.extra_second_disconnect_ms, "extra_second_disconnect_ms")?,
            extra_seek_delta: scaled(o.extra_seek_delta_ms, "extra_seek_delta_ms")?,
            minimum_seek_delay: scaled(o.minimum_seek_delay_ms, "minimum_seek_delay_ms")?,
            bus_sector: [sector(disk.bus.read_sector_ms)?, sector(disk.bus.write_sector_ms)?],
        })
    }

    /// Before a read served from the buffer; `last` is the command before it.
    #[inline]
    pub(crate) fn read_hit(&self, last: Op) -> Nanos {
        self.read_hit[last as usize]
    }

    #[inline]
    pub(crate) fn read_miss(&self, last: Op) -> Nanos {
        self.read_miss[last as usize]
    }

    /// Before a write that is reported from the buffer.
    #[inline]
    pub(crate) fn write_hit(&self, last: Op) -> Nanos {
        self.write_hit[last as usize]
    }

    #[inline]
    pub(crate) fn write_miss(&self, last: Op) -> Nanos {
        self.write_miss[last as usize]
    }
}

/// The bus carries a read's sectors in their order as they come from the medium, none before a number of them is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outflow {
    /// When the bus can begin, or has sent all it was given.
    pub free: ModelNs,
    connect: Nanos,
    sector: Nanos,
    awaited: u64,
    held: u64,
}

impl Outflow {
    /// The bus is free at `free`, takes `connect` once `awaited` sectors are there, and then `sector` for each.
    pub(crate) fn new(free: ModelNs, connect: Nanos, sector: Nanos, awaited: u64) -> Self {
        Self { free, connect, sector, awaited, held: 0 }
    }

    /// `count` more sectors come at a steady pace, the first at `first` and the last at `last`.
    #[inline]
    pub(crate) fn feed(&mut self, first: ModelNs, last: ModelNs, count: u64) {
        let mut begin = first;
        if self.awaited > 0 {
            self.held += count;
            if self.held < self.awaited {
                return;
            }
            let surplus = (self.held - self.awaited) as i64;
            let before = if count > 1 { (last - first).0 * surplus / (count as i64 - 1) } else { 0 };
            begin = ModelNs(last.0 - before) + self.connect;
            self.awaited = 0;
        } else {
            self.held = count;
        }
        let sent = self.free.max(begin) + Nanos(self.sector.0 * self.held as i64);
        self.free = sent.max(last + self.sector);
    }
}
