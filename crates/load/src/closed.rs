//! The closed loop: each of N connections fetches an object, waits for the answer and fetches the next. What is
//! planned here is the instant the connection was free, so planned and issued are one.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use iojoule_record::{Live, Phase, Recorder, clock};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::LoadError;
use crate::columns::{strings, unsigned};
use crate::config::{ClosedConfig, Order as Walk, Waiting};
use crate::connections::{After, Connections, Dialling, MAX_LINGERING};
use crate::control::Control;
use crate::crew::{self, Crew};
use crate::engine::Load;
use crate::socket::allow_open;
use crate::summary::{PhaseSpan, Summary};
use crate::tls::TlsStarter;
use crate::url::Url;
use crate::wire::{Batch, Format, Order, Row};

/// A refused connection is tried again after this long; a dead server should not be hammered.
const RETRY_NS: i64 = 10_000_000;

/// Runs a closed loop to its end.
pub fn closed(config: &ClosedConfig, live: Arc<Live>, control: &Control) -> Result<Summary, LoadError> {
    config.check()?;
    let url = Url::parse(&config.url)?;
    let tls = TlsStarter::new(&url, &config.tls)?;
    let format = Format::new(&url, config.host.as_deref(), config.keepalive);
    let batch = Arc::new(requests(config, &format)?);
    let lingering = if config.keepalive { 0 } else { MAX_LINGERING as u64 * u64::from(config.threads) };
    allow_open(u64::from(config.connections) + lingering)?;
    let dialling = Dialling {
        to: url.resolve()?,
        tls,
        timeout_ns: config.timeout_ns,
        keep_alive_ns: i64::MAX / 2,
        reuse: config.keepalive,
    };
    let recorder = Recorder::start(&config.run, config.threads as usize, live.clone())?;
    live.planned.store(config.fetches.unwrap_or(0), Relaxed);

    let begin_ns = clock::now().0;
    let measure_ns = begin_ns + config.warmup_ns;
    let end_ns = config.duration_ns.map_or(i64::MAX, |d| measure_ns.saturating_add(d));
    let budget = AtomicI64::new(config.fetches.map_or(i64::MAX, |n| n.min(i64::MAX as u64) as i64));
    let loads = (0..config.threads).map(|thread| Closed {
        // A copy for each thread: its reference count is touched at every request.
        batch: if thread == 0 { batch.clone() } else { Arc::new(Batch::clone(&batch)) },
        connections: crew::share(config.connections, config.threads, thread) as usize,
        opened: false,
        walk: config.order,
        random: Xoshiro256PlusPlus::seed_from_u64(config.seed.wrapping_add(u64::from(thread))),
        position: u64::from(thread),
        step: u64::from(config.threads),
        measure_ns,
        end_ns,
        budget: &budget,
        resting: VecDeque::new(),
        ended: false,
        live: (thread == 0).then(|| live.clone()),
    });
    let crew = Crew { dialling, waiting: Waiting::Sleep, drain_ns: config.drain_ns, control, live: live.clone() };
    let tally = crew.run(loads.collect(), recorder)?;
    let end_ns = end_ns.min(tally.end_ns);
    let phases = [(Phase::Warmup, begin_ns, measure_ns.min(end_ns)), (Phase::Measure, measure_ns.min(end_ns), end_ns)];
    let spans = phases.into_iter().filter(|(_, begin, end)| begin < end).map(PhaseSpan::from).collect();
    Ok(Summary::of(&tally, begin_ns, spans, config.threads))
}

/// All requests of the loop, written out.
fn requests(config: &ClosedConfig, format: &Format) -> Result<Batch, LoadError> {
    let mut batch = Batch::default();
    let mut add = |object, path: &str| format.add(&mut batch, "GET", path, Row::new(0, 0, object, 0, Phase::Measure));
    match &config.objects {
        None => config.paths.iter().zip(0..).for_each(|(path, object)| add(object, path)),
        Some(table) => read_objects(table, &mut add)?,
    }
    if batch.bytes.len() > u32::MAX as usize {
        return Err(LoadError::config("objects", "the requests of all objects exceed 4 GiB"));
    }
    if batch.rows.is_empty() {
        return Err(LoadError::config("objects", "holds no object"));
    }
    Ok(batch)
}

fn read_objects(table: &Path, add: &mut impl FnMut(u32, &str)) -> Result<(), LoadError> {
    let file = std::fs::File::open(table).map_err(|e| LoadError::file(table, e))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| builder.build());
    for record in reader.map_err(|e| LoadError::table(table, e))? {
        let record = record.map_err(|e| LoadError::table(table, e))?;
        let (object, path) = (unsigned(&record, "object", table)?, strings(&record, "path", table)?);
        object.iter().enumerate().for_each(|(i, object)| add(*object, path.at(i)));
    }
    Ok(())
}

struct Closed<'a> {
    batch: Arc<Batch>,
    connections: usize,
    opened: bool,
    walk: Walk,
    random: Xoshiro256PlusPlus,
    /// Number of this thread's next request; threads take turns in the whole load's numbers.
    position: u64,
    step: u64,
    measure_ns: i64,
    end_ns: i64,
    /// Fetches still to be sent by all threads.
    budget: &'a AtomicI64,
    /// When connections that were refused try again.
    resting: VecDeque<i64>,
    ended: bool,
    live: Option<Arc<Live>>,
}

impl Closed<'_> {
    /// The next request of a connection that is free; `None` where the load is at its end.
    fn next(&mut self) -> Option<Order> {
        let now = clock::now().0;
        let phase = if now < self.measure_ns { Phase::Warmup } else { Phase::Measure };
        let in_budget = phase == Phase::Warmup || self.budget.fetch_sub(1, Relaxed) > 0;
        if self.ended || now >= self.end_ns || !in_budget {
            self.ended = true;
            return None;
        }
        let seq = self.position;
        self.position += self.step;
        let rows = self.batch.rows.len() as u64;
        let row = match self.walk {
            Walk::Sequential => seq % rows,
            Walk::Random => ((u128::from(self.random.next_u64()) * u128::from(rows)) >> 64) as u64,
        };
        Some(Order { batch: self.batch.clone(), row: row as u32, seq, planned_ns: now, phase, retried: false })
    }

    fn open(&mut self, connections: &mut Connections) -> Result<(), LoadError> {
        match self.next() {
            Some(order) => {
                let (_, after) = connections.open(order)?;
                self.after(connections, after)
            }
            None => Ok(()),
        }
    }
}

impl Load for Closed<'_> {
    fn turn(&mut self, connections: &mut Connections, now: i64) -> Result<i64, LoadError> {
        if let Some(live) = &self.live {
            let phase = if now < self.measure_ns { Phase::Warmup } else { Phase::Measure };
            live.phase.store(1 + phase as u64, Relaxed);
        }
        if now >= self.end_ns {
            self.ended = true;
        }
        if !self.opened {
            self.opened = true;
            for _ in 0..self.connections {
                self.open(connections)?;
            }
        }
        while self.resting.front().is_some_and(|at| *at <= now) {
            self.resting.pop_front();
            self.open(connections)?;
        }
        if self.ended {
            return Ok(i64::MAX);
        }
        Ok(self.resting.front().map_or(self.end_ns, |at| self.end_ns.min(*at)))
    }

    fn after(&mut self, connections: &mut Connections, mut after: After) -> Result<(), LoadError> {
        loop {
            after = match after {
                After::Busy => return Ok(()),
                After::Gone { refused: true, .. } => {
                    self.resting.push_back(clock::now().0 + RETRY_NS);
                    return Ok(());
                }
                After::Idle(slot) => match self.next() {
                    Some(order) => connections.send(slot, order)?,
                    None => {
                        connections.rest(slot);
                        return Ok(());
                    }
                },
                After::Gone { .. } => match self.next() {
                    Some(order) => connections.open(order)?.1,
                    None => return Ok(()),
                },
            }
        }
    }

    fn end(&mut self) {
        self.ended = true;
    }

    fn is_exhausted(&self) -> bool {
        self.ended
    }

    fn waiting(&self) -> usize {
        0
    }

    fn give_up(&mut self, _: &mut Connections) -> Result<(), LoadError> {
        Ok(())
    }
}
