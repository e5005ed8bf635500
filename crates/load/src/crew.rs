//! The engine threads of one load: started together, ended together, their counts added up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iojoule_record::{Lane, Live, RecordError, Recorder};

use crate::LoadError;
use crate::config::Waiting;
use crate::connections::{Connections, Dialling, StreamNumbers};
use crate::control::Control;
use crate::engine::{self, Load, Terms};
use crate::tally::Tally;

/// What all threads of a load have in common.
pub(crate) struct Crew<'a> {
    pub dialling: Dialling,
    pub waiting: Waiting,
    pub drain_ns: i64,
    pub control: &'a Control,
    pub live: Arc<Live>,
}

impl Crew<'_> {
    /// Runs each load on a thread of its own. An error of the writer (a full disk, say) comes before those of the
    /// engine, which are its consequences; what was written until then stays.
    pub fn run<L: Load + Send>(&self, loads: Vec<L>, mut recorder: Recorder) -> Result<Tally, LoadError> {
        let abort = AtomicBool::new(false);
        let threads = loads.len() as u32;
        let mut all = Tally::new();
        let mut failure = None;
        std::thread::scope(|scope| {
            let mut running = Vec::new();
            for (thread, load) in (0..).zip(loads) {
                let lane = recorder.lane();
                let abort = &abort;
                let body = move || {
                    let result = self.one(load, lane, StreamNumbers { next: thread, step: threads }, abort);
                    if result.is_err() {
                        abort.store(true, Relaxed);
                    }
                    result
                };
                match std::thread::Builder::new().name(format!("iojoule-load-{thread}")).spawn_scoped(scope, body) {
                    Ok(handle) => running.push(handle),
                    Err(source) => {
                        abort.store(true, Relaxed);
                        failure = Some(LoadError::System { doing: "starting an engine thread", source });
                    }
                }
            }
            for handle in running {
                match handle.join() {
                    Ok(Ok(tally)) => all.join(&tally),
                    Ok(Err(error)) => failure = Some(error),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        recorder.finish()?;
        failure.map_or(Ok(all), Err)
    }

    fn one<L: Load>(
        &self,
        mut load: L,
        lane: Option<Lane>,
        streams: StreamNumbers,
        abort: &AtomicBool,
    ) -> Result<Tally, LoadError> {
        let lane = lane.ok_or(RecordError::WriterGone)?;
        let mut connections = Connections::new(self.dialling.clone(), lane, self.live.clone(), streams)?;
        let terms = Terms { waiting: self.waiting, drain_ns: self.drain_ns, control: self.control, abort };
        engine::run(&mut load, &mut connections, &terms)
    }
}

/// Thread `thread`'s share of `all`: equal, the first ones one more.
pub(crate) fn share(all: u32, threads: u32, thread: u32) -> u32 {
    all / threads + u32::from(thread < all % threads)
}
