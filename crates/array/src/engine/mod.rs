//! The array's machinery: carries out plans and knows no layout.
//!
//! 1. [`agenda`]: what happens next.
//! 2. [`job`]: plans under way; [`stage`] begins and ends their pieces, [`choose`] decides among copies.
//! 3. [`station`]: a drive with its queues; [`serve`] gives it commands.
//! 4. [`front`]: the memory cache; [`propagate`]: copies that follow later; [`rebuild`]: faults; [`power`] and [`shift`]:
//!    drives that rest.

pub(super) mod agenda;
mod choose;
mod command;
mod front;
mod job;
mod pending;
mod power;
mod propagate;
pub(crate) mod queue;
mod rebuild;
mod serve;
mod settings;
mod shift;
mod stage;
mod station;

use std::sync::Arc;

use iojoule_disk::Drive;
use iojoule_units::ModelNs;

use crate::layout::Layout;
use crate::policy::{Orders, Policy, Wants};
use crate::report::{Counters, DriveReport};
use crate::scheduler::{Reach, Scheduler};
use crate::{CacheConfig, Completion, Fault, Health, Report, Request};
use agenda::{Agenda, Event};
use command::Commands;
use front::Front;
use job::{Jobs, Kind};
use pending::Pending;
use rebuild::Rebuild;
pub(crate) use settings::Settings;
use shift::Gears;
use station::Station;

pub(crate) struct Engine {
    settings: Settings,
    layout: Box<dyn Layout>,
    health: Health,
    stations: Vec<Station>,
    jobs: Jobs,
    commands: Commands,
    agenda: Agenda,
    done: Vec<Completion>,
    /// Requests of callers under way.
    outstanding: u64,
    /// Drives whose queues have grown and who have not been asked to begin. To be used again.
    touched: Vec<u16>,
    /// Whose turn it is where reads go round the copies.
    turn: u64,
    counters: Counters,
    front: Option<Front>,
    pending: Pending,
    /// Reads that wait for pending copies: `(reader, copy)`.
    parked: Vec<(u32, u32)>,
    /// Reads that do not wait any more.
    released: Vec<u32>,
    policy: Option<Box<dyn Policy>>,
    wants: Wants,
    /// The policy's, to be used again.
    orders: Orders,
    shares: Vec<f64>,
    gears: Option<Gears>,
    faults: Vec<Fault>,
    rebuild: Option<Rebuild>,
    /// Drives that were replaced and wait for another's rebuild to end.
    waiting_for_rebuild: Vec<u16>,
}

impl Engine {
    pub fn new(settings: Settings, mut layout: Box<dyn Layout>, drives: Vec<Drive>) -> Self {
        let gears = layout.geared().map(|layout| Gears::of(layout));
        let health = Health::good(drives.len());
        let reach = drives.first().and_then(|drive| Reach::of(drive.model())).map(Arc::new);
        let scheduler = || Scheduler::new(settings.scheduler, settings.age_limit, reach.clone());
        let stations = drives.into_iter().map(|drive| Station::new(drive, scheduler())).collect();
        Self {
            pending: Pending::new(settings.nvram_entries),
            settings,
            layout,
            health,
            stations,
            jobs: Jobs::default(),
            commands: Commands::default(),
            agenda: Agenda::default(),
            done: Vec::new(),
            outstanding: 0,
            touched: Vec::new(),
            turn: 0,
            counters: Counters::default(),
            front: None,
            parked: Vec::new(),
            released: Vec::new(),
            policy: None,
            wants: Wants::default(),
            orders: Orders::default(),
            shares: Vec::new(),
            gears,
            faults: Vec::new(),
            rebuild: None,
            waiting_for_rebuild: Vec::new(),
        }
    }

    /// Puts a memory cache in front.
    pub fn remember_blocks(&mut self, config: CacheConfig) {
        self.front = Some(Front::new(config));
    }

    /// Lets a policy decide; before time 0 has been told.
    pub fn obey_policy(&mut self, policy: Box<dyn Policy>) {
        self.wants = policy.wants();
        self.policy = Some(policy);
        if let Some(window) = self.wants.window {
            self.agenda.push(ModelNs::ZERO + window, Event::Window);
        }
        if self.wants.idle {
            for drive in 0..self.stations.len() as u16 {
                self.agenda.push(ModelNs::ZERO, Event::Ready { drive });
            }
        }
    }

    pub fn policy_failure(&self) -> Option<&str> {
        self.policy.as_ref()?.failure()
    }

    /// Lets drives fail and be replaced.
    pub fn expect_faults(&mut self, faults: &[Fault]) {
        for (index, fault) in faults.iter().enumerate() {
            self.agenda.push(ModelNs(fault.at_ns), Event::Fault { index: index as u32 });
        }
        self.faults = faults.to_vec();
    }

    pub fn submit(&mut self, now: ModelNs, request: Request) {
        self.outstanding += 1;
        let job = self.jobs.add(Kind::Host, request, now);
        self.through_memory(now, job);
    }

    pub fn next_event(&self) -> Option<ModelNs> {
        self.agenda.next_time()
    }

    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    pub fn capacity(&self) -> u64 {
        self.layout.capacity()
    }

    pub fn advance(&mut self, now: ModelNs, done: &mut Vec<Completion>) {
        while let Some((at, event)) = self.agenda.pop(now) {
            match event {
                Event::Done { command } => self.command_done(at, command),
                Event::Answer { job } => self.answer(at, job),
                Event::Ready { drive } => self.ready(at, drive),
                Event::Rested { drive } => self.dispatch(at, drive),
                Event::Timer { drive, tag } => self.timer(at, drive, tag),
                Event::Window => self.window(at),
                Event::Flush => self.flush(at),
                Event::Fault { index } => self.fault(at, index),
            }
        }
        done.append(&mut self.done);
    }

    pub fn drives(&mut self) -> impl Iterator<Item = &mut Drive> {
        self.stations.iter_mut().map(|station| &mut station.drive)
    }

    pub fn finish(&mut self, now: ModelNs) -> Report {
        let drives = self.stations.iter_mut().zip(&self.health.failed).map(|(station, failed)| {
            station.drive.account(now);
            DriveReport {
                ledger: station.drive.ledger().clone(),
                commands: station.commands,
                busy: station.busy_by(now),
                failed: *failed,
            }
        });
        let drives = drives.collect();
        let gears = self.gears.as_ref().map_or_else(Vec::new, |gears| gears.timeline.clone());
        let pending = u64::from(self.pending.entries());
        let unfinished = self.unfinished();
        Report { drives, gears, unfinished, counters: Counters { pending, ..self.counters } }
    }
}
