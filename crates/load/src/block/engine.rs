//! The loop of one engine thread: take what is due, hand it over, wait, record what came back.
//!
//! A closed loop reads the clock twice a turn: just before the handing-over, which is `issued` of all that leaves, and
//! just after, which is `done` of all that is back. While nothing is back, the contents of later writes are made: a
//! place that waited for them would be missing among the outstanding ones. An open loop plans against absolute
//! instants; what is late does not move what comes behind it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iojoule_record::{ErrorClass, Lane, Op, Phase, Request, clock};
use iojoule_units::HostNs;

use crate::LoadError;
use crate::block::backend::{Backend, Done};
use crate::block::config::AtCap;
use crate::block::data::Data;
use crate::block::lead::Lead;
use crate::block::shown::Shown;
use crate::block::source::{Io, Next, Source};
use crate::block::span::Span;
use crate::block::tally::Tally;
use crate::config::Waiting;
use crate::control::Wish;
use crate::epoll::{thread_cpu_ns, wake_exactly};

/// The loop turns at least this often, to notice a wish to end and to hand over records.
const TURN_NS: i64 = 50_000_000;
/// A request held back because its block is in use by another thread is tried again after this long.
const HELD_NS: i64 = 20_000;
/// After so many failures in a row a closed loop slows down to one request each `FAILING_NS`.
const FAILURES: u64 = 1000;
const FAILING_NS: i64 = 1_000_000;

/// How a loop waits and ends.
pub(crate) struct Terms<'a> {
    pub waiting: Waiting,
    pub at_cap: AtCap,
    /// Requests have planned times.
    pub open: bool,
    /// From the last planned request to the end by force.
    pub drain_ns: i64,
    pub job: u32,
    pub slots: u32,
    /// Requests handed over in one call at most; of a load that writes half of the free places where these are more.
    pub batch: usize,
    /// Whether the load writes.
    pub writes: bool,
    pub span: &'a Span<'a>,
    /// Set where another thread of the same load has failed.
    pub abort: &'a AtomicBool,
}

#[derive(Clone, Copy)]
struct Slot {
    io: Io,
    issued_ns: i64,
    phase: Phase,
    buffer: u32,
}

pub(crate) struct Engine<'a, S, B> {
    terms: &'a Terms<'a>,
    source: S,
    backend: B,
    data: Data<'a>,
    /// None where nothing is recorded.
    lane: Option<Lane>,
    tally: Tally,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Pushed and not handed over.
    fresh: Vec<u32>,
    /// Taken from the source, and without a place yet.
    held: Option<(Io, Phase)>,
    exhausted: bool,
    measure: (i64, i64),
    /// The last instant at which every slot was taken.
    full_ns: i64,
    failures: u64,
    rest_until: i64,
    lead: Lead,
    shown: Shown,
}

impl<'a, S: Source, B: Backend> Engine<'a, S, B> {
    pub fn new(terms: &'a Terms<'a>, source: S, backend: B, data: Data<'a>, lane: Option<Lane>) -> Self {
        let none = Io { seq: 0, planned_ns: 0, op: Op::Read, file: 0, offset: 0, bytes: 0 };
        let slot = |buffer| Slot { io: none, issued_ns: 0, phase: Phase::Warmup, buffer };
        let slots = (0..terms.slots).map(slot).collect();
        Self {
            terms,
            source,
            backend,
            data,
            lane,
            tally: Tally::new(),
            slots,
            free: (0..terms.slots).rev().collect(),
            fresh: Vec::with_capacity(terms.slots as usize),
            held: None,
            exhausted: false,
            measure: (i64::MAX, i64::MAX),
            full_ns: i64::MIN,
            failures: 0,
            rest_until: i64::MIN,
            lead: Lead::new(),
            shown: Shown::new(),
        }
    }

    /// Runs the load to its end and returns what it came to.
    pub fn run(mut self) -> Result<Tally, LoadError> {
        wake_exactly();
        let cpu = thread_cpu_ns();
        match self.turn() {
            Ok(()) => self.end(cpu),
            Err(error) => {
                // The kernel may still write to the buffers.
                self.backend.stop(self.in_flight() - self.fresh.len());
                Err(error)
            }
        }
    }

    /// Turns the loop until nothing is left to do or an end by force is due.
    fn turn(&mut self) -> Result<(), LoadError> {
        let mut drained_by = i64::MAX;
        let mut now = clock::now().0;
        loop {
            let wish = self.terms.span.control.wish();
            if wish == Wish::Now || self.terms.abort.load(Relaxed) {
                return Ok(());
            }
            if now >= drained_by {
                return self.give_up(now);
            }
            self.exhausted |= wish == Wish::Finish;
            self.measure = self.terms.span.measure();
            let mut due = self.take(now)?;
            if self.shown.is_due(now) {
                self.show(now)?;
            }
            if self.exhausted {
                if self.in_flight() == 0 {
                    return Ok(());
                }
                drained_by = drained_by.min(now + self.terms.drain_ns);
            } else if self.terms.open {
                drained_by = self.measure.1.saturating_add(self.terms.drain_ns);
            }
            if !self.fresh.is_empty() {
                now = self.leave();
            }
            match self.terms.waiting {
                Waiting::Sleep => {}
                Waiting::Hybrid => due = due.saturating_sub(self.lead.ns()),
                Waiting::Spin => due = now,
            }
            let until = due.min(drained_by);
            let asleep = until > now;
            let took = self.backend.submit()?;
            if let Some(ns) = took {
                self.tally.submit.saturating_record(ns.max(1) as u64);
                now += ns;
            }
            while until > now && !self.backend.news() && self.data.stock_up() {
                now = clock::now().0;
            }
            if until > now || took.is_none() {
                // A whole turn is told from less, which takes a timer, by its length: the handing over does not shorten it.
                self.backend.wait(until.saturating_sub(now).min(TURN_NS))?;
            }
            let back = self.backend.ready();
            now = clock::now().0;
            if asleep && back == 0 && now > until {
                self.lead.learn(now - until);
            }
            for _ in 0..back {
                match self.backend.pop() {
                    Some(done) => self.record(done, now)?,
                    None => break,
                }
            }
        }
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes what is due by `now` as far as there is room; returns when something will be due next.
    #[inline]
    fn take(&mut self, now: i64) -> Result<i64, LoadError> {
        let begin = self.terms.span.epoch_ns.max(self.rest_until);
        if now < begin {
            return Ok(begin);
        }
        // Writes come back many at once, and the last would wait for many calls; reads of a disk come quicker by few.
        let batch = if self.terms.writes { self.terms.batch.max(self.free.len() / 2) } else { self.terms.batch };
        let all_in_order = self.terms.at_cap == AtCap::Block || !self.terms.open;
        loop {
            let full = self.free.is_empty();
            if full {
                self.full_ns = now;
            }
            if self.exhausted || (full && (all_in_order || self.held.is_some())) {
                return Ok(i64::MAX);
            }
            let (io, phase) = match self.held.take().map_or_else(|| self.choose(now), Ok) {
                Ok(chosen) => chosen,
                Err(next) => return Ok(next),
            };
            if full && io.planned_ns != Io::NOW {
                self.unanswered((io, phase), now, now, ErrorClass::Dropped)?;
                if self.terms.at_cap == AtCap::Stop {
                    self.exhausted = true;
                    self.tally.warnings.push(format!(
                        "the load ended at the first request that found {} outstanding ones (at_cap = stop)",
                        self.slots.len()
                    ));
                }
                continue;
            }
            if full || !self.data.claim(&io) {
                self.held = Some((io, phase));
                return Ok(now + HELD_NS);
            }
            self.push(io, phase);
            if self.fresh.len() >= batch {
                return Ok(now);
            }
            if self.failures >= FAILURES && !self.terms.open {
                self.rest_until = now + FAILING_NS;
                return Ok(self.rest_until);
            }
        }
    }

    /// The next request that belongs to the load, or when to look again.
    #[inline]
    fn choose(&mut self, now: i64) -> Result<(Io, Phase), i64> {
        match self.source.next(now) {
            Next::At(at) => return Err(at),
            Next::End => {}
            Next::Io(io) => {
                let planned = if io.planned_ns == Io::NOW { now } else { io.planned_ns };
                let phase = if planned < self.measure.0 { Phase::Warmup } else { Phase::Measure };
                if planned < self.measure.1 && (phase == Phase::Warmup || self.terms.span.spend()) {
                    return Ok((io, phase));
                }
            }
        }
        self.exhausted = true;
        Err(i64::MAX)
    }

    #[inline]
    fn push(&mut self, io: Io, phase: Phase) {
        let Some(slot) = self.free.pop() else { return };
        let mut buffer = self.slots[slot as usize].buffer;
        if B::MOVES_DATA && matches!(io.op, Op::Write | Op::Trim) {
            buffer = self.data.prepare(buffer, &io);
        }
        self.tally.queued_at_cap += u64::from(io.planned_ns != Io::NOW && io.planned_ns <= self.full_ns);
        self.slots[slot as usize] = Slot { io, issued_ns: 0, phase, buffer };
        self.backend.push(slot, buffer, &io);
        self.fresh.push(slot);
    }

    /// All that was pushed leaves at this instant, which is returned.
    #[inline]
    fn leave(&mut self) -> i64 {
        let now = clock::now().0;
        self.tally.batches += 1;
        self.tally.submitted += self.fresh.len() as u64;
        self.tally.max_in_flight = self.tally.max_in_flight.max(self.in_flight() as u64);
        for slot in self.fresh.drain(..) {
            let slot = &mut self.slots[slot as usize];
            slot.issued_ns = now;
            // Without a plan the instant of issue is the plan, and may lie beyond the edge the choice was made before.
            let beyond = slot.phase == Phase::Warmup && slot.io.planned_ns == Io::NOW && now >= self.measure.0;
            if beyond && self.terms.span.spend() {
                slot.phase = Phase::Measure;
            }
        }
        now
    }

    #[inline]
    fn record(&mut self, done: Done, now: i64) -> Result<(), LoadError> {
        let Slot { io, issued_ns, phase, buffer } = self.slots[done.slot as usize];
        let (issued_ns, done_ns) = done.times.unwrap_or((issued_ns, now));
        let whole = done.result >= 0 && (done.result as u32 >= io.bytes || matches!(io.op, Op::Trim | Op::Flush));
        let (mut error, status) = match done.result {
            errno if errno < 0 => (ErrorClass::Io, errno.unsigned_abs() as u16),
            _ if whole => (ErrorClass::None, 0),
            _ => (ErrorClass::ShortIo, 0),
        };
        let bytes = if whole { io.bytes } else { done.result.max(0) as u32 };
        if B::MOVES_DATA && !self.data.settle(buffer, &io, whole, &mut self.tally) {
            error = ErrorClass::Corrupt;
        }
        let planned_ns = if io.planned_ns == Io::NOW { issued_ns } else { io.planned_ns };
        if self.terms.open && io.planned_ns != Io::NOW {
            self.tally.timing.add(phase, planned_ns, issued_ns);
        }
        self.failures = if error == ErrorClass::Io { self.failures + 1 } else { 0 };
        self.source.done(&io, whole);
        self.free.push(done.slot);
        self.write(Request {
            seq: io.seq,
            planned_ns,
            issued_ns,
            first_byte_ns: Request::NEVER,
            done_ns,
            offset: io.offset,
            bytes: u64::from(bytes),
            object: io.file,
            stream: self.terms.job,
            status,
            phase,
            op: io.op,
            error,
        })
    }

    /// Records a request that was never sent, or that never came back.
    fn unanswered(
        &mut self,
        (io, phase): (Io, Phase),
        issued_ns: i64,
        now: i64,
        error: ErrorClass,
    ) -> Result<(), LoadError> {
        let planned_ns = if io.planned_ns == Io::NOW { issued_ns } else { io.planned_ns };
        self.write(Request {
            seq: io.seq,
            planned_ns,
            issued_ns,
            first_byte_ns: Request::NEVER,
            done_ns: now,
            offset: io.offset,
            bytes: 0,
            object: io.file,
            stream: self.terms.job,
            status: 0,
            phase,
            op: io.op,
            error,
        })
    }

    #[inline]
    fn write(&mut self, request: Request) -> Result<(), LoadError> {
        self.tally.add(&request);
        match &mut self.lane {
            Some(lane) => Ok(lane.push(request)?),
            None => Ok(()),
        }
    }

    /// Brings the live figures and those of the interval up to date.
    fn show(&mut self, now: i64) -> Result<(), LoadError> {
        if let Some(lane) = &mut self.lane {
            lane.tick(HostNs(now))?;
        }
        self.shown.update(now, &self.tally, self.terms.span);
        if self.terms.job == 0 {
            self.terms.span.show(now);
        }
        Ok(())
    }

    /// The time to drain is over: what was due until now and has found no place is recorded as never sent.
    fn give_up(&mut self, now: i64) -> Result<(), LoadError> {
        while self.terms.open && !self.exhausted {
            if let Some((io, phase)) = self.held.take() {
                self.unanswered((io, phase), now, now, ErrorClass::ClientStop)?;
            }
            match self.choose(now) {
                Ok(chosen) => self.held = Some(chosen),
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Ends by force what is still outstanding, records it and what was due and never sent.
    fn end(mut self, cpu: i64) -> Result<Tally, LoadError> {
        let now = clock::now().0;
        let outstanding = self.in_flight() - self.fresh.len();
        if !self.backend.stop(outstanding) {
            self.tally.warnings.push("requests were still in the kernel when the load was ended".into());
        }
        let busy: Vec<u32> = {
            let free: std::collections::HashSet<_> = self.free.iter().collect();
            (0..self.terms.slots).filter(|slot| !free.contains(slot)).collect()
        };
        for slot in busy {
            let Slot { io, phase, issued_ns, .. } = self.slots[slot as usize];
            let issued_ns = if self.fresh.contains(&slot) { now } else { issued_ns };
            self.data.abandon(&io);
            self.unanswered((io, phase), issued_ns, now, ErrorClass::ClientStop)?;
        }
        if let Some((io, phase)) = self.held.take() {
            self.unanswered((io, phase), now, now, ErrorClass::ClientStop)?;
        }
        if self.failures >= FAILURES {
            self.tally.warnings.push(format!(
                "the last {} requests of a job failed; from the {FAILURES}th on they were sent at most once a \
                 millisecond in a closed loop",
                self.failures
            ));
        }
        self.show(now)?;
        let remains = self.source.finish()?;
        let mut tally = self.tally;
        tally.unplayed += remains.unplayed;
        tally.left_out += remains.left_out;
        tally.warnings.extend(remains.warnings);
        tally.cpu_ns = thread_cpu_ns() - cpu + self.backend.cpu_ns();
        tally.end_ns = clock::now().0;
        Ok(tally)
    }
}
