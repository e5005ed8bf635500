//! Where requests go. Each starts in one of four places:
//!
//! - where the one before ended (sequential),
//! - at a write of the last hour, any of them with the same probability (only reads): the host's file cache in front of
//!   the disk has swallowed reads of what is younger than it is large,
//! - somewhere in the region of the one before (near),
//! - somewhere in a region drawn by how much it is wanted (far).
//!
//! The shares of the first two are given. The mean distance is `far` for the second and the fourth, `near` for the third and
//! 0 for the first; so the share of the fourth follows from the mean distance that L asks for. What this leaves out (the
//! order of requests is not quite without memory) is put right while the trace is drawn, in proportion to what the sum
//! of all distances lacks; the same for reads after writes. A read that is not to be one after a write is drawn again in its
//! region while it meets one.

use std::collections::VecDeque;

use iojoule_units::Nanos;

use super::config::SynthConfig;
use super::draw::Draw;
use super::regions::Regions;
use crate::block::TraceError;
use crate::block::info::recent::{Recent, fresh};

/// Blocks by which the same data is told; that of `InfoOptions::default`.
const BLOCK: u64 = 4096;
/// Requests over which a lack of distance is made up for: long beside the stays in a region, short beside a trace.
const DISTANCE_MEMORY: f64 = 1_000.0;
/// The same for reads after writes.
const REREAD_MEMORY: f64 = 32.0;
/// Draws for a read that is not to meet a write of the last hour.
const TRIES: u32 = 24;

/// A request that has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub offset: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Places {
    draw: Draw,
    regions: Regions,
    data_bytes: u64,
    /// Cumulated shares of the sizes.
    sizes: Vec<(f64, u64)>,
    sequential_reads: f64,
    sequential_writes: f64,
    /// Wanted mean distance, and the share of far ones among far and near that gives it.
    distance: f64,
    far: f64,
    /// Share of reads that are to be after writes, and of all requests.
    rereads_of_reads: f64,
    rereads: f64,
    recent: Recent,
    /// Writes of the last hour in their order, where they are wanted.
    written: VecDeque<(Nanos, Placed)>,
    end: u64,
    placed: u64,
    reread: u64,
    moved: f64,
}

impl Places {
    /// # Errors
    /// [`TraceError::Option`] where no share of far requests gives the wanted L; the text says what can be reached.
    pub fn new(config: &SynthConfig, mut draw: Draw) -> Result<Self, TraceError> {
        let data_bytes = config.data_bytes / 512 * 512;
        let regions = Regions::new(data_bytes, config.zipf, &mut draw);
        let weight: f64 = config.sizes.iter().map(|s| s.weight).sum();
        let mut sum = 0.0;
        let cumulated = config.sizes.iter().map(|s| {
            sum += s.weight / weight;
            (sum, s.bytes)
        });
        let sizes = cumulated.collect();
        let rereads_of_reads = if config.reads > 0.0 { config.read_after_write_1h / config.reads } else { 0.0 };
        let mut places = Self {
            draw,
            regions,
            data_bytes,
            sizes,
            sequential_reads: config.sequential_reads,
            sequential_writes: config.sequential_writes,
            distance: data_bytes as f64 / 3.0 / config.seek_locality,
            far: 0.0,
            rereads_of_reads,
            rereads: config.read_after_write_1h,
            recent: Recent::new(BLOCK),
            written: VecDeque::new(),
            end: 0,
            placed: 0,
            reread: 0,
            moved: 0.0,
        };
        places.far = places.share_of_far(config)?;
        places.end = places.somewhere_far(512);
        Ok(places)
    }

    /// The share of far ones among far and near requests that gives the wanted mean distance.
    fn share_of_far(&self, config: &SynthConfig) -> Result<f64, TraceError> {
        let refuse = |text: String| Err(TraceError::Option(text));
        let (far, near, third) = (self.regions.far, self.regions.near, self.data_bytes as f64 / 3.0);
        let sequential = config.reads * config.sequential_reads + (1.0 - config.reads) * config.sequential_writes;
        let rest = 1.0 - sequential - self.rereads;
        if rest < 1e-6 || config.sequential_reads + self.rereads_of_reads > 1.0 {
            return refuse(
                "sequential_reads, sequential_writes and read_after_write_1h leave no request to seek".into(),
            );
        }
        let least = self.rereads * far + rest * near.min(far);
        let most = (self.rereads + rest) * far;
        // A thousandth beyond what can be reached is rounding of what was asked for.
        if self.distance < 0.999 * least || self.distance > 1.001 * most {
            let (lowest, highest) = (third / most, third / least);
            return refuse(format!(
                "seek_locality: {} cannot be had with these shares, data_bytes and zipf; {lowest:.3} to {highest:.3} can",
                config.seek_locality
            ));
        }
        let share = (self.distance - self.rereads * far - rest * near) / (rest * (far - near));
        Ok(if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 })
    }

    /// The place of the next read.
    pub fn read(&mut self, at: Nanos) -> Placed {
        while self.written.front().is_some_and(|(then, _)| !fresh(at, *then)) {
            self.written.pop_front();
        }
        let lacks = self.rereads * self.placed as f64 - self.reread as f64;
        let again = match self.written.is_empty() {
            true => 0.0,
            false => (self.rereads_of_reads * (1.0 + lacks / REREAD_MEMORY)).clamp(0.0, 1.0),
        };
        if again > 0.0 && self.draw.coin(again) {
            let (_, written) = self.written[self.draw.below(self.written.len() as u64) as usize];
            self.reread += 1;
            return self.put(written);
        }
        let bytes = self.size();
        // Of the reads that are left, so that the share of all reads is as asked for.
        let placed = match self.follows(self.sequential_reads / (1.0 - again), bytes) {
            Some(placed) => placed,
            None => self.read_anew(at, bytes),
        };
        self.reread += u64::from(self.recent.touches(at, placed.offset, placed.bytes));
        self.put(placed)
    }

    /// The place of the next write.
    pub fn write(&mut self, at: Nanos) -> Placed {
        let bytes = self.size();
        let placed = match self.follows(self.sequential_writes, bytes) {
            Some(placed) => placed,
            None => Placed { offset: self.somewhere(bytes), bytes },
        };
        self.recent.write(at, placed.offset, placed.bytes);
        if self.rereads > 0.0 {
            self.written.push_back((at, placed));
        }
        self.put(placed)
    }

    fn follows(&mut self, share: f64, bytes: u64) -> Option<Placed> {
        let fits = self.end + bytes <= self.data_bytes;
        (share > 0.0 && self.draw.coin(share) && fits).then_some(Placed { offset: self.end, bytes })
    }

    /// A read that meets no write of the last hour, unless its region has hardly anything else.
    fn read_anew(&mut self, at: Nanos, bytes: u64) -> Placed {
        let mut offset = self.somewhere(bytes);
        let region = self.regions.of(offset);
        for _ in 0..TRIES {
            if !self.recent.touches(at, offset, bytes) {
                break;
            }
            offset = self.inside(region, bytes);
        }
        Placed { offset, bytes }
    }

    /// Far or near.
    fn somewhere(&mut self, bytes: u64) -> u64 {
        let lacks = self.distance * self.placed as f64 - self.moved;
        let far = self.far * (1.0 + lacks / (self.distance * DISTANCE_MEMORY));
        if self.draw.coin(far) { self.somewhere_far(bytes) } else { self.inside(self.regions.of(self.end), bytes) }
    }

    fn somewhere_far(&mut self, bytes: u64) -> u64 {
        let region = self.regions.draw(&mut self.draw);
        self.inside(region, bytes)
    }

    /// Uniform over the aligned places of a region; a request may reach into the next region, not beyond the last.
    fn inside(&mut self, region: u64, bytes: u64) -> u64 {
        let align = 1 << bytes.trailing_zeros();
        let (from, to) = self.regions.bounds(region);
        let first = from.div_ceil(align);
        let last = (to - 1).min(self.data_bytes - bytes) / align;
        let first = first.min(last);
        (first + self.draw.below(last - first + 1)) * align
    }

    fn size(&mut self) -> u64 {
        let [(_, only)] = self.sizes[..] else {
            let drawn = self.draw.uniform();
            return self
                .sizes
                .iter()
                .find(|(sum, _)| drawn < *sum)
                .or(self.sizes.last())
                .map_or(0, |(_, bytes)| *bytes);
        };
        only
    }

    fn put(&mut self, placed: Placed) -> Placed {
        if self.placed > 0 {
            self.moved += placed.offset.abs_diff(self.end) as f64;
        }
        self.placed += 1;
        self.end = placed.offset + placed.bytes;
        placed
    }
}
