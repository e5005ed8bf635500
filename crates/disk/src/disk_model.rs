//! A hard disk's specification compiled: mechanics, overheads, and the rules of its buffer.

use crate::cache::Rules;
use crate::mechanics::Mechanics;
use crate::spec::{DriveSpec, FastWrite, HardDiskSpec, Prefetch};
use crate::timing::Timing;
use crate::{DiskError, Op};

#[derive(Clone, Debug)]
pub(crate) struct DiskModel {
    pub mechanics: Mechanics,
    pub timing: Timing,
    pub rules: Rules,
    pub prefetch: Prefetch,
    pub read_ahead_min: u64,
    pub read_ahead_max: u64,
    pub over_requested: bool,
    pub read_ahead_on_hit: bool,
    pub read_free: bool,
    pub zero_latency: [bool; 2],
    pub fast_write: bool,
    pub combine: bool,
    pub stop_in_sector: bool,
    pub send_partial: bool,
    pub never_disconnect: bool,
    /// A write may disconnect once more before its data.
    pub extra_disconnect: bool,
    read_watermark: f64,
    watermark_by_request: bool,
}

impl DiskModel {
    pub(crate) fn new(spec: &DriveSpec, disk: &HardDiskSpec) -> Result<Self, DiskError> {
        let cache = &disk.cache;
        Ok(Self {
            mechanics: Mechanics::new(spec, disk)?,
            timing: Timing::new(spec, disk)?,
            rules: Rules::new(spec, cache)?,
            prefetch: cache.prefetch,
            read_ahead_min: u64::from(cache.read_ahead_min_sectors),
            read_ahead_max: u64::from(cache.read_ahead_max_sectors),
            over_requested: cache.read_ahead_over_requested > 0,
            read_ahead_on_hit: cache.read_ahead_on_hit,
            read_free: cache.read_free_sectors,
            // A drive that holds the bus throughout sends what passes; it has nothing to put in order.
            zero_latency: [
                (cache.zero_latency_read || cache.read_free_sectors) && !cache.never_disconnect,
                cache.zero_latency_write,
            ],
            fast_write: cache.fast_write != FastWrite::None,
            combine: cache.combine_writes,
            stop_in_sector: cache.stop_in_sector,
            send_partial: cache.send_partial_hit,
            never_disconnect: cache.never_disconnect,
            extra_disconnect: disk.overhead.extra_write_disconnect,
            read_watermark: cache.read_watermark,
            watermark_by_request: cache.watermark_by_request,
        })
    }

    /// Sectors of a read of `sectors` that must be in the buffer before any is sent.
    #[inline]
    pub(crate) fn awaited(&self, sectors: u32) -> u64 {
        let of = if self.watermark_by_request { u64::from(sectors).min(self.rules.size) } else { self.rules.size };
        ((of as f64 * self.read_watermark) as u64).clamp(1, u64::from(sectors).max(1))
    }

    /// The address at which reading ahead behind `end` ends, for a segment that begins at `start`; the arm is over
    /// track `near`, most likely.
    #[inline]
    pub(crate) fn read_ahead_limit(&self, near: u32, start: u64, lba: u64, end: u64) -> u64 {
        let geometry = &self.mechanics.geometry;
        let limit = match self.prefetch {
            Prefetch::None => end,
            Prefetch::NextTrack => {
                let (first, next, slots) = geometry.bounds(near, end);
                if start < first { next + u64::from(slots) } else { next }
            }
            _ if self.read_ahead_max > 0 => end + self.read_ahead_max,
            _ if self.over_requested => end + self.rules.size,
            _ => (lba + self.rules.size).max(end),
        };
        limit.min(geometry.sectors())
    }

    /// Whether reading ahead may go on from a track to the next one.
    #[inline]
    pub(crate) fn may_cross(&self, same_cylinder: bool) -> bool {
        match self.prefetch {
            Prefetch::Track => false,
            Prefetch::Cylinder => same_cylinder,
            _ => true,
        }
    }

    /// From a command's arrival to its seek.
    #[inline]
    pub(crate) fn lead(&self, op: Op, last: Op) -> iojoule_units::Nanos {
        let overhead = match op {
            Op::Read => self.timing.read_miss(last),
            Op::Write if self.fast_write => self.timing.write_hit(last),
            Op::Write => self.timing.write_miss(last),
        };
        overhead + self.timing.per_request
    }
}
