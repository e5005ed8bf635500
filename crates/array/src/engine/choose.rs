//! Which of several copies: a request that any of several drives can serve is served by the one that reaches it first.
//! "Mirror reads go to the replica that is served first": an idle drive at once, and of several the one that is nearest;
//! otherwise the request waits at every drive that is up, and the first to come to it takes it.
//! Round robin and the shortest queue are DiskSim 4.0's choices, for comparison.

use iojoule_disk::Op;
use iojoule_units::{ModelNs, Nanos};

use super::Engine;
use super::queue::Owner;
use crate::ReadChoice;

impl Engine {
    /// Offers a piece to the drives that hold its copies.
    pub(super) fn offer(&mut self, now: ModelNs, job: u32, index: u32) {
        let piece = self.jobs[job].plan.pieces[index as usize];
        let (from, to) = piece.copies;
        let owner = |extent| Owner { job, piece: index, extent };
        let chosen = match (piece.op, self.settings.read_choice) {
            (Op::Read, ReadChoice::RoundRobin) => Some(self.next_in_turn(from, to)),
            (Op::Read, ReadChoice::ShortestQueue) => Some(self.shortest_queue(job, from, to)),
            _ => self.nearest_idle(now, job, from, to, piece.op),
        };
        if let Some(extent) = chosen {
            return self.place(now, owner(extent));
        }
        let any_up = (from..to).any(|extent| self.stations[self.drive_of(job, extent)].is_up());
        for extent in from..to {
            if self.counts(job, from, extent) && (!any_up || self.stations[self.drive_of(job, extent)].is_up()) {
                self.wait(now, owner(extent));
            }
        }
    }

    fn drive_of(&self, job: u32, extent: u32) -> usize {
        self.jobs[job].plan.extents[extent as usize].drive as usize
    }

    /// Whether the scheduler knows of this copy: the first on its drive, or any where it knows replicas.
    fn counts(&self, job: u32, from: u32, extent: u32) -> bool {
        let drive = self.drive_of(job, extent);
        self.stations[drive].scheduler.kind().knows_replicas()
            || (from..extent).all(|earlier| self.drive_of(job, earlier) != drive)
    }

    /// Of the copies on idle drives, the one reached first.
    fn nearest_idle(&self, now: ModelNs, job: u32, from: u32, to: u32, op: Op) -> Option<u32> {
        let mut best: Option<(Nanos, u32)> = None;
        for extent in from..to {
            let station = &self.stations[self.drive_of(job, extent)];
            if station.is_idle(now) && self.counts(job, from, extent) {
                let place = station.drive.model().place(self.jobs[job].plan.extents[extent as usize].lba);
                let time = station.drive.positioner(now).time(place, op);
                if best.is_none_or(|(least, _)| time < least) {
                    best = Some((time, extent));
                }
            }
        }
        best.map(|(_, extent)| extent)
    }

    fn next_in_turn(&mut self, from: u32, to: u32) -> u32 {
        let extent = from + (self.turn % u64::from(to - from)) as u32;
        self.turn += 1;
        extent
    }

    fn shortest_queue(&self, job: u32, from: u32, to: u32) -> u32 {
        let key = |extent: u32| {
            let station = &self.stations[self.drive_of(job, extent)];
            let lba = self.jobs[job].plan.extents[extent as usize].lba;
            (station.load(), station.scheduler.last().0.abs_diff(lba.0))
        };
        (from..to).min_by_key(|extent| key(*extent)).unwrap_or(from)
    }
}
