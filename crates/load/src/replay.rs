//! The replay of a prepared web log: opens the table, starts the reader and the engine threads, sums up.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::Builder;

use iojoule_record::{Live, Phase, Recorder, clock};

use crate::LoadError;
use crate::assign::Assignment;
use crate::config::{ConnectionMode, ReplayConfig};
use crate::connections::{Dialling, MAX_LINGERING};
use crate::control::Control;
use crate::crew::{self, Crew};
use crate::schedule::{Schedule, scale};
use crate::socket::allow_open;
use crate::summary::{PhaseSpan, Summary};
use crate::tls::TlsStarter;
use crate::trace::{self, Edges, Receivers, Trace};
use crate::url::Url;
use crate::wire::Format;

/// Replays a web log to its end, or to the end `control` asks for. Failed requests are records; the error is one of
/// the configuration, the machine or the run folder.
pub fn replay(config: &ReplayConfig, live: Arc<Live>, control: &Control) -> Result<Summary, LoadError> {
    config.check()?;
    let url = Url::parse(&config.url)?;
    let tls = TlsStarter::new(&url, &config.tls)?;
    let reuse = config.connection_mode != ConnectionMode::PerRequest;
    let lingering = if reuse { 0 } else { MAX_LINGERING as u64 * u64::from(config.threads) };
    allow_open(u64::from(config.connections) + lingering)?;
    let trace = Trace::open(config)?;
    let edges = trace.edges(config)?;
    let (rows, span_ns) = (trace.rows, trace.span_ns);
    let dialling =
        Dialling { to: url.resolve()?, tls, timeout_ns: config.timeout_ns, keep_alive_ns: config.keep_alive_ns, reuse };
    let format = Format::new(&url, config.host.as_deref(), reuse);
    let recorder = Recorder::start(&config.run, config.threads as usize, live.clone())?;
    live.planned.store(rows, Relaxed);

    let (senders, Receivers { lanes, primed }) = trace::lanes(config.threads as usize);
    let by_client = config.connection_mode == ConnectionMode::PerClient;
    let reader = Builder::new()
        .name("iojoule-trace".into())
        .spawn(move || trace.read(&format, edges, by_client, senders))
        .map_err(|source| LoadError::System { doing: "starting the trace reader", source })?;
    // The clock starts when the first requests are there; an error of the reader is told below.
    let _ = primed.recv();
    let epoch_ns = clock::now().0 + config.start_delay_ns;

    let loads = (0..).zip(lanes).map(|(thread, source)| {
        let cap = crew::share(config.connections, config.threads, thread) as usize;
        let assignment = Assignment::new(config.connection_mode, config.at_cap, cap);
        Schedule::new(epoch_ns, config.speedup, source, assignment, (thread == 0).then(|| live.clone()))
    });
    let crew = Crew { dialling, waiting: config.waiting, drain_ns: config.drain_ns, control, live: live.clone() };
    // The loads, and with them the receiving ends, are gone when this returns: the reader cannot hang.
    let tally = crew.run(loads.collect(), recorder);
    let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let mut tally = tally?;
    read?;
    tally.unplayed = rows - tally.requests;
    Ok(Summary::of(&tally, epoch_ns, spans(edges, span_ns, epoch_ns, config.speedup, tally.end_ns), config.threads))
}

/// The phases in host time, cut at the end of the load.
fn spans(edges: Edges, span_ns: i64, epoch_ns: i64, speedup: f64, end_ns: i64) -> Vec<PhaseSpan> {
    let cooldown = edges.cooldown.min(span_ns);
    let cuts = [0, edges.measure, cooldown, span_ns].map(|t| (epoch_ns + scale(t, speedup)).min(end_ns));
    let named = [Phase::Warmup, Phase::Measure, Phase::Cooldown].into_iter().zip(cuts.windows(2));
    let spans = named.filter(|(_, cut)| cut[0] < cut[1]).map(|(phase, cut)| PhaseSpan::from((phase, cut[0], cut[1])));
    spans.collect()
}
