//! The pieces of a job's plan, from the first to its end.

use iojoule_disk::Op;
use iojoule_units::{ModelNs, Nanos};

use super::Engine;
use super::agenda::Event;
use super::job::{Class, Kind, blocks};
use super::queue::Owner;
use super::station::Power;
use crate::{Completion, Need, Propagation};

impl Engine {
    /// Plans a job and begins it.
    pub(super) fn carry_out(&mut self, now: ModelNs, job: u32) {
        let mut plan = std::mem::take(&mut self.jobs[job].plan);
        plan.clear();
        let (op, lba, sectors) = (self.jobs[job].request.op, self.jobs[job].lba, self.jobs[job].sectors);
        self.layout.plan(op, lba, sectors, &self.health, &mut plan);
        if self.settings.propagation == Propagation::Foreground {
            for piece in plan.pieces.iter_mut().filter(|piece| piece.need == Need::OneThenRest) {
                piece.need = Need::All;
            }
        }
        let lost = plan.lost;
        self.jobs[job].plan = plan;
        if lost {
            self.counters.lost += 1;
            self.jobs[job].served = false;
            self.jobs[job].forget_plan();
            return match self.jobs[job].kind {
                Kind::Host => self.agenda.push(now, Event::Answer { job }),
                _ => self.jobs.free(job),
            };
        }
        if op == Op::Read && !self.pending.is_empty() && !self.leave_out_stale(now, job) {
            return;
        }
        self.begin(now, job);
    }

    /// Begins a job whose plan is made.
    pub(super) fn begin(&mut self, now: ModelNs, job: u32) {
        self.jobs[job].arm();
        if self.jobs[job].left == 0 {
            return self.end_job(now, job);
        }
        let pieces = self.jobs[job].plan.pieces.len() as u32;
        for piece in 0..pieces {
            if self.jobs[job].progress[piece as usize].blockers == 0 {
                self.begin_piece(now, job, piece);
            }
        }
        self.dispatch_touched(now);
    }

    fn begin_piece(&mut self, now: ModelNs, job: u32, index: u32) {
        let plan = &self.jobs[job].plan;
        let piece = plan.pieces[index as usize];
        let (from, to) = piece.copies;
        if piece.need != Need::All && to - from > 1 {
            return self.offer(now, job, index);
        }
        let alone = plan.pieces.len() == 1 && to - from == 1;
        for extent in from..to {
            let owner = Owner { job, piece: index, extent };
            if alone {
                self.place(now, owner);
            } else {
                self.wait(now, owner);
            }
        }
    }

    /// Gives a command to its drive, or to the drive's queue where the drive is not idle.
    pub(super) fn place(&mut self, now: ModelNs, owner: Owner) {
        let job = &self.jobs[owner.job];
        let drive = job.plan.extents[owner.extent as usize].drive;
        if job.kind.class() == Class::Request && self.stations[drive as usize].is_idle(now) {
            self.start(now, drive, owner);
        } else {
            self.wait(now, owner);
            self.dispatch_touched(now);
        }
    }

    /// Puts a command into its drive's queue.
    pub(super) fn wait(&mut self, now: ModelNs, owner: Owner) {
        let job = &mut self.jobs[owner.job];
        let extent = job.plan.extents[owner.extent as usize];
        let op = job.plan.pieces[owner.piece as usize].op;
        let class = job.kind.class();
        let station = &mut self.stations[extent.drive as usize];
        if station.power != Power::Spinning && class != Class::Copy {
            // The wait for the spindle is part of the service.
            job.started = job.started.min(now);
            self.call(now, extent.drive, class == Class::Request);
        }
        if class == Class::Step {
            self.join_task(now, extent.drive);
        }
        let job = &mut self.jobs[owner.job];
        let station = &mut self.stations[extent.drive as usize];
        job.rows[owner.extent as usize] = station.enqueue(now, job.kind.class(), owner, &extent, op);
        self.touched.push(extent.drive);
    }

    pub(super) fn dispatch_touched(&mut self, now: ModelNs) {
        while let Some(drive) = self.touched.pop() {
            self.dispatch(now, drive);
        }
    }

    /// A command of a piece has ended.
    pub(super) fn copy_done(&mut self, now: ModelNs, owner: Owner) {
        let job = &mut self.jobs[owner.job];
        let piece = job.plan.pieces[owner.piece as usize];
        let progress = &mut job.progress[owner.piece as usize];
        let first = !std::mem::replace(&mut progress.first_done, true);
        if piece.op == Op::Write {
            let extent = job.plan.extents[owner.extent as usize];
            self.overwritten(owner.job, &extent);
            if first && piece.need == Need::OneThenRest {
                self.first_copy_written(now, owner);
            }
        }
        let progress = &mut self.jobs[owner.job].progress[owner.piece as usize];
        progress.left -= 1;
        if progress.left == 0 {
            self.end_piece(now, owner.job, owner.piece);
        }
        self.dispatch_touched(now);
    }

    fn end_piece(&mut self, now: ModelNs, index: u32, ended: u32) {
        let job = &mut self.jobs[index];
        job.left -= 1;
        if job.left == 0 {
            return self.end_job(now, index);
        }
        if !job.staged {
            return;
        }
        for later in 0..job.plan.pieces.len() as u32 {
            let job = &mut self.jobs[index];
            if blocks(&job.plan, ended as usize, later as usize) {
                let progress = &mut job.progress[later as usize];
                progress.blockers -= 1;
                if progress.blockers == 0 {
                    self.begin_piece(now, index, later);
                }
            }
        }
    }

    fn end_job(&mut self, now: ModelNs, job: u32) {
        if self.front.is_some() && self.jobs[job].kind == Kind::Host && self.jobs[job].request.op == Op::Read {
            self.remember(now, self.jobs[job].lba, self.jobs[job].sectors);
        }
        match self.jobs[job].kind {
            Kind::Host if self.settings.answer_overhead > Nanos::ZERO => {
                self.agenda.push(now + self.settings.answer_overhead, Event::Answer { job });
            }
            Kind::Host => self.answer(now, job),
            Kind::WriteBack => self.jobs.free(job),
            Kind::Propagate { .. } => self.propagated(job),
            Kind::Rebuild { from } => self.step_rebuilt(now, job, from),
            Kind::Sync => self.copied(now, job),
        }
    }

    /// Tells the caller.
    pub(super) fn answer(&mut self, now: ModelNs, job: u32) {
        let ended = &self.jobs[job];
        self.done.push(Completion {
            request: ended.request,
            arrived: ended.arrived,
            started: ended.started.min(now),
            done: now,
            served: ended.served,
        });
        self.outstanding -= 1;
        self.jobs.free(job);
    }
}
