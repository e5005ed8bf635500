//! The array's machinery: carries out plans and knows no layout.
//!
//! 1. [`agenda`]: what happens next.
//! 2. [`job`]: plans under way; [`stage`] begins and ends their pieces, [`choose`] decides among copies.
//! 3. [`station`]: a drive with its queues; [`serve`] gives it commands.

pub(super) mod agenda;
mod choose;
mod command;
mod job;
pub(crate) mod queue;
mod serve;
mod settings;
mod stage;
mod station;

use iojoule_disk::Drive;
use iojoule_units::ModelNs;

use crate::layout::Layout;
use crate::report::{Counters, DriveReport};
use crate::scheduler::Scheduler;
use crate::{Completion, Health, Report, Request};
use agenda::{Agenda, Event};
use command::Commands;
use job::{Jobs, Kind};
pub(crate) use settings::Settings;
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
}

impl Engine {
    pub fn new(settings: Settings, layout: Box<dyn Layout>, drives: Vec<Drive>) -> Self {
        let health = Health::good(drives.len());
        let scheduler = || Scheduler::new(settings.scheduler, settings.age_limit);
        let stations = drives.into_iter().map(|drive| Station::new(drive, scheduler())).collect();
        Self {
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
        }
    }

    pub fn submit(&mut self, now: ModelNs, request: Request) {
        self.outstanding += 1;
        let job = self.jobs.add(Kind::Host, request, now);
        self.carry_out(now, job);
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
                Event::Rested { drive, tag } => self.rested(at, drive, tag),
                Event::Fault { .. } | Event::Timer { .. } | Event::Window | Event::Flush => {}
            }
        }
        done.append(&mut self.done);
    }

    pub fn drives(&mut self) -> impl Iterator<Item = &mut Drive> {
        self.stations.iter_mut().map(|station| &mut station.drive)
    }

    pub fn finish(&mut self, now: ModelNs) -> Report {
        let drives = self.stations.iter_mut().map(|station| {
            station.drive.account(now);
            DriveReport {
                ledger: station.drive.ledger().clone(),
                commands: station.commands,
                busy: station.busy_by(now),
                failed: station.failed(),
            }
        });
        Report { drives: drives.collect(), gears: Vec::new(), counters: self.counters }
    }
}
