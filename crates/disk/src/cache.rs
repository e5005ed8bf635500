//! What a disk's buffer holds. Its segments are runs of addresses; the least recently used one makes room. Rules and
//! terms as in DiskSim 4.0's `disksim_diskcache`, for a drive that holds one command at a time.

use crate::DiskError;
use crate::spec::{CacheSpec, Caching, DriveSpec};

/// Addresses `start..end` held by one segment; none where they are equal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    pub start: u64,
    pub end: u64,
    /// Filled by a write: reads may be forbidden to use it.
    pub written: bool,
    used: u64,
}

/// How much of a read is in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// All of it, in this segment.
    Whole(usize),
    /// Its beginning.
    Partial(usize),
    None,
}

#[derive(Clone, Debug)]
pub(crate) struct Cache {
    segments: Vec<Segment>,
    clock: u64,
}

/// The rules of a cache.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub segments: usize,
    pub size: u64,
    pub keeps: bool,
    pub read_written: bool,
    /// The first segment is for writes alone.
    pub separate_write: bool,
}

impl Rules {
    pub(crate) fn new(spec: &DriveSpec, cache: &CacheSpec) -> Result<Self, DiskError> {
        let refuse = |key: &str, value: String, why: &str| {
            let (drive, key, why) = (spec.name.clone(), format!("disk.cache.{key}"), why.into());
            Err(DiskError::Value { drive, key, value, why })
        };
        if cache.segments == 0 || cache.segments > 4096 {
            return refuse("segments", cache.segments.to_string(), "between 1 and 4096");
        }
        if cache.segment_sectors == 0 {
            return refuse("segment_sectors", "0".into(), "a segment holds at least one sector");
        }
        let separate_write = cache.separate_write_segment && cache.segments > 1;
        Ok(Self {
            segments: cache.segments as usize,
            size: u64::from(cache.segment_sectors),
            keeps: cache.caching != Caching::Off,
            read_written: cache.read_hits_on_writes,
            separate_write,
        })
    }
}

impl Cache {
    pub(crate) fn new(rules: &Rules) -> Self {
        Self { segments: vec![Segment::default(); rules.segments], clock: 0 }
    }

    /// What a read finds.
    #[inline]
    pub(crate) fn find(&self, rules: &Rules, lba: u64, sectors: u32) -> Hit {
        let mut best = Hit::None;
        if !rules.keeps {
            return best;
        }
        let skip = usize::from(rules.separate_write);
        for (index, segment) in self.segments.iter().enumerate().skip(skip) {
            if segment.start <= lba && lba < segment.end && (rules.read_written || !segment.written) {
                if lba + u64::from(sectors) <= segment.end {
                    return Hit::Whole(index);
                }
                best = Hit::Partial(index);
            }
        }
        best
    }

    /// The segment a read that found nothing will fill, emptied at `lba`.
    #[inline]
    pub(crate) fn take_for_read(&mut self, rules: &Rules, lba: u64) -> usize {
        let index = self.oldest(usize::from(rules.separate_write));
        self.segments[index] = Segment { start: lba, end: lba, written: false, used: 0 };
        self.touch(index);
        index
    }

    /// The segment a write fills. What other segments hold of its addresses is forgotten.
    #[inline]
    pub(crate) fn take_for_write(&mut self, rules: &Rules, lba: u64, sectors: u32) -> usize {
        let end = lba + u64::from(sectors);
        let mut overlapping = None;
        for (index, segment) in self.segments.iter_mut().enumerate() {
            if segment.start < end && lba < segment.end {
                overlapping = overlapping.or(Some(index));
                segment.end = segment.start;
            }
        }
        let index = match overlapping {
            _ if rules.separate_write => 0,
            Some(index) => index,
            None => self.oldest(0),
        };
        self.segments[index] = Segment { start: end.saturating_sub(rules.size).max(lba), end, written: true, used: 0 };
        if !(rules.keeps && rules.read_written) {
            self.segments[index].end = self.segments[index].start;
        }
        self.touch(index);
        index
    }

    /// An empty segment, or the least recently used one.
    #[inline]
    fn oldest(&self, skip: usize) -> usize {
        let mut best = (u64::MAX, skip);
        for (index, segment) in self.segments.iter().enumerate().skip(skip) {
            let age = if segment.start == segment.end { 0 } else { segment.used };
            if age < best.0 {
                best = (age, index);
            }
        }
        best.1
    }

    #[inline]
    pub(crate) fn touch(&mut self, index: usize) {
        self.clock += 1;
        self.segments[index].used = self.clock;
    }

    #[inline]
    pub(crate) fn segment(&self, index: usize) -> &Segment {
        &self.segments[index]
    }

    /// The segment has been filled up to `end`; what no longer fits falls off its front.
    #[inline]
    pub(crate) fn extend(&mut self, rules: &Rules, index: usize, end: u64) {
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(segment.end.saturating_sub(rules.size));
    }

    /// Sectors before the segment's first have been read, too.
    #[inline]
    pub(crate) fn extend_front(&mut self, rules: &Rules, index: usize, start: u64) {
        let segment = &mut self.segments[index];
        segment.start = segment.start.min(start).max(segment.end.saturating_sub(rules.size));
    }

    /// What lies before `start` may be overwritten: it has been delivered.
    #[inline]
    pub(crate) fn drop_front(&mut self, index: usize, start: u64) {
        let segment = &mut self.segments[index];
        segment.start = segment.start.max(start.min(segment.end));
    }
}
