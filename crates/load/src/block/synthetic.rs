//! Requests drawn from distributions: where (`pattern`), what and how large (`mix`), when (`arrivals`).

use iojoule_record::Op;

use crate::LoadError;
use crate::block::arrivals::{Arrival, Plan};
use crate::block::config::{Flush, Pattern, SyntheticLoad};
use crate::block::mix::Draw;
use crate::block::pattern::Places;
use crate::block::source::{Io, Next, Remains, Source};
use crate::block::target::Target;

/// The kernel moves at most this many bytes in one request.
const LARGEST: u64 = 0x7fff_f000;
/// When to look again where the reader of a trace has fallen behind.
const UNREAD_NS: i64 = 200_000;

/// What all jobs of a synthetic load have in common, checked against the target.
pub(crate) struct Layout<'a> {
    load: &'a SyntheticLoad,
    pieces: Vec<Piece>,
    slots: u64,
    /// Bytes of the smallest request.
    pub slot_bytes: u64,
    /// Bytes of the largest request.
    pub largest: u32,
}

/// Part of a file that lies in the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// Number of its first place.
    first: u64,
    file: u32,
    offset: u64,
}

impl<'a> Layout<'a> {
    pub fn new(load: &'a SyntheticLoad, target: &Target) -> Result<Self, LoadError> {
        let sizes = || load.sizes.iter().map(|size| size.bytes);
        let (Some(slot_bytes), Some(largest)) = (sizes().min(), sizes().max()) else {
            return Err(LoadError::config("sizes", "is empty"));
        };
        if slot_bytes == 0 || largest > LARGEST {
            return Err(LoadError::config("sizes", format!("a size is not between 1 and {LARGEST}")));
        }
        if load.jobs == 0 {
            return Err(LoadError::config("jobs", "0 is less than 1"));
        }
        if load.flush.is_some_and(|flush| flush.every == 0) {
            return Err(LoadError::config("flush", "`every` is 0"));
        }
        if (load.mix.write > 0.0 || load.mix.trim > 0.0 || load.flush.is_some()) && !target.writable {
            return Err(LoadError::config("mix", "the load writes and the target is open for reading only"));
        }
        sizes().try_for_each(|bytes| target.check_aligned("sizes", bytes))?;
        let (pieces, slots) = pieces(load, target, slot_bytes, largest)?;
        Ok(Self { load, pieces, slots, slot_bytes, largest: largest as u32 })
    }

    /// One engine thread's requests; they [`begin`](Synthetic::begin) later.
    pub fn source(&self, job: u32, seed: u64) -> Result<Synthetic, LoadError> {
        let (load, jobs) = (self.load, self.load.jobs);
        let mut plan = Plan::new(&load.arrivals, job, jobs, seed)?;
        let own_seed = seed.wrapping_add(u64::from(job).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Ok(Synthetic {
            places: Places::new(&load.pattern, self.slots, self.slot_bytes, job, jobs, seed)?,
            draw: Draw::new(load.mix, &load.sizes, own_seed)?,
            pieces: self.pieces.clone(),
            slot_bytes: self.slot_bytes,
            stepping: load.pattern == Pattern::Sequential && load.sizes.iter().any(|s| s.bytes != self.slot_bytes),
            at: plan.as_mut().map_or(Arrival::End, Plan::next),
            plan,
            epoch_ns: 0,
            seq: u64::from(job),
            jobs: u64::from(jobs),
            flush: load.flush.map(|flush| Flushing { flush, writes: 0, dirty: Vec::new(), due: Vec::new() }),
        })
    }
}

/// The places of the region, file by file: as many as hold the largest request, so that none crosses an edge.
fn pieces(
    load: &SyntheticLoad,
    target: &Target,
    slot_bytes: u64,
    largest: u64,
) -> Result<(Vec<Piece>, u64), LoadError> {
    let all = target.bytes();
    let from = load.region.offset;
    let to = match load.region.bytes {
        Some(bytes) => from.checked_add(bytes).filter(|to| *to <= all),
        None => Some(all),
    };
    let Some(to) = to.filter(|to| from < *to) else {
        return Err(LoadError::config("region", format!("does not lie inside the {all} bytes of the target")));
    };
    let (mut pieces, mut slots, mut start) = (Vec::new(), 0, 0);
    for (file, place) in (0..).zip(&target.files) {
        let end = start + place.bytes;
        let (low, high) = (from.max(start), to.min(end));
        if low + largest <= high {
            target.check_aligned("region.offset", low - start)?;
            pieces.push(Piece { first: slots, file, offset: low - start });
            slots += (high - low - largest) / slot_bytes + 1;
        }
        start = end;
    }
    if slots == 0 {
        let reason = format!("no file of the target holds a request of {largest} bytes inside the region");
        return Err(LoadError::config("sizes", reason));
    }
    Ok((pieces, slots))
}

pub(crate) struct Synthetic {
    places: Places,
    draw: Draw,
    pieces: Vec<Piece>,
    slot_bytes: u64,
    /// Sizes differ and the pattern is sequential: a request takes as many places as it covers.
    stepping: bool,
    /// None in a closed loop.
    plan: Option<Plan>,
    at: Arrival,
    epoch_ns: i64,
    seq: u64,
    jobs: u64,
    flush: Option<Flushing>,
}

/// Counts writes that came back. What is due goes out beside the writes under way: there is no drain, so a flush covers
/// at least the writes that came back before it.
struct Flushing {
    flush: Flush,
    writes: u64,
    /// Files written to since their last flush, and those to be flushed now.
    dirty: Vec<u32>,
    due: Vec<u32>,
}

impl Synthetic {
    /// The plan's zero is at this host time.
    pub fn begin(mut self, epoch_ns: i64) -> Self {
        self.epoch_ns = epoch_ns;
        self
    }

    #[inline]
    fn numbered(&mut self) -> u64 {
        let seq = self.seq;
        self.seq += self.jobs;
        seq
    }

    #[inline]
    fn draw(&mut self, planned_ns: i64) -> Io {
        let (op, bytes) = self.draw.next();
        let place = self.places.next();
        if self.stepping {
            for _ in 1..u64::from(bytes).div_ceil(self.slot_bytes) {
                self.places.next();
            }
        }
        let piece = match self.pieces.as_slice() {
            [only] => *only,
            pieces => pieces[pieces.partition_point(|piece| piece.first <= place) - 1],
        };
        let offset = piece.offset + (place - piece.first) * self.slot_bytes;
        Io { seq: self.numbered(), planned_ns, op, file: piece.file, offset, bytes }
    }
}

impl Source for Synthetic {
    #[inline]
    fn next(&mut self, now: i64) -> Next {
        if let Some(file) = self.flush.as_mut().and_then(|flushing| flushing.due.pop()) {
            let seq = self.numbered();
            return Next::Io(Io { seq, planned_ns: Io::NOW, op: Op::Flush, file, offset: 0, bytes: 0 });
        }
        let Some(plan) = &mut self.plan else { return Next::Io(self.draw(Io::NOW)) };
        if self.at == Arrival::Unread {
            self.at = plan.next();
        }
        match self.at {
            Arrival::At(at) if self.epoch_ns + at > now => Next::At(self.epoch_ns + at),
            Arrival::At(at) => {
                self.at = plan.next();
                Next::Io(self.draw(self.epoch_ns + at))
            }
            Arrival::Unread => Next::At(now + UNREAD_NS),
            Arrival::End => Next::End,
        }
    }

    #[inline]
    fn done(&mut self, io: &Io, _fine: bool) {
        let Some(flushing) = self.flush.as_mut().filter(|_| io.op == Op::Write) else { return };
        flushing.writes += 1;
        if !flushing.dirty.contains(&io.file) {
            flushing.dirty.push(io.file);
        }
        if flushing.writes >= flushing.flush.every {
            flushing.writes = 0;
            flushing.due.append(&mut flushing.dirty);
        }
    }

    fn finish(self) -> Result<Remains, LoadError> {
        self.plan.map_or(Ok(()), Plan::finish)?;
        Ok(Remains::default())
    }
}
