//! Faults and what follows: a drive fails, what it had to do is planned anew around it; a new one takes its place and is
//! rebuilt step by step beside the load.

use iojoule_disk::Op;
use iojoule_units::{Lba, ModelNs};

use super::Engine;
use super::agenda::Event;
use super::job::{Class, Kind};
use super::queue::NONE;
use super::shift::Shift;
use super::station::Power;
use crate::{FaultKind, Request, StepConfig, Unfinished};

/// The drive being rebuilt.
#[derive(Debug)]
pub(super) struct Rebuild {
    drive: u16,
    /// Where the next step begins.
    next: Lba,
    /// Where the steps under way begin.
    under_way: Vec<Lba>,
    /// Every step has begun.
    all_begun: bool,
}

impl Engine {
    pub(super) fn fault(&mut self, now: ModelNs, index: u32) {
        let Some(fault) = self.faults.get(index as usize).copied() else { return };
        let failed = self.health.failed[fault.drive as usize];
        match fault.kind {
            FaultKind::Fail if !failed || self.rebuild_of(fault.drive) => self.fail(now, fault.drive),
            FaultKind::Replace if failed && !self.waiting_for_rebuild.contains(&fault.drive) => {
                self.replace(now, fault.drive)
            }
            FaultKind::Fail | FaultKind::Replace => {}
        }
    }

    fn rebuild_of(&self, drive: u16) -> bool {
        self.rebuild.as_ref().is_some_and(|rebuild| rebuild.drive == drive)
    }

    fn fail(&mut self, now: ModelNs, drive: u16) {
        self.health.failed[drive as usize] = true;
        self.take_from_policy(now, drive);
        let station = &mut self.stations[drive as usize];
        station.power = Power::Failed;
        station.in_task = false;
        station.disturb(now);
        station.drive.take_out(now);
        self.waiting_for_rebuild.retain(|waiting| *waiting != drive);
        if self.rebuild_of(drive) {
            self.rebuild = None;
            self.health.rebuilding = None;
        }
        let hit: Vec<u32> = self.jobs.live().filter(|job| self.is_hit(*job, drive)).collect();
        self.leave_low_gear(now);
        self.unpark_all();
        let mut again = std::mem::take(&mut self.released);
        for job in hit {
            match self.jobs[job].kind {
                Kind::Propagate { .. } => self.abandon(job),
                Kind::Host | Kind::WriteBack => {
                    self.call_off(job);
                    again.push(job);
                }
                Kind::Rebuild { .. } | Kind::Sync => {}
            }
        }
        // Steps of a rebuild or a shift are given up as a whole and begun again from what is known to be good.
        let steps = self.jobs.live().filter(|job| self.jobs[*job].kind.class() == Class::Step).collect::<Vec<_>>();
        for job in steps {
            self.call_off(job);
            self.jobs.free(job);
        }
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.next = rebuild.under_way.drain(..).min().unwrap_or(rebuild.next);
            rebuild.all_begun = false;
        }
        again.append(&mut self.released);
        again.sort_unstable();
        again.dedup();
        for job in again {
            self.counters.replanned += 1;
            self.carry_out(now, job);
        }
        self.rebuild_on(now);
        self.copy_on(now);
        self.end_task(now);
        for drive in 0..self.stations.len() as u16 {
            self.dispatch(now, drive);
        }
    }

    /// Whether a job has something left to do on this drive.
    fn is_hit(&self, job: u32, drive: u16) -> bool {
        let job_state = &self.jobs[job];
        let waits = job_state.plan.pieces.iter().zip(&job_state.progress).any(|(piece, progress)| {
            progress.left > 0
                && (piece.copies.0..piece.copies.1).any(|extent| {
                    job_state.plan.extents[extent as usize].drive == drive
                        && (progress.blockers > 0 || job_state.rows[extent as usize] != NONE)
                })
        });
        let in_service =
            |job| self.commands.live().any(|c| c.drive == drive && c.owner.job == job && c.epoch == job_state.epoch);
        waits || in_service(job)
    }

    /// Takes back whatever of a job has not ended; what drives are doing for it no longer counts.
    fn call_off(&mut self, job: u32) {
        for piece in 0..self.jobs[job].progress.len() as u32 {
            self.withdraw(job, piece);
        }
        self.jobs[job].epoch = self.jobs[job].epoch.wrapping_add(1);
    }

    fn replace(&mut self, now: ModelNs, drive: u16) {
        let station = &mut self.stations[drive as usize];
        station.drive.replace(now);
        // What the old drive had begun is counted to its end.
        let ready = station.free_at.max(now);
        station.power = Power::Waking { ready };
        station.told_idle = false;
        self.agenda.push(ready, Event::Ready { drive });
        self.waiting_for_rebuild.push(drive);
        self.begin_rebuild(now);
    }

    /// Rebuilds the next drive that waits for it, one at a time.
    fn begin_rebuild(&mut self, now: ModelNs) {
        if self.rebuild.is_some() || self.waiting_for_rebuild.is_empty() {
            return;
        }
        let drive = self.waiting_for_rebuild.remove(0);
        self.health.failed[drive as usize] = false;
        self.health.rebuilding = Some((drive, Lba(0)));
        self.rebuild = Some(Rebuild { drive, next: Lba(0), under_way: Vec::new(), all_begun: false });
        self.share_with_steps();
        self.join_task(now, drive);
        self.rebuild_on(now);
    }

    /// Begins as many steps as may be under way, and ends the rebuild with the last.
    fn rebuild_on(&mut self, now: ModelNs) {
        while let Some(rebuild) = &mut self.rebuild {
            if rebuild.all_begun && rebuild.under_way.is_empty() {
                return self.rebuilt(now, true);
            }
            if rebuild.all_begun || rebuild.under_way.len() >= self.settings.rebuild.outstanding as usize {
                return;
            }
            let (drive, from) = (rebuild.drive, rebuild.next);
            let nothing = Request { id: 0, op: Op::Write, lba: from, sectors: 0, asynchronous: true };
            let job = self.jobs.add(Kind::Rebuild { from }, nothing, now);
            let mut plan = std::mem::take(&mut self.jobs[job].plan);
            let next = self.layout.rebuild(drive, from, &self.health, &mut plan);
            let lost = plan.lost;
            self.jobs[job].plan = plan;
            if lost {
                self.jobs.free(job);
                return self.rebuilt(now, false);
            }
            match next {
                Some(next) => {
                    rebuild.next = next;
                    rebuild.under_way.push(from);
                    self.counters.rebuilt_sectors += next.0 - from.0;
                    self.begin(now, job);
                }
                None => {
                    rebuild.all_begun = true;
                    self.jobs.free(job);
                }
            }
        }
    }

    /// A step has ended: the drive is good up to the first step still under way.
    pub(super) fn step_rebuilt(&mut self, now: ModelNs, job: u32, from: Lba) {
        self.jobs.free(job);
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.under_way.retain(|begun| *begun != from);
            let good = rebuild.under_way.iter().copied().min().unwrap_or(rebuild.next);
            self.health.rebuilding = Some((rebuild.drive, good));
        }
        self.rebuild_on(now);
    }

    /// The rebuild has ended. A drive that nothing could restore stays out of service.
    fn rebuilt(&mut self, now: ModelNs, good: bool) {
        let Some(rebuild) = self.rebuild.take() else { return };
        self.health.rebuilding = None;
        if good {
            self.counters.rebuilds += 1;
        } else {
            self.health.failed[rebuild.drive as usize] = true;
        }
        self.share_with_steps();
        self.begin_rebuild(now);
        self.end_task(now);
    }

    /// Replaced drives that are not whole.
    pub(super) fn unfinished(&self) -> Vec<Unfinished> {
        let waiting = self.waiting_for_rebuild.iter().map(|drive| (*drive, Lba(0)));
        let sectors = |drive: u16| self.stations[drive as usize].drive.model().sectors();
        let of = |(drive, good): (u16, Lba)| Unfinished { drive, good: good.0, of: sectors(drive) };
        self.health.rebuilding.into_iter().chain(waiting).map(of).collect()
    }

    /// Gives steps their share of every drive while there are steps.
    pub(super) fn share_with_steps(&mut self) {
        let shifting = self.gears.as_ref().is_some_and(|gears| matches!(gears.shift, Some(Shift::Copying { .. })));
        let mut share = None;
        for (on, config) in [(self.rebuild.is_some(), self.settings.rebuild), (shifting, self.settings.sync)] {
            if let Some(requests) = requests_per_step(&config).filter(|_| on) {
                share = Some(share.map_or(requests, |other: u32| other.min(requests)));
            }
        }
        for station in &mut self.stations {
            station.requests_per_step = share;
        }
    }
}

/// Commands of requests for one of a step; unset where steps have idle time only.
fn requests_per_step(config: &StepConfig) -> Option<u32> {
    (config.share > 0.0).then(|| ((1.0 - config.share) / config.share).ceil().min(1e9) as u32)
}
