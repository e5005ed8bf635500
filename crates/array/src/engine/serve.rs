//! Commands to drives: which one, its start and its end.

use iojoule_disk::Command;
use iojoule_units::ModelNs;

use super::Engine;
use super::agenda::Event;
use super::command::InService;
use super::job::Class;
use super::queue::{NONE, Owner};
use super::station::Power;
use crate::Need;

impl Engine {
    /// Gives the drive commands as long as it takes them and some wait.
    pub(super) fn dispatch(&mut self, now: ModelNs, drive: u16) {
        loop {
            let station = &mut self.stations[drive as usize];
            if !station.is_free(now) {
                return;
            }
            let Some(class) = station.next_class(now, &self.settings) else { return self.rest(now, drive) };
            let queue = &station.queues[class as usize];
            let row = station.scheduler.pick(queue, &station.drive, now, class == Class::Request);
            let owner = self.take(drive, class, row as u32);
            self.start(now, drive, owner);
        }
    }

    /// Takes a row out of a drive's queue.
    pub(super) fn take(&mut self, drive: u16, class: Class, row: u32) -> Owner {
        let (owner, moved) = self.stations[drive as usize].queues[class as usize].remove(row);
        if let Some(moved) = moved {
            self.jobs[moved.job].rows[moved.extent as usize] = row;
        }
        self.jobs[owner.job].rows[owner.extent as usize] = NONE;
        owner
    }

    /// Takes whatever of a piece waits out of the queues.
    pub(super) fn withdraw(&mut self, job: u32, piece: u32) {
        let (from, to) = self.jobs[job].plan.pieces[piece as usize].copies;
        for extent in from..to {
            let row = self.jobs[job].rows[extent as usize];
            if row != NONE {
                let drive = self.jobs[job].plan.extents[extent as usize].drive;
                self.take(drive, self.jobs[job].kind.class(), row);
            }
        }
    }

    /// Gives the drive a command; the drive takes it now.
    pub(super) fn start(&mut self, now: ModelNs, drive: u16, owner: Owner) {
        let piece = self.jobs[owner.job].plan.pieces[owner.piece as usize];
        let first = !self.jobs[owner.job].progress[owner.piece as usize].first_done;
        if piece.need != Need::All && first && piece.copies.1 - piece.copies.0 > 1 {
            self.withdraw(owner.job, owner.piece);
        }
        let job = &mut self.jobs[owner.job];
        job.started = job.started.min(now);
        let class = job.kind.class();
        let extent = job.plan.extents[owner.extent as usize];
        let epoch = job.epoch;
        let station = &mut self.stations[drive as usize];
        let command = Command { op: piece.op, lba: extent.lba, sectors: extent.sectors, on_track: extent.on_track };
        let service = station.drive.start(now, command);
        let (done, ready) =
            (service.done + self.settings.command_overhead, service.ready + self.settings.command_overhead);
        station.began(now, class, extent.lba, done, ready);
        let command = self.commands.add(InService { owner, epoch, drive, class, live: true });
        self.agenda.push(done, Event::Done { command });
        if ready != done {
            self.agenda.push(ready, Event::Ready { drive });
        }
    }

    pub(super) fn command_done(&mut self, now: ModelNs, command: u32) {
        let command = self.commands.take(command);
        self.stations[command.drive as usize].in_service[command.class as usize] -= 1;
        if self.jobs[command.owner.job].epoch == command.epoch {
            self.copy_done(now, command.owner);
        }
        if !self.released.is_empty() {
            self.resume(now);
        }
        self.dispatch(now, command.drive);
    }

    /// The drive takes commands from now on.
    pub(super) fn ready(&mut self, now: ModelNs, drive: u16) {
        let station = &mut self.stations[drive as usize];
        if let Power::Waking { ready } = station.power {
            if ready > now {
                return;
            }
            station.power = Power::Spinning;
            station.free_at = now;
            self.risen(now);
        }
        self.dispatch(now, drive);
    }

    /// The drive is free and has nothing it may do now.
    pub(super) fn rest(&mut self, now: ModelNs, drive: u16) {
        let station = &mut self.stations[drive as usize];
        if station.load() == 0 {
            let since = *station.quiet_since.get_or_insert(now);
            let background = !station.queue(Class::Copy).is_empty() || !station.queue(Class::Step).is_empty();
            if background {
                return self.agenda.push(since + self.settings.idle_delay, Event::Rested { drive });
            }
        }
        if station.has_no_work() {
            self.run_out(now, drive);
        }
    }
}
