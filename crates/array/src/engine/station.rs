//! One drive with what waits for it.

use iojoule_disk::{Drive, Op, Place};
use iojoule_units::{Lba, ModelNs, Nanos};

use super::Settings;
use super::job::Class;
use super::queue::{Owner, Queue, Target};
use crate::Extent;
use crate::scheduler::Scheduler;

/// Whether a drive can be given commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    Spinning,
    /// Spins down, and from the given instant on rests.
    Resting {
        there: ModelNs,
    },
    /// Spins up; ready at the given instant.
    Waking {
        ready: ModelNs,
    },
    Failed,
}

#[derive(Debug)]
pub(super) struct Station {
    pub drive: Drive,
    pub scheduler: Scheduler,
    /// What waits, by [`Class`].
    pub queues: [Queue; Class::COUNT],
    /// Commands in service, by [`Class`].
    pub in_service: [u32; Class::COUNT],
    pub power: Power,
    /// The drive takes its next command from here on.
    pub free_at: ModelNs,
    /// Since when no request has waited for the drive or been served by it; `None` while one does.
    pub quiet_since: Option<ModelNs>,
    /// The policy has been told that the drive is idle, and nothing has come since.
    pub told_idle: bool,
    /// Takes part in a rebuild or a shift that is under way: it is not idle between steps.
    pub in_task: bool,
    /// The policy has been told that a request came for the drive while it did not spin.
    pub told_arrived: bool,
    /// Length of the last period without requests; zero before the first has ended.
    pub last_quiet: Nanos,
    /// Changes with every command, so that timers set before are known to be void.
    pub tag: u32,
    /// Commands of requests since the last step of a rebuild or a shift.
    pub since_step: u32,
    /// Commands of requests after which a step goes first; unset, steps have idle time only.
    pub requests_per_step: Option<u32>,
    pub commands: u64,
    /// Time with a command in service, up to the end of the last one.
    pub busy: Nanos,
    pub busy_until: ModelNs,
    /// `busy` at the start of the policy's window.
    pub busy_before: Nanos,
}

impl Station {
    pub fn new(drive: Drive, scheduler: Scheduler) -> Self {
        Self {
            drive,
            scheduler,
            queues: Default::default(),
            in_service: [0; Class::COUNT],
            power: Power::Spinning,
            free_at: ModelNs::ZERO,
            quiet_since: Some(ModelNs::ZERO),
            told_idle: false,
            in_task: false,
            told_arrived: false,
            last_quiet: Nanos::ZERO,
            tag: 0,
            since_step: 0,
            requests_per_step: None,
            commands: 0,
            busy: Nanos::ZERO,
            busy_until: ModelNs::ZERO,
            busy_before: Nanos::ZERO,
        }
    }

    /// Takes a command now.
    pub fn is_free(&self, now: ModelNs) -> bool {
        self.power == Power::Spinning && self.free_at <= now
    }

    /// Takes a command now, and no request waits.
    pub fn is_idle(&self, now: ModelNs) -> bool {
        self.is_free(now) && self.queues[Class::Request as usize].is_empty()
    }

    pub fn failed(&self) -> bool {
        self.power == Power::Failed
    }

    /// Spins or is about to.
    pub fn is_up(&self) -> bool {
        matches!(self.power, Power::Spinning | Power::Waking { .. })
    }

    /// Commands of requests, waiting and in service.
    pub fn load(&self) -> u32 {
        self.queues[Class::Request as usize].len() as u32 + self.in_service[Class::Request as usize]
    }

    /// Nothing waits and nothing is in service.
    pub fn has_no_work(&self) -> bool {
        self.queues.iter().all(Queue::is_empty) && self.in_service == [0; Class::COUNT]
    }

    pub fn queue(&self, class: Class) -> &Queue {
        &self.queues[class as usize]
    }

    /// Adds a command to the queue of its class; says in which row it is.
    pub fn enqueue(&mut self, now: ModelNs, class: Class, owner: Owner, extent: &Extent, op: Op) -> u32 {
        let place =
            if self.scheduler.kind().needs_places() { self.drive.model().place(extent.lba) } else { Place::default() };
        if class == Class::Request {
            self.disturb(now);
        }
        self.queues[class as usize].push(owner, now, extent.lba, Target { place, op })
    }

    /// A request has come: the period without any is over.
    pub fn disturb(&mut self, now: ModelNs) {
        if let Some(since) = self.quiet_since.take() {
            self.last_quiet = now - since;
        }
    }

    /// Whether a step of a rebuild or a shift goes before requests: its share of the drive, in commands.
    fn step_is_due(&self) -> bool {
        !self.queues[Class::Step as usize].is_empty() && self.requests_per_step.is_some_and(|n| self.since_step >= n)
    }

    /// What the drive does next: requests; in idle time pending copies, then steps; a step that is due before requests.
    pub fn next_class(&self, now: ModelNs, settings: &Settings) -> Option<Class> {
        if self.step_is_due() {
            return Some(Class::Step);
        }
        if !self.queues[Class::Request as usize].is_empty() {
            return Some(Class::Request);
        }
        let quiet = self.in_service[Class::Request as usize] == 0
            && now - self.quiet_since.unwrap_or(now) >= settings.idle_delay;
        if !quiet {
            return None;
        }
        [Class::Copy, Class::Step].into_iter().find(|class| !self.queues[*class as usize].is_empty())
    }

    /// A command has been given to the drive.
    pub fn began(&mut self, now: ModelNs, class: Class, lba: Lba, done: ModelNs, ready: ModelNs) {
        self.tag = self.tag.wrapping_add(1);
        self.told_idle = false;
        self.commands += 1;
        self.in_service[class as usize] += 1;
        self.free_at = ready;
        self.scheduler.went(lba);
        self.occupy(now, done);
        match class {
            Class::Request => {
                self.disturb(now);
                self.since_step += 1;
            }
            Class::Step => self.since_step = 0,
            Class::Copy => {}
        }
    }

    /// Books service from `now` to `until`.
    fn occupy(&mut self, now: ModelNs, until: ModelNs) {
        let from = now.max(self.busy_until);
        if until > from {
            self.busy = self.busy + (until - from);
            self.busy_until = until;
        }
    }

    /// Time with a command in service up to `now`.
    pub fn busy_by(&self, now: ModelNs) -> Nanos {
        if self.busy_until > now { self.busy - (self.busy_until - now) } else { self.busy }
    }
}
