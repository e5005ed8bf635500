//! Write propagation: a write of replicated data ends with its first copy; the others wait in a bounded non-volatile list
//! and are written in the drives' idle time, the nearest first. When the list is full a write ends with its last copy.
//! A stale copy is not read; a newer write makes a pending one needless. Yu et al., OSDI 2000, §§2.2, 3.4.

use iojoule_disk::Op;
use iojoule_units::ModelNs;

use super::Engine;
use super::job::{Class, Kind};
use super::pending::{Runs, covers, runs};
use super::queue::{NONE, Owner};
use crate::{Extent, Need, Propagation, Request};

impl Engine {
    fn runs(&self, extent: &Extent) -> Runs {
        runs(extent, self.stations[extent.drive as usize].drive.model())
    }

    /// A command has written this extent: what was pending for all of it is needless.
    pub(super) fn overwritten(&mut self, writer: u32, extent: &Extent) {
        if self.pending.is_empty() {
            return;
        }
        let written = self.runs(extent);
        let candidates: Vec<u32> = self.pending.overlapping(extent.drive, &written).collect();
        for job in candidates {
            let covered = self.jobs[job].plan.extents.first().map(|e| (*e, self.runs(e)));
            let waiting = self.jobs[job].rows.first().is_some_and(|row| *row != NONE);
            if let Some((place, runs)) = covered.filter(|(_, runs)| job != writer && waiting && covers(&written, runs))
            {
                self.counters.propagation_superseded += 1;
                self.withdraw(job, 0);
                self.settled(job, &place, &runs);
            }
        }
    }

    /// A pending copy is pending no longer: those who wait for it are asked again.
    fn settled(&mut self, job: u32, place: &Extent, runs: &Runs) {
        self.pending.remove(place.drive, runs, job);
        self.jobs.free(job);
        if !self.parked.is_empty() {
            self.release(job);
        }
    }

    /// A pending copy is written.
    pub(super) fn propagated(&mut self, job: u32) {
        self.counters.propagated += 1;
        if let Some(place) = self.jobs[job].plan.extents.first().copied() {
            let runs = self.runs(&place);
            self.settled(job, &place, &runs);
        }
    }

    /// A pending copy cannot be written any more: its drive has failed.
    pub(super) fn abandon(&mut self, job: u32) {
        self.withdraw(job, 0);
        if let Some(place) = self.jobs[job].plan.extents.first().copied() {
            let runs = self.runs(&place);
            self.settled(job, &place, &runs);
        }
    }

    /// The first copy of a piece is written: the others become pending, or follow at once where there is no room.
    pub(super) fn first_copy_written(&mut self, now: ModelNs, first: Owner) {
        if self.settings.propagation == Propagation::None {
            return;
        }
        let (from, to) = self.jobs[first.job].plan.pieces[first.piece as usize].copies;
        // A drive may have failed since the plan was made.
        let is_other = |engine: &Self, extent: u32| {
            let drive = engine.jobs[first.job].plan.extents[extent as usize].drive;
            extent != first.extent && !engine.stations[drive as usize].failed()
        };
        let mut others = 0;
        for extent in from..to {
            if is_other(self, extent) {
                others += 1;
                let place = self.jobs[first.job].plan.extents[extent as usize];
                self.overwritten(first.job, &place);
            }
        }
        let forced = self.pending.entries() + others > self.settings.nvram_entries;
        if forced {
            self.counters.propagation_forced += u64::from(others);
            self.jobs[first.job].progress[first.piece as usize].left += others;
        }
        for extent in from..to {
            if is_other(self, extent) && forced {
                self.wait(now, Owner { extent, ..first });
            } else if is_other(self, extent) {
                let (place, request) =
                    (self.jobs[first.job].plan.extents[extent as usize], self.jobs[first.job].request);
                self.add_pending(now, place, request);
            }
        }
    }

    fn add_pending(&mut self, now: ModelNs, place: Extent, request: Request) {
        let job = self.jobs.add(Kind::Propagate { urgent: false }, Request { op: Op::Write, ..request }, now);
        self.jobs[job].plan.push(0, Op::Write, Need::All, [place]);
        self.jobs[job].arm();
        let runs = self.runs(&place);
        self.pending.add(place.drive, &runs, job);
        self.wait(now, Owner { job, piece: 0, extent: 0 });
    }

    /// Leaves stale copies out of the plan of a read. False where a piece has no other: the read is parked until the
    /// pending writes to one of its copies, now urgent, have ended.
    pub(super) fn leave_out_stale(&mut self, now: ModelNs, job: u32) -> bool {
        for index in 0..self.jobs[job].plan.pieces.len() {
            let piece = self.jobs[job].plan.pieces[index];
            if piece.op != Op::Read || piece.need != Need::Any {
                continue;
            }
            let (from, to) = piece.copies;
            let mut good = from;
            for extent in from..to {
                let place = self.jobs[job].plan.extents[extent as usize];
                let runs = self.runs(&place);
                if self.pending.overlapping(place.drive, &runs).next().is_none() {
                    self.jobs[job].plan.extents.swap(good as usize, extent as usize);
                    good += 1;
                }
            }
            if good == from {
                self.park(now, job, from, to);
                return false;
            }
            self.jobs[job].plan.pieces[index].copies.1 = good;
        }
        true
    }

    fn park(&mut self, now: ModelNs, reader: u32, from: u32, to: u32) {
        self.counters.reads_after_propagation += 1;
        let missing = |extent: u32| {
            let place = self.jobs[reader].plan.extents[extent as usize];
            let mut jobs: Vec<u32> = self.pending.overlapping(place.drive, &self.runs(&place)).collect();
            jobs.sort_unstable();
            jobs.dedup();
            jobs
        };
        let fewest = (from..to).map(missing).min_by_key(Vec::len).unwrap_or_default();
        for job in fewest {
            self.parked.push((reader, job));
            self.hurry(now, job);
        }
        // It is planned anew when it goes on.
        self.jobs[reader].forget_plan();
        self.dispatch_touched(now);
    }

    /// Lets a pending copy go as a request does.
    fn hurry(&mut self, now: ModelNs, job: u32) {
        if self.jobs[job].kind.class() == Class::Request || self.jobs[job].rows.first() == Some(&NONE) {
            return;
        }
        self.withdraw(job, 0);
        self.jobs[job].kind = Kind::Propagate { urgent: true };
        self.wait(now, Owner { job, piece: 0, extent: 0 });
    }

    /// Asks again for every read that waited for this copy and for nothing else.
    fn release(&mut self, settled: u32) {
        let waiting: Vec<u32> =
            self.parked.iter().filter(|(_, job)| *job == settled).map(|(reader, _)| *reader).collect();
        self.parked.retain(|(_, job)| *job != settled);
        for reader in waiting {
            if self.parked.iter().all(|(other, _)| *other != reader) {
                self.released.push(reader);
            }
        }
    }

    /// Begins the reads that were parked and are no longer.
    pub(super) fn resume(&mut self, now: ModelNs) {
        while let Some(reader) = self.released.pop() {
            self.carry_out(now, reader);
        }
    }

    /// No read waits for a copy any more; all are asked again.
    pub(super) fn unpark_all(&mut self) {
        let mut readers: Vec<u32> = self.parked.drain(..).map(|(reader, _)| reader).collect();
        readers.sort_unstable();
        readers.dedup();
        self.released.extend(readers);
    }
}
