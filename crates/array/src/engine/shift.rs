//! Shifts of gears. Up: the drives spin up, the gear serves, then what is stale at home is copied there. Down: replicas
//! are brought up to date, then the gear serves and the drives above it go to rest. Copying runs beside the load.

use iojoule_disk::Op;
use iojoule_units::{Lba, ModelNs};

use super::Engine;
use super::job::Kind;
use super::station::Power;
use crate::Request;
use crate::layout::Geared;
use crate::policy::Rest;

/// The gears of a layout that has them.
#[derive(Debug)]
pub(super) struct Gears {
    pub now: u8,
    pub sizes: Vec<u16>,
    pub shift: Option<Shift>,
    /// From when on which gear served.
    pub timeline: Vec<(ModelNs, u8)>,
    /// Copies under way.
    pub copying: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    /// The drives of a higher gear spin up.
    Rising { to: u8 },
    /// Blocks are copied to where this gear serves them from.
    Copying { to: u8 },
}

impl Gears {
    pub fn of(layout: &dyn Geared) -> Self {
        let now = layout.gear() as u8;
        Self { now, sizes: layout.gears().to_vec(), shift: None, timeline: vec![(ModelNs::ZERO, now)], copying: 0 }
    }
}

impl Engine {
    /// Begins a shift, unless one is under way or there is no such gear.
    pub(super) fn shift(&mut self, now: ModelNs, to: u8) {
        let Some(gears) = &mut self.gears else { return };
        let Some(size) = gears.sizes.get(usize::from(to)).copied() else { return };
        if gears.shift.is_some() || to == gears.now {
            return;
        }
        if to > gears.now {
            gears.shift = Some(Shift::Rising { to });
            for drive in 0..size {
                self.spin_up(now, drive);
            }
            return self.risen(now);
        }
        gears.shift = Some(Shift::Copying { to });
        self.share_with_steps();
        self.copy_on(now);
    }

    /// A drive spins: perhaps the last one a higher gear waits for.
    pub(super) fn risen(&mut self, now: ModelNs) {
        let Some(gears) = &mut self.gears else { return };
        let Some(Shift::Rising { to }) = gears.shift else { return };
        let size = gears.sizes[usize::from(to)] as usize;
        if self.stations[..size].iter().any(|station| !matches!(station.power, Power::Spinning | Power::Failed)) {
            return;
        }
        gears.shift = Some(Shift::Copying { to });
        self.engage(now, to);
        self.share_with_steps();
        self.copy_on(now);
    }

    /// Serves from this gear from now on, where the layout agrees.
    fn engage(&mut self, now: ModelNs, to: u8) -> bool {
        let agreed = self.layout.geared().is_some_and(|layout| layout.shift_to(usize::from(to)));
        if let Some(gears) = self.gears.as_mut().filter(|_| agreed) {
            gears.now = to;
            gears.timeline.push((now, to));
        }
        agreed
    }

    /// Copies what the gear lacks, as much at once as is allowed, and ends the shift when nothing is left.
    pub(super) fn copy_on(&mut self, now: ModelNs) {
        loop {
            let Some(Gears { shift: Some(Shift::Copying { to }), copying, now: serving, .. }) = &self.gears else {
                return;
            };
            let (to, up) = (*to, to == serving);
            if *copying >= self.settings.sync.outstanding {
                return;
            }
            let nothing = Request { id: 0, op: Op::Write, lba: Lba(0), sectors: 0, asynchronous: true };
            let job = self.jobs.add(Kind::Sync, nothing, now);
            let mut plan = std::mem::take(&mut self.jobs[job].plan);
            let more =
                self.layout.geared().is_some_and(|layout| layout.next_sync(usize::from(to), &self.health, &mut plan));
            self.jobs[job].plan = plan;
            let Some(gears) = &mut self.gears else { return };
            if more {
                gears.copying += 1;
                self.counters.synced += 1;
                self.begin(now, job);
                continue;
            }
            self.jobs.free(job);
            if gears.copying > 0 {
                return;
            }
            // A write may have made a block stale after its copy: then the gear is refused and copying goes on.
            if !up && !self.engage(now, to) {
                if self.layout.geared().is_none_or(|layout| layout.stale(usize::from(to)) == 0) {
                    return self.shifted(now);
                }
                continue;
            }
            return self.shifted(now);
        }
    }

    /// A copy of a shift has ended.
    pub(super) fn copied(&mut self, now: ModelNs, job: u32) {
        self.jobs.free(job);
        if let Some(gears) = &mut self.gears {
            gears.copying -= 1;
        }
        self.copy_on(now);
    }

    fn shifted(&mut self, now: ModelNs) {
        let Some(gears) = &mut self.gears else { return };
        gears.shift = None;
        self.counters.shifts += 1;
        let active = gears.sizes[usize::from(gears.now)];
        self.share_with_steps();
        self.end_task(now);
        for drive in active..self.stations.len() as u16 {
            self.spin_down(now, drive, Rest::Standby);
        }
    }

    /// A drive has failed: the highest gear knows how to serve around it, and copies under way are given up.
    pub(super) fn leave_low_gear(&mut self, now: ModelNs) {
        let Some(gears) = &mut self.gears else { return };
        let top = gears.sizes.len() as u8 - 1;
        gears.shift = Some(Shift::Copying { to: top });
        gears.copying = 0;
        if gears.now != top {
            for drive in 0..self.stations.len() as u16 {
                self.spin_up(now, drive);
            }
            self.engage(now, top);
        }
        self.share_with_steps();
    }
}
