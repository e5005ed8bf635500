//! A block load from its configuration to its summary: target, engine threads, records.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::thread::Builder;

use iojoule_record::{Lane, Live, RecordError, Recorder, Totals, clock};

use crate::LoadError;
use crate::block::backend::Backend;
use crate::block::buffers::Buffers;
use crate::block::claims::Claims;
use crate::block::config::{Arrivals, AtCap, BlockConfig, Engine as Kind, VerifySpec, Work};
use crate::block::content::Filler;
use crate::block::data::{Checking, Data};
use crate::block::engine::{Engine, Terms};
use crate::block::null::Null;
use crate::block::replay::Replay;
use crate::block::ring::{self, Ring};
use crate::block::source::Source;
use crate::block::span::Span;
use crate::block::stock::Stock;
use crate::block::summary::BlockSummary;
use crate::block::synthetic::Layout;
use crate::block::tally::Tally;
use crate::block::target::Target;
use crate::block::threads::Threads;
use crate::block::verify::Verifier;
use crate::control::Control;

/// A closed loop hands over so many requests in one system call; one that writes half of the free places where these are more. With
/// all that came back in one call, what left together comes back together, and a virtual disk at depth 32 lost a seventh
/// of its IOPS; with four writes at a time the last of twenty waited for four calls, and a tenth of the depth was missing. An
/// open loop hands over all that is due: what waits would be late.
const BATCH: usize = 4;

/// Runs a block load to its end, or to the end `control` asks for. A request that fails is a record; the error is one
/// of the configuration, the machine or the run folder.
pub fn block(config: &BlockConfig, live: Arc<Live>, control: &Control) -> Result<BlockSummary, LoadError> {
    config.check()?;
    let target = Target::open(&config.target)?;
    if config.verify.is_some() && target.is_null() {
        return Err(LoadError::config("verify", "nothing that is written to the null target can be read again"));
    }
    let (kind, warning) = engine(config, &target);
    let launch = Launch { config, target: &target, kind, live, control };
    let mut summary = match &config.work {
        Work::Synthetic(load) => {
            let layout = Layout::new(load, &target)?;
            let open = load.arrivals != Arrivals::Closed;
            let shape = Shape {
                jobs: load.jobs,
                slots: load.queue_depth,
                largest: layout.largest,
                alike: layout.slot_bytes == u64::from(layout.largest),
                open,
                at_cap: load.at_cap,
                data_only: load.flush.is_some_and(|flush| flush.data_only),
                writes: load.mix.write > 0.0,
                planned: config.requests.unwrap_or(0),
            };
            launch.run(&shape, |job| {
                let source = layout.source(job, config.seed)?;
                Ok(move |epoch_ns| source.begin(epoch_ns))
            })?
        }
        Work::Replay(load) => {
            let replay = Replay::open(load, &target)?;
            let shape = Shape {
                jobs: 1,
                slots: load.outstanding,
                largest: replay.largest,
                alike: false,
                open: !load.as_fast_as_possible,
                at_cap: load.at_cap,
                data_only: false,
                writes: load.writes,
                planned: replay.requests,
            };
            let facts = replay.facts.clone();
            let mut replay = Some(replay);
            let summary = launch.run(&shape, |_| match replay.take() {
                Some(replay) => Ok(move |epoch_ns| replay.source(epoch_ns)),
                None => unreachable!("a replay has one job"),
            })?;
            BlockSummary { replay: Some(facts), ..summary }
        }
    };
    summary.warnings.splice(0..0, warning);
    Ok(summary)
}

/// The engine that will drive the target, and a warning where it is not the one asked for.
fn engine(config: &BlockConfig, target: &Target) -> (Kind, Option<String>) {
    if config.engine == Kind::Threads || target.is_null() {
        return (config.engine, None);
    }
    let trims = match &config.work {
        Work::Synthetic(load) => load.mix.trim > 0.0,
        Work::Replay(load) => load.writes,
    };
    match ring::denied() {
        None if trims && target.files.iter().any(|place| place.is_device) && !ring::discards() => {
            let warning = "this kernel cannot trim a device through io_uring (Linux 6.12): one thread for each \
                outstanding request is used instead";
            (Kind::Threads, Some(warning.into()))
        }
        None => (Kind::IoUring, None),
        Some(error) => {
            let warning = format!(
                "io_uring is denied to this process ({error}): one thread for each outstanding \
                request is used instead; look at kernel.io_uring_disabled and at the container's seccomp filter"
            );
            (Kind::Threads, Some(warning))
        }
    }
}

/// What the jobs of a load look like.
struct Shape {
    jobs: u32,
    slots: u32,
    largest: u32,
    /// All requests are of one size.
    alike: bool,
    open: bool,
    at_cap: AtCap,
    data_only: bool,
    writes: bool,
    /// Requests in all; 0 where nobody knows.
    planned: u64,
}

struct Launch<'a> {
    config: &'a BlockConfig,
    target: &'a Target,
    kind: Kind,
    live: Arc<Live>,
    control: &'a Control,
}

impl Launch<'_> {
    /// `source` makes the requests of a job, which begin when they are told the epoch.
    fn run<S: Source + Send, B: FnOnce(i64) -> S>(
        &self,
        shape: &Shape,
        source: impl FnMut(u32) -> Result<B, LoadError>,
    ) -> Result<BlockSummary, LoadError> {
        let config = self.config;
        let sources = (0..shape.jobs).map(source).collect::<Result<Vec<_>, _>>()?;
        let checking = config.verify.as_ref().map(|spec| self.checking(spec)).transpose()?;
        let mut recorder = match config.record {
            true => Some(Recorder::start(&config.run, shape.jobs as usize, self.live.clone())?),
            false => None,
        };
        self.live.planned.store(shape.planned, Relaxed);
        let epoch_ns = clock::now().0 + config.start_delay_ns;
        let span = Span {
            epoch_ns,
            warmup_ns: (!config.measure_when_told).then_some(config.warmup_ns),
            duration_ns: config.duration_ns,
            budget: config.requests.map(|n| AtomicI64::new(n.min(i64::MAX as u64) as i64)),
            control: self.control,
            live: self.live.clone(),
        };
        let abort = AtomicBool::new(false);
        let (mut all, mut failure) = (Tally::new(), None);
        std::thread::scope(|scope| {
            let mut running = Vec::new();
            for (job, begin) in (0..).zip(sources) {
                let source = begin(epoch_ns);
                let lane = recorder.as_mut().map(|recorder| recorder.lane().ok_or(RecordError::WriterGone));
                let (span, abort, checking) = (&span, &abort, checking.as_ref());
                let body = move || {
                    let result = self.job(job, shape, source, lane.transpose()?, span, checking, abort);
                    if result.is_err() {
                        abort.store(true, Relaxed);
                    }
                    result
                };
                match Builder::new().name(format!("iojoule-load-{job}")).spawn_scoped(scope, body) {
                    Ok(handle) => running.push(handle),
                    Err(source) => {
                        abort.store(true, Relaxed);
                        failure = Some(LoadError::System { doing: "starting an engine thread", source });
                    }
                }
            }
            for handle in running {
                match handle.join() {
                    Ok(Ok(tally)) => all.join(tally),
                    Ok(Err(error)) => failure = Some(error),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        // An error of the writer (a full disk, say) comes before those of the engine, which are its consequences.
        let written = recorder.map_or(Ok(Totals::default()), Recorder::finish)?;
        if let Some(checking) = &checking {
            all.verified = checking.verifier.checked();
            checking.verifier.save()?;
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(self.summary(shape, all, &span, written)),
        }
    }

    fn checking(&self, spec: &VerifySpec) -> Result<Checking, LoadError> {
        let sizes: Vec<_> = self.target.files.iter().map(|place| place.bytes).collect();
        let verifier = Verifier::open(spec, &sizes, self.config.seed)?;
        Ok(Checking { verifier, claims: Claims::new(self.target, spec.block_bytes) })
    }

    /// The body of one engine thread.
    #[allow(clippy::too_many_arguments)]
    fn job<S: Source>(
        &self,
        job: u32,
        shape: &Shape,
        source: S,
        lane: Option<Lane>,
        span: &Span<'_>,
        checking: Option<&Checking>,
        abort: &AtomicBool,
    ) -> Result<Tally, LoadError> {
        // What is verified is stamped with its place and cannot be made before that is known; nor what is of another size.
        let stocked = shape.writes && shape.alike && checking.is_none() && !self.target.is_null();
        let spare = if stocked { Stock::size(shape.slots, shape.largest) } else { 0 };
        let count = shape.slots + spare;
        let buffers = Buffers::new(count as usize, shape.largest)?;
        let stock = stocked.then(|| Stock::new(shape.slots..count, shape.largest));
        let seed = self.config.seed.wrapping_add(u64::from(job) << 32);
        let data = Data { buffers: buffers.clone(), filler: Filler::new(self.config.content, seed)?, stock, checking };
        let terms = Terms {
            waiting: self.config.waiting,
            at_cap: shape.at_cap,
            open: shape.open,
            drain_ns: self.config.drain_ns,
            job,
            slots: shape.slots,
            batch: if shape.open || self.target.is_null() { usize::MAX } else { BATCH },
            writes: shape.writes,
            span,
            abort,
        };
        fn go<S: Source, B: Backend>(
            terms: &Terms<'_>,
            source: S,
            backend: B,
            data: Data<'_>,
            lane: Option<Lane>,
        ) -> Result<Tally, LoadError> {
            Engine::new(terms, source, backend, data, lane).run()
        }
        let (target, slots) = (self.target, shape.slots);
        match self.kind {
            _ if target.is_null() => go(&terms, source, Null::default(), data, lane),
            Kind::IoUring => go(&terms, source, Ring::new(target, slots, buffers, shape.data_only)?, data, lane),
            Kind::Threads => go(&terms, source, Threads::new(target, slots, buffers, shape.data_only)?, data, lane),
        }
    }

    fn summary(&self, shape: &Shape, tally: Tally, span: &Span<'_>, written: Totals) -> BlockSummary {
        let mut summary = BlockSummary::of(tally, span);
        summary.engine = self.kind;
        summary.writer_cpu_s = written.cpu_s;
        if written.stalls > 0 {
            summary.warnings.push(format!(
                "the load waited {} times, {:.3} s in all, for its records to be written",
                written.stalls,
                written.stalled_ns as f64 / 1e9
            ));
        }
        summary.direct = self.target.direct;
        summary.jobs = shape.jobs;
        summary.queue_depth = shape.slots;
        summary.target_bytes = self.target.bytes();
        summary
    }
}
