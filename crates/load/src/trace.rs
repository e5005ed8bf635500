//! Reads a replay table ahead of its schedule: one thread decodes Parquet, writes the requests out and hands
//! batches to the engine threads. Only a few batches exist at a time, however long the trace.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use arrow_array::RecordBatch;
use iojoule_record::Phase;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::LoadError;
use crate::columns::{Column, integers, strings, unsigned};
use crate::config::ReplayConfig;
use crate::wire::{Batch, Format, Row, is_method};

/// Requests decoded at a time, and batches that may wait for an engine thread.
const ROWS: usize = 4096;
const AHEAD: usize = 4;

/// A replay table, opened.
pub(crate) struct Trace {
    path: PathBuf,
    builder: ParquetRecordBatchReaderBuilder<File>,
    /// Requests that will be replayed.
    pub rows: u64,
    /// Trace time from its zero to its end, as far as it is replayed.
    pub span_ns: i64,
    until_ns: i64,
}

/// Trace times at which `warmup` ends and `cooldown` begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edges {
    pub measure: i64,
    pub cooldown: i64,
}

impl Edges {
    fn phase(self, offset_ns: i64) -> Phase {
        if offset_ns < self.measure {
            Phase::Warmup
        } else if offset_ns < self.cooldown {
            Phase::Measure
        } else {
            Phase::Cooldown
        }
    }
}

impl Trace {
    pub fn open(config: &ReplayConfig) -> Result<Self, LoadError> {
        let path = &config.replay;
        let builder = builder(path)?;
        let all = builder.metadata().file_metadata().num_rows() as u64;
        let until_ns = config.until_ns.unwrap_or(i64::MAX);
        let wanted = config.max_requests.unwrap_or(u64::MAX).min(all);
        let stated = builder
            .metadata()
            .file_metadata()
            .key_value_metadata()
            .and_then(|pairs| pairs.iter().find(|pair| pair.key == "iojoule.span_ns"))
            .and_then(|pair| pair.value.as_ref()?.parse::<i64>().ok());
        let cut = until_ns != i64::MAX || wanted < all;
        let (rows, span_ns) = match stated {
            Some(span_ns) if !cut => (wanted, span_ns),
            _ => extent(path, wanted, until_ns)?,
        };
        let span_ns = if until_ns < span_ns { until_ns } else { span_ns };
        if rows == 0 {
            return Err(LoadError::config("replay", format!("{} holds no request to replay", path.display())));
        }
        Ok(Self { path: path.clone(), builder, rows, span_ns, until_ns })
    }

    /// The phases' edges; the spans asked for must leave something to measure.
    pub fn edges(&self, config: &ReplayConfig) -> Result<Edges, LoadError> {
        let edges = Edges {
            measure: config.warmup_ns,
            cooldown: if config.cooldown_ns == 0 { i64::MAX } else { self.span_ns.saturating_sub(config.cooldown_ns) },
        };
        if config.warmup_ns > 0 && edges.measure >= edges.cooldown.min(self.span_ns) {
            let reason = format!("warm-up and cool-down leave nothing of a trace of {} ns to measure", self.span_ns);
            return Err(LoadError::config("warmup_ns", reason));
        }
        Ok(edges)
    }

    /// Reads to the end. Row `i` goes to thread `i mod threads`, or all of a client's to one thread.
    pub fn read(self, format: &Format, edges: Edges, by_client: bool, out: Senders) -> Result<(), LoadError> {
        let (rows, until, path) = (self.rows, self.until_ns, self.path);
        let reader = project(self.builder, &path, &["planned_ns", "method", "object", "path", "client"])?;
        let threads = out.lanes.len() as u64;
        let (mut seq, mut last) = (0, i64::MIN);
        for record in reader {
            let record = record.map_err(|e| LoadError::table(&path, e))?;
            let columns = Columns::of(&record, &path)?;
            let mut batches: Vec<Batch> = (0..threads).map(|_| Batch::default()).collect();
            for i in 0..record.num_rows() {
                let offset = columns.planned[i];
                if seq == rows || offset >= until {
                    out.send(batches);
                    return Ok(());
                }
                if offset < last {
                    return Err(LoadError::table(&path, format!("row {seq} is planned before the row above it")));
                }
                last = offset;
                let method = columns.method.at(i);
                if !is_method(method) {
                    return Err(LoadError::table(&path, format!("row {seq}: {method:?} is no method")));
                }
                let client = columns.client[i];
                let shard = if by_client { u64::from(client) % threads } else { seq % threads };
                let row = Row::new(seq, offset, columns.object[i], client, edges.phase(offset));
                format.add(&mut batches[shard as usize], method, columns.path.at(i), row);
                seq += 1;
            }
            if !out.send(batches) {
                return Ok(());
            }
        }
        Ok(())
    }
}

struct Columns {
    planned: Vec<i64>,
    method: Column,
    object: Vec<u32>,
    path: Column,
    client: Vec<u32>,
}

impl Columns {
    fn of(record: &RecordBatch, path: &Path) -> Result<Self, LoadError> {
        Ok(Self {
            planned: integers(record, "planned_ns", path)?,
            method: strings(record, "method", path)?,
            object: unsigned(record, "object", path)?,
            path: strings(record, "path", path)?,
            client: unsigned(record, "client", path)?,
        })
    }
}

/// The reading end's ways out, one for each engine thread.
pub(crate) struct Senders {
    lanes: Vec<SyncSender<Arc<Batch>>>,
    primed: SyncSender<()>,
}

/// The ways in; `primed` receives once the first requests are there, and is closed where none will come.
pub(crate) struct Receivers {
    pub lanes: Vec<Receiver<Arc<Batch>>>,
    pub primed: Receiver<()>,
}

pub(crate) fn lanes(threads: usize) -> (Senders, Receivers) {
    let (primed, is_primed) = sync_channel(1);
    let (out, into) = (0..threads).map(|_| sync_channel(AHEAD)).unzip();
    (Senders { lanes: out, primed }, Receivers { lanes: into, primed: is_primed })
}

impl Senders {
    /// Hands each thread its batch; false where all threads have ended.
    fn send(&self, batches: Vec<Batch>) -> bool {
        let mut anyone = false;
        for (lane, batch) in self.lanes.iter().zip(batches) {
            anyone |= batch.rows.is_empty() || lane.send(Arc::new(batch)).is_ok();
        }
        let _ = self.primed.try_send(());
        anyone
    }
}

fn builder(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, LoadError> {
    let file = File::open(path).map_err(|e| LoadError::file(path, e))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| LoadError::table(path, e))
}

fn project(
    builder: ParquetRecordBatchReaderBuilder<File>,
    path: &Path,
    names: &[&str],
) -> Result<ParquetRecordBatchReader, LoadError> {
    let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
    builder.with_batch_size(ROWS).with_projection(mask).build().map_err(|e| LoadError::table(path, e))
}

/// How many of the first `wanted` requests are planned before `until_ns`, and the last planned time among them.
fn extent(path: &Path, wanted: u64, until_ns: i64) -> Result<(u64, i64), LoadError> {
    let reader = project(builder(path)?.with_limit(wanted as usize), path, &["planned_ns"])?;
    let (mut rows, mut last) = (0, 0);
    for record in reader {
        let planned = integers(&record.map_err(|e| LoadError::table(path, e))?, "planned_ns", path)?;
        let within = planned.partition_point(|t| *t < until_ns);
        rows += within as u64;
        last = planned[..within].last().copied().unwrap_or(last);
        if within < planned.len() {
            break;
        }
    }
    Ok((rows, last))
}
