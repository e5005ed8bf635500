//! A hard disk at work: one command at a time from the host, and in the background either reading ahead or writing what
//! was reported written. Background work is worked out when the next command comes.

use iojoule_units::{ModelNs, Nanos};

use crate::cache::{Cache, Hit};
use crate::disk_model::DiskModel;
use crate::mechanics::{Arm, Positioner};
use crate::media::{Extent, Inflow};
use crate::power::Ledger;
use crate::read_ahead::{Progress, ReadAhead};
use crate::timing::Outflow;
use crate::{Command, Op, Service};

/// One disk in motion.
#[derive(Clone, Debug)]
pub(crate) struct HardDisk {
    arm: Arm,
    cache: Cache,
    work: Work,
    /// The last command, on which the next one's overhead depends.
    last: Op,
    /// Where the last write ended, for the next one may continue it.
    written_to: u64,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Rest,
    ReadingAhead(ReadAhead),
    /// The medium is written until then.
    Writing(ModelNs),
}

impl HardDisk {
    pub(crate) fn new(with: &DiskModel, phase: Nanos) -> Self {
        let turn = phase.0.rem_euclid(i64::from(with.mechanics.rotation)) as u32;
        let first = with.mechanics.geometry.track(0);
        let arm = Arm { cylinder: first.cylinder, track: first.index, turn };
        Self { arm, cache: Cache::new(&with.rules), work: Work::Rest, last: Op::Read, written_to: u64::MAX }
    }

    pub(crate) fn start(&mut self, with: &DiskModel, now: ModelNs, command: Command, book: &mut Ledger) -> Service {
        let mut stopped = self.settle(with, now, book);
        let extent = Extent { lba: command.lba.0, sectors: command.sectors, on_track: command.on_track };
        if with.read_ahead_min > 0 {
            stopped = self.read_the_least(with, stopped, command.op, extent, book);
        }
        book.book(crate::PowerState::Idle, now);
        let now = now + with.timing.per_request;
        let (done, cached) = match command.op {
            Op::Read => self.read(with, now, stopped, extent, book),
            Op::Write => self.write(with, now, stopped, extent, book),
        };
        self.last = command.op;
        Service { done, ready: done, cached }
    }

    /// Brings background work up to `now`; when the arm could be taken from it.
    #[inline]
    pub(crate) fn settle(&mut self, with: &DiskModel, now: ModelNs, book: &mut Ledger) -> ModelNs {
        match &mut self.work {
            Work::Rest => now,
            Work::Writing(until) if *until > now => *until,
            Work::Writing(_) => {
                self.work = Work::Rest;
                now
            }
            Work::ReadingAhead(ahead) => {
                let progress = ahead.advance(with, &mut self.arm, now, &mut |state, to| book.book(state, to));
                self.cache.extend(&with.rules, ahead.segment, ahead.next);
                match progress {
                    Progress::Ended(_) => {
                        self.work = Work::Rest;
                        now
                    }
                    Progress::GoesOn(_) if with.stop_in_sector => now,
                    Progress::GoesOn(end) => end,
                }
            }
        }
    }

    /// Reads ahead what must be read before a command may stop it; when the arm could be taken then.
    fn read_the_least(
        &mut self,
        with: &DiskModel,
        stopped: ModelNs,
        op: Op,
        extent: Extent,
        book: &mut Ledger,
    ) -> ModelNs {
        let Work::ReadingAhead(ahead) = &mut self.work else { return stopped };
        let serves = op == Op::Read
            && matches!(
                self.cache.find(&with.rules, extent.lba, extent.sectors),
                Hit::Whole(segment) | Hit::Partial(segment) if segment == ahead.segment
            );
        if serves || ahead.next >= ahead.least {
            return stopped;
        }
        ahead.limit = ahead.least.min(ahead.limit);
        let progress = ahead.advance(with, &mut self.arm, ModelNs::NEVER, &mut |state, to| book.book(state, to));
        self.cache.extend(&with.rules, ahead.segment, ahead.next);
        self.work = Work::Rest;
        match progress {
            Progress::Ended(at) | Progress::GoesOn(at) => at.max(stopped),
        }
    }

    fn read(
        &mut self,
        with: &DiskModel,
        now: ModelNs,
        free: ModelNs,
        extent: Extent,
        book: &mut Ledger,
    ) -> (ModelNs, bool) {
        let timing = &with.timing;
        let Extent { lba, sectors, on_track } = extent;
        let end = lba + u64::from(sectors);
        let (sector, completion) = (timing.bus_sector[Op::Read as usize], timing.completion[Op::Read as usize]);
        let busy = matches!(self.work, Work::Writing(_));
        let missed = now + timing.read_miss(self.last);
        let found = if on_track { Hit::None } else { self.cache.find(&with.rules, lba, sectors) };
        // A drive that is writing leaves the bus and comes back when it is done.
        let left = missed + timing.read_disconnect[self.last as usize];
        let back = timing.first_reselect + timing.preparation;
        let at_once = if busy { left.max(free) + back } else { now + timing.read_hit(self.last) + timing.preparation };
        match found {
            Hit::Whole(segment) => {
                self.cache.touch(segment);
                let start = self.cache.segment(segment).start;
                let limit = with.read_ahead_limit(self.arm.track, start, lba, end);
                if with.over_requested {
                    self.cache.drop_front(segment, end);
                }
                self.work = match self.work {
                    Work::ReadingAhead(mut ahead) if ahead.segment == segment => {
                        ahead.limit = ahead.limit.max(limit);
                        Work::ReadingAhead(ahead)
                    }
                    Work::Writing(until) => Work::Writing(until),
                    _ if with.read_ahead_on_hit => {
                        let next = self.cache.segment(segment).end;
                        Work::ReadingAhead(ReadAhead::new(segment, next, missed.max(free), limit))
                    }
                    _ => Work::Rest,
                };
                (at_once + Nanos(sector.0 * i64::from(sectors)) + completion, true)
            }
            Hit::Partial(segment) => {
                self.cache.touch(segment);
                let held = self.cache.segment(segment).end;
                let mut bus = Outflow::new(at_once + Nanos(sector.0 * (held - lba) as i64), Nanos::ZERO, sector, 0);
                if !with.send_partial && !busy {
                    bus = Outflow::new(left, back, sector, with.awaited(sectors));
                    bus.feed(left, left, held - lba);
                }
                let begin = match self.work {
                    Work::ReadingAhead(ahead) if ahead.segment == segment => ahead.at,
                    _ => missed.max(free),
                };
                let rest = Extent { lba: held, sectors: (end - held) as u32, on_track };
                let done = with.read(&mut self.arm, begin, rest, &mut bus, book);
                self.read_on(with, segment, lba, end, done.at);
                (bus.free + completion, false)
            }
            Hit::None => {
                let mut bus = if with.never_disconnect {
                    Outflow::new(missed + timing.preparation, Nanos::ZERO, sector, 1)
                } else {
                    Outflow::new(left, back, sector, with.awaited(sectors))
                };
                let segment = (!on_track).then(|| self.cache.take_for_read(&with.rules, lba));
                let done = with.read(&mut self.arm, missed.max(free), extent, &mut bus, book);
                self.work = Work::Rest;
                if let Some(segment) = segment {
                    self.cache.extend_front(&with.rules, segment, done.from);
                    self.read_on(with, segment, lba, end, done.at);
                }
                (bus.free + completion, false)
            }
        }
    }

    /// The segment holds addresses up to `end` at `at`, and the drive reads on.
    #[inline]
    fn read_on(&mut self, with: &DiskModel, segment: usize, lba: u64, end: u64, at: ModelNs) {
        self.cache.extend(&with.rules, segment, end);
        let start = self.cache.segment(segment).start;
        let limit = with.read_ahead_limit(self.arm.track, start, lba, end);
        if with.over_requested {
            self.cache.drop_front(segment, end);
        }
        let least = (end + with.read_ahead_min).min(with.mechanics.geometry.sectors());
        let mut ahead = ReadAhead::new(segment, end, at, limit.max(least));
        ahead.least = least;
        self.work = Work::ReadingAhead(ahead);
    }

    fn write(
        &mut self,
        with: &DiskModel,
        now: ModelNs,
        free: ModelNs,
        extent: Extent,
        book: &mut Ledger,
    ) -> (ModelNs, bool) {
        let timing = &with.timing;
        let Extent { lba, sectors, .. } = extent;
        let end = lba + u64::from(sectors);
        let (sector, completion) = (timing.bus_sector[Op::Write as usize], timing.completion[Op::Write as usize]);
        let busy = matches!(self.work, Work::Writing(_));
        let continues = lba == self.written_to;
        // Only a write that continues the last one has the shorter overhead of a write after a write.
        let after = if continues { self.last } else { Op::Read };
        let overhead = if with.fast_write { timing.write_hit(after) } else { timing.write_miss(after) };
        let appends = busy && with.combine && continues;
        let extra = with.extra_disconnect && self.last == Op::Write && !continues && !busy;
        let (mut seek, mut first) = (now + overhead, now + overhead + timing.preparation);
        if extra {
            seek = now + timing.extra_command + timing.extra_seek_delta;
            first = now + timing.extra_command + timing.extra_disconnect + timing.extra_between;
            first = first + timing.first_reselect + timing.preparation;
        } else if busy && !appends {
            first = (now + overhead + timing.write_disconnect).max(free) + timing.first_reselect + timing.preparation;
        }
        self.cache.take_for_write(&with.rules, lba, sectors);
        seek = seek.max(free);
        if !appends && timing.minimum_seek_delay > Nanos::ZERO {
            let spot = with.mechanics.geometry.spot(lba);
            let mut arm = self.arm;
            let takes = with.mechanics.reach(&mut arm, seek, &spot, Op::Write) - seek;
            seek = seek + Nanos((timing.minimum_seek_delay - takes).0.max(0));
        }
        let sent = first + Nanos(sector.0 * i64::from(sectors));
        // A drive that disconnects before the data begins to write when some of them are there.
        let some = if sectors < 45 { sectors.min(10) } else { 15 };
        let some = if with.extra_disconnect { some } else { 0 };
        let data = Inflow { first, sector, enough: first + Nanos(sector.0 * i64::from(some)) };
        let written = with.write(&mut self.arm, seek, extent, data, book);
        self.work = Work::Writing(written);
        self.written_to = end;
        if with.fast_write {
            return (sent + completion, true);
        }
        let (leave, back) = if extra {
            (timing.extra_second_disconnect, timing.other_reselect)
        } else {
            (timing.write_disconnect, timing.first_reselect)
        };
        ((sent + leave).max(written) + back + completion, false)
    }

    /// When background work ends if nothing comes.
    pub(crate) fn busy_until(&self, with: &DiskModel) -> ModelNs {
        match self.work {
            Work::Rest => ModelNs::ZERO,
            Work::Writing(until) => until,
            Work::ReadingAhead(mut ahead) => {
                let mut arm = self.arm;
                match ahead.advance(with, &mut arm, ModelNs::NEVER, &mut |_, _| ()) {
                    Progress::Ended(at) | Progress::GoesOn(at) => at,
                }
            }
        }
    }

    /// Gives up reading ahead; what is written is written.
    pub(crate) fn stop(&mut self, with: &DiskModel, now: ModelNs, book: &mut Ledger) -> ModelNs {
        let free = self.settle(with, now, book);
        match self.work {
            Work::Writing(until) => until.max(now),
            _ => {
                self.work = Work::Rest;
                free.max(now)
            }
        }
    }

    /// What a command that comes at `now` would wait for.
    pub(crate) fn positioner<'a>(&self, with: &'a DiskModel, now: ModelNs) -> Positioner<'a> {
        let mut arm = self.arm;
        let free = match self.work {
            Work::Rest => now,
            Work::Writing(until) => until.max(now),
            Work::ReadingAhead(mut ahead) => match ahead.advance(with, &mut arm, now, &mut |_, _| ()) {
                Progress::GoesOn(end) if !with.stop_in_sector => end,
                _ => now,
            },
        };
        let begin = |op| (now + with.lead(op, self.last)).max(free);
        let (read, write) = (begin(Op::Read), begin(Op::Write));
        Positioner {
            seek: Some(&with.mechanics.seek),
            cylinder: arm.cylinder,
            track: arm.track,
            rotation: with.mechanics.rotation,
            angle: [with.mechanics.angle(&arm, read), with.mechanics.angle(&arm, write)],
            lead: [(read - now).0 as u32, (write - now).0 as u32],
        }
    }
}
