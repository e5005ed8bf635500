//! When the next request is planned. There is one plan over all jobs, the same whatever their number: job j of n makes
//! the whole of it and keeps arrivals j, j+n, j+2n and so on.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::LoadError;
use crate::block::config::Arrivals;
use crate::columns::integers;
use crate::schedule::scale;

/// Kept apart from the seeds of places and sizes.
const STREAM: u64 = 0x9e6c_63d0_876a_9a47;
/// Times decoded at a time, and batches that may wait to be used.
const ROWS: usize = 8192;
const AHEAD: usize = 4;

/// An answer of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// So long after the epoch.
    At(i64),
    /// The trace is not read so far yet.
    Unread,
    /// The trace is at its end.
    End,
}

/// The arrivals of one job of an open loop, in ns from the epoch.
pub(crate) enum Plan {
    Constant { gap_ns: f64, next: u64, jobs: u64 },
    Poisson { gap_ns: f64, at_ns: f64, random: Box<Xoshiro256PlusPlus>, skip: u64, jobs: u64 },
    Trace(Times),
}

impl Plan {
    /// None of a closed loop.
    pub fn new(arrivals: &Arrivals, job: u32, jobs: u32, seed: u64) -> Result<Option<Self>, LoadError> {
        let gap = |rate: f64| {
            if rate.is_finite() && rate > 0.0 {
                Ok(1e9 / rate)
            } else {
                Err(LoadError::config("arrivals", format!("a rate of {rate} is not above 0")))
            }
        };
        let (job, jobs) = (u64::from(job), u64::from(jobs));
        Ok(Some(match arrivals {
            Arrivals::Closed => return Ok(None),
            Arrivals::Constant { rate_per_s } => Self::Constant { gap_ns: gap(*rate_per_s)?, next: job, jobs },
            Arrivals::Poisson { rate_per_s } => {
                let random = Box::new(Xoshiro256PlusPlus::seed_from_u64(seed ^ STREAM));
                Self::Poisson { gap_ns: gap(*rate_per_s)?, at_ns: 0.0, random, skip: job, jobs }
            }
            Arrivals::Trace { trace, speedup } => {
                if !(speedup.is_finite() && *speedup > 0.0) {
                    return Err(LoadError::config("arrivals", format!("a speed-up of {speedup} is not above 0")));
                }
                Self::Trace(Times::open(trace, *speedup, job, jobs)?)
            }
        }))
    }

    #[inline]
    pub fn next(&mut self) -> Arrival {
        match self {
            Self::Constant { gap_ns, next, jobs } => {
                // From the number, not from the one before: nothing adds up.
                let at = (*next as f64 * *gap_ns).round() as i64;
                *next += *jobs;
                Arrival::At(at)
            }
            Self::Poisson { gap_ns, at_ns, random, skip, jobs } => {
                for _ in 0..=*skip {
                    // 53 bits in (0, 1]: the logarithm of 0 never comes up.
                    let unit = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                    *at_ns -= unit.ln() * *gap_ns;
                }
                *skip = *jobs - 1;
                Arrival::At(at_ns.round() as i64)
            }
            Self::Trace(times) => times.next(),
        }
    }

    /// Why a trace ended before its time, if it did.
    pub fn finish(self) -> Result<(), LoadError> {
        match self {
            Self::Trace(times) => times.finish(),
            _ => Ok(()),
        }
    }
}

/// The times of a block trace, read ahead by a thread of its own.
pub(crate) struct Times {
    speedup: f64,
    batches: Receiver<Vec<i64>>,
    batch: std::vec::IntoIter<i64>,
    reader: JoinHandle<Result<(), LoadError>>,
}

impl Times {
    fn open(trace: &Path, speedup: f64, job: u64, jobs: u64) -> Result<Self, LoadError> {
        let file = std::fs::File::open(trace).map_err(|e| LoadError::file(trace, e))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| LoadError::table(trace, e))?;
        if builder.schema().field_with_name("at_ns").is_err() {
            return Err(LoadError::table(trace, "has no column `at_ns`: it is no canonical block trace"));
        }
        let (full, batches) = sync_channel(AHEAD);
        let path = trace.to_owned();
        let reader = std::thread::Builder::new()
            .name("iojoule-times".into())
            .spawn(move || read(builder, path, job, jobs, &full))
            .map_err(|source| LoadError::System { doing: "starting the reader of the trace", source })?;
        // The first times are there before the clock starts; an error of the reader is told at the end.
        let batch = batches.recv().unwrap_or_default().into_iter();
        Ok(Self { speedup, batches, batch, reader })
    }

    fn next(&mut self) -> Arrival {
        loop {
            if let Some(at) = self.batch.next() {
                return Arrival::At(scale(at, self.speedup));
            }
            match self.batches.try_recv() {
                Ok(batch) => self.batch = batch.into_iter(),
                Err(TryRecvError::Empty) => return Arrival::Unread,
                Err(TryRecvError::Disconnected) => return Arrival::End,
            }
        }
    }

    fn finish(self) -> Result<(), LoadError> {
        drop(self.batches);
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Sends the times of rows job, job + jobs and so on, counted from the first one, until nobody listens.
fn read(
    builder: ParquetRecordBatchReaderBuilder<std::fs::File>,
    path: PathBuf,
    job: u64,
    jobs: u64,
    out: &SyncSender<Vec<i64>>,
) -> Result<(), LoadError> {
    let mask = ProjectionMask::columns(builder.parquet_schema(), ["at_ns"]);
    let reader = builder.with_batch_size(ROWS).with_projection(mask).build();
    let (mut row, mut first, mut last) = (0_u64, None, i64::MIN);
    for record in reader.map_err(|e| LoadError::table(&path, e))? {
        let times = integers(&record.map_err(|e| LoadError::table(&path, e))?, "at_ns", &path)?;
        let mut own = Vec::with_capacity(times.len() / jobs as usize + 1);
        for at in times {
            if at < last {
                return Err(LoadError::table(&path, format!("row {row} is earlier than the row above it")));
            }
            last = at;
            if row % jobs == job {
                own.push(at - *first.get_or_insert(at));
            } else {
                first.get_or_insert(at);
            }
            row += 1;
        }
        if !own.is_empty() && out.send(own).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
