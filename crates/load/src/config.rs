//! What a load is told. Both configurations come in as JSON; an unknown key is an error.

use std::path::PathBuf;

use serde::Deserialize;

use crate::LoadError;

const SECOND: i64 = 1_000_000_000;

/// How the engine waits for the next planned request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// Sleep until the deadline: least processor time, late by the wake-up.
    Sleep,
    /// Sleep until shortly before the deadline, then poll.
    #[default]
    Hybrid,
    /// Poll all the time: one core each engine thread.
    Spin,
}

/// What happens to a request that is due while the cap on open connections is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtCap {
    /// It waits for a connection; its planned time stays.
    #[default]
    Queue,
    /// It is recorded as `dropped` and never sent.
    Drop,
}

/// Which connection a request travels on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionMode {
    /// A connection of its own, closed after the answer.
    #[default]
    PerRequest,
    /// The one kept-alive connection of its client, behind that client's earlier requests.
    PerClient,
    /// Any idle kept-alive connection, else a new one.
    Pool,
}

/// How certificates are checked on `https`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TlsConfig {
    /// PEM file of trusted authorities; the system's bundle where absent.
    pub ca: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
}

/// A replay of a prepared web log.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayConfig {
    /// The replay table `iojoule weblog prepare` wrote.
    pub replay: PathBuf,
    /// Base of every request: `http[s]://host[:port][/prefix]`.
    pub url: String,
    /// The run folder; `tables` and `hist` in it exist.
    pub run: PathBuf,
    /// Trace time over host time: 2 replays twice as fast.
    #[serde(default = "one")]
    pub speedup: f64,
    /// Span at the start of the trace, in trace time, whose requests are of phase `warmup`.
    #[serde(default)]
    pub warmup_ns: i64,
    /// Span at the end of the trace, in trace time, whose requests are of phase `cooldown`.
    #[serde(default)]
    pub cooldown_ns: i64,
    /// Cap on open connections.
    #[serde(default = "connections")]
    pub connections: u32,
    #[serde(default)]
    pub at_cap: AtCap,
    #[serde(default)]
    pub connection_mode: ConnectionMode,
    #[serde(default)]
    pub waiting: Waiting,
    /// From issue to the last byte, for each request.
    #[serde(default = "half_minute")]
    pub timeout_ns: i64,
    /// An idle connection is closed after this long.
    #[serde(default = "minute")]
    pub keep_alive_ns: i64,
    /// After the last planned request: what is not done by then is recorded as `client_stop`.
    #[serde(default = "half_minute")]
    pub drain_ns: i64,
    #[serde(default = "one_thread")]
    pub threads: u32,
    /// Sent as `Host` instead of the URL's.
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub tls: TlsConfig,
    /// From the call to the instant the trace's zero is planned at.
    #[serde(default = "tenth_second")]
    pub start_delay_ns: i64,
    /// Stop after this many requests of the trace.
    #[serde(default)]
    pub max_requests: Option<u64>,
    /// Leave out requests planned at or after this trace time.
    #[serde(default)]
    pub until_ns: Option<i64>,
}

/// The order in which a closed loop walks its objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each fetch draws its object uniformly; seeded.
    #[default]
    Random,
    /// One after the other, all connections sharing one position.
    Sequential,
}

/// N connections that each send the next request when the last one is answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedConfig {
    pub url: String,
    /// The run folder; `tables` and `hist` in it exist.
    pub run: PathBuf,
    /// Objects table of a prepared web log; either this or `paths`.
    #[serde(default)]
    pub objects: Option<PathBuf>,
    #[serde(default)]
    pub paths: Vec<String>,
    pub connections: u32,
    /// Fetches after the warm-up; either this, `duration_ns` or both (the first reached ends the load).
    #[serde(default)]
    pub fetches: Option<u64>,
    #[serde(default)]
    pub duration_ns: Option<i64>,
    #[serde(default)]
    pub warmup_ns: i64,
    #[serde(default = "yes")]
    pub keepalive: bool,
    #[serde(default)]
    pub order: Order,
    #[serde(default)]
    pub seed: u64,
    #[serde(default = "half_minute")]
    pub timeout_ns: i64,
    /// After the last request was sent: what is not done by then is recorded as `client_stop`.
    #[serde(default = "half_minute")]
    pub drain_ns: i64,
    #[serde(default = "one_thread")]
    pub threads: u32,
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub tls: TlsConfig,
}

impl ReplayConfig {
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        if !(self.speedup.is_finite() && self.speedup > 0.0) {
            return Err(LoadError::config("speedup", format!("{} is not a number above 0", self.speedup)));
        }
        at_least_one("connections", self.connections)?;
        at_least_one("threads", self.threads)?;
        if self.threads > self.connections {
            return Err(LoadError::config("threads", "more engine threads than connections"));
        }
        above_zero("timeout_ns", self.timeout_ns)?;
        above_zero("keep_alive_ns", self.keep_alive_ns)?;
        let spans = [
            ("warmup_ns", self.warmup_ns),
            ("cooldown_ns", self.cooldown_ns),
            ("drain_ns", self.drain_ns),
            ("start_delay_ns", self.start_delay_ns),
        ];
        spans.into_iter().try_for_each(|(key, value)| not_negative(key, value))
    }
}

impl ClosedConfig {
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        at_least_one("connections", self.connections)?;
        at_least_one("threads", self.threads)?;
        if self.threads > self.connections {
            return Err(LoadError::config("threads", "more engine threads than connections"));
        }
        if self.fetches.is_none() && self.duration_ns.is_none() {
            return Err(LoadError::config("fetches", "neither `fetches` nor `duration_ns` says when to end"));
        }
        if self.objects.is_some() != self.paths.is_empty() {
            return Err(LoadError::config("objects", "give either `objects` or `paths`"));
        }
        above_zero("timeout_ns", self.timeout_ns)?;
        not_negative("warmup_ns", self.warmup_ns)?;
        not_negative("drain_ns", self.drain_ns)?;
        self.duration_ns.map_or(Ok(()), |d| above_zero("duration_ns", d))
    }
}

fn at_least_one(key: &'static str, value: u32) -> Result<(), LoadError> {
    if value == 0 { Err(LoadError::config(key, "0 is less than 1")) } else { Ok(()) }
}

fn above_zero(key: &'static str, value: i64) -> Result<(), LoadError> {
    if value <= 0 { Err(LoadError::config(key, format!("{value} is not above 0"))) } else { Ok(()) }
}

fn not_negative(key: &'static str, value: i64) -> Result<(), LoadError> {
    if value < 0 { Err(LoadError::config(key, format!("{value} is below 0"))) } else { Ok(()) }
}

fn one() -> f64 {
    1.0
}
fn one_thread() -> u32 {
    1
}
/// The seed's limit: 1024 file descriptors less stdin and stdout.
fn connections() -> u32 {
    1022
}
fn yes() -> bool {
    true
}
fn minute() -> i64 {
    60 * SECOND
}
fn half_minute() -> i64 {
    30 * SECOND
}
fn tenth_second() -> i64 {
    SECOND / 10
}
