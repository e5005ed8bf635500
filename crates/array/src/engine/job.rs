//! Work under way: one plan each, from requests, from the memory cache, from propagation, rebuild and gear shifts. Jobs
//! lie in a slab and keep their buffers, so that in steady state nothing is allocated.

use iojoule_units::{Lba, ModelNs};

use super::queue::NONE;
use crate::{Need, Plan, Request, Wait};

/// For whom a job works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A caller, who is told of its end.
    Host,
    /// The memory cache, writing back.
    WriteBack,
    /// The list of pending copies; urgent where a read waits for it.
    Propagate { urgent: bool },
    /// A rebuild: the step that begins at this sector of the drive.
    Rebuild { from: Lba },
    /// A shift of gears.
    Sync,
}

/// What a command waits as. Requests go first, copies and steps use idle time; steps may have a share besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Request,
    Copy,
    Step,
}

impl Class {
    pub const COUNT: usize = 3;
}

impl Kind {
    pub fn class(self) -> Class {
        match self {
            Kind::Host | Kind::WriteBack | Kind::Propagate { urgent: true } => Class::Request,
            Kind::Propagate { urgent: false } => Class::Copy,
            Kind::Rebuild { .. } | Kind::Sync => Class::Step,
        }
    }
}

/// How far a piece of a plan is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Earlier pieces it waits for.
    pub blockers: u32,
    /// Commands until it has ended.
    pub left: u32,
    /// One copy is written, the others are under way or pending.
    pub first_done: bool,
}

#[derive(Debug)]
pub(super) struct Job {
    pub kind: Kind,
    /// As it was asked.
    pub request: Request,
    /// What the drives are asked: the request, or what of it the memory cache lacks.
    pub lba: Lba,
    pub sectors: u32,
    pub arrived: ModelNs,
    /// [`ModelNs::NEVER`] until the first command.
    pub started: ModelNs,
    pub served: bool,
    /// Changes when the job is planned anew or ends, so that commands of an older plan are known.
    pub epoch: u32,
    /// Pieces that have not ended.
    pub left: u32,
    /// Some pieces wait for others.
    pub staged: bool,
    pub live: bool,
    pub plan: Plan,
    pub progress: Vec<Progress>,
    /// For each extent of the plan its row in its drive's queue, or [`NONE`].
    pub rows: Vec<u32>,
}

impl Job {
    /// Leaves nothing to be done.
    pub fn forget_plan(&mut self) {
        self.plan.clear();
        self.progress.clear();
        self.rows.clear();
        self.left = 0;
    }

    /// Brings the counts into line with a fresh plan.
    pub fn arm(&mut self) {
        let plan = &self.plan;
        self.rows.clear();
        self.rows.resize(plan.extents.len(), NONE);
        self.progress.clear();
        self.left = plan.pieces.len() as u32;
        self.staged = plan.pieces.iter().any(|piece| piece.stage > 0);
        for (index, piece) in plan.pieces.iter().enumerate() {
            let left = if piece.need == Need::All { piece.copies.1 - piece.copies.0 } else { 1 };
            let mut blockers = 0;
            if piece.stage > 0 {
                blockers = (0..plan.pieces.len()).filter(|other| blocks(plan, *other, index)).count() as u32;
            }
            self.progress.push(Progress { blockers, left, first_done: false });
        }
    }
}

/// Whether piece `first` must end before piece `second` begins.
pub(super) fn blocks(plan: &Plan, first: usize, second: usize) -> bool {
    let (a, b) = (&plan.pieces[first], &plan.pieces[second]);
    a.stage < b.stage
        && match b.wait {
            Wait::Stage => true,
            Wait::Drive => {
                plan.copies(b).iter().any(|behind| plan.copies(a).iter().any(|before| before.drive == behind.drive))
            }
        }
}

/// All jobs. Indices are used again; [`Job::epoch`] tells one life from the next.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    slots: Vec<Job>,
    free: Vec<u32>,
}

impl Jobs {
    pub fn add(&mut self, kind: Kind, request: Request, arrived: ModelNs) -> u32 {
        let (lba, sectors) = (request.lba, request.sectors);
        if let Some(index) = self.free.pop() {
            let job = &mut self.slots[index as usize];
            (job.kind, job.request, job.lba, job.sectors, job.arrived) = (kind, request, lba, sectors, arrived);
            (job.started, job.served, job.live, job.left) = (ModelNs::NEVER, true, true, 0);
            job.plan.clear();
            return index;
        }
        self.slots.push(Job {
            kind,
            request,
            lba,
            sectors,
            arrived,
            started: ModelNs::NEVER,
            served: true,
            epoch: 0,
            left: 0,
            staged: false,
            live: true,
            plan: Plan::default(),
            progress: Vec::new(),
            rows: Vec::new(),
        });
        (self.slots.len() - 1) as u32
    }

    pub fn free(&mut self, index: u32) {
        let job = &mut self.slots[index as usize];
        debug_assert!(job.live, "a job ends once");
        job.live = false;
        job.epoch = job.epoch.wrapping_add(1);
        self.free.push(index);
    }

    /// Indices of all jobs under way.
    pub fn live(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().enumerate().filter(|(_, job)| job.live).map(|(index, _)| index as u32)
    }
}

impl std::ops::Index<u32> for Jobs {
    type Output = Job;
    fn index(&self, index: u32) -> &Job {
        &self.slots[index as usize]
    }
}

impl std::ops::IndexMut<u32> for Jobs {
    fn index_mut(&mut self, index: u32) -> &mut Job {
        &mut self.slots[index as usize]
    }
}
