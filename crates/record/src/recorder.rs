//! The writer thread: takes chunks from every lane, writes row groups, sums up histograms and live figures.
//! All statistics are made here, off the engine's path.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::histogram::{self, Histograms};
use crate::lane::CHUNK;
use crate::request::{self, Request};
use crate::{Lane, Live, RecordError, TableWriter, clock};

/// Chunks each lane starts with: 160,000 records before the hot path would allocate.
const SPARE_CHUNKS: usize = 40;

/// How long a row group may stay open: what a kill can lose. It grows with the run, so that the number of row
/// groups, and with it the footer, stays small.
fn row_group_age_ns(elapsed_ns: i64) -> i64 {
    (elapsed_ns / 60).clamp(1_000_000_000, 10_000_000_000)
}

/// What was recorded in all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub requests: u64,
    pub errors: u64,
    pub bytes: u64,
}

type Chunks = (usize, Vec<Request>);

/// Owns the writer thread of one run's `requests` table.
pub struct Recorder {
    full: Sender<Chunks>,
    returns: Vec<Receiver<Vec<Request>>>,
    lanes: usize,
    writer: JoinHandle<Result<Totals, RecordError>>,
    failed: Arc<AtomicBool>,
}

impl Recorder {
    /// Opens `<run>/tables/requests.parquet` and starts the writer for `lanes` engine threads. The folders
    /// `tables` and `hist` must exist.
    pub fn start(run: &Path, lanes: usize, live: Arc<Live>) -> Result<Self, RecordError> {
        let schema = request::schema();
        let table = TableWriter::create(&run.join("tables/requests.parquet"), schema, &[])?;
        let (full, chunks) = channel();
        let (mut empty, mut returns) = (Vec::new(), Vec::new());
        for _ in 0..lanes {
            let (give, take) = channel();
            for _ in 0..SPARE_CHUNKS {
                let _ = give.send(Vec::with_capacity(CHUNK));
            }
            empty.push(give);
            returns.push(take);
        }
        let failed = Arc::new(AtomicBool::new(false));
        let writer = Writer { table, empty, live, hist: run.join("hist"), histograms: Histograms::default() };
        let flag = failed.clone();
        let writer = std::thread::Builder::new()
            .name("iojoule-writer".into())
            .spawn(move || writer.run(chunks).inspect_err(|_| flag.store(true, Relaxed)))
            .map_err(|e| RecordError::io(run, e))?;
        Ok(Self { full, returns, lanes, writer, failed })
    }

    /// The next engine thread's lane; there are as many as `start` was told.
    pub fn lane(&mut self) -> Option<Lane> {
        let empty = self.returns.pop()?;
        let index = self.returns.len();
        debug_assert!(index < self.lanes);
        Some(Lane::new(index, self.full.clone(), empty))
    }

    /// True once the writer has met an error (a full disk, say): the engine should stop, and `finish` tells why.
    pub fn failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// Waits for the writer to write what all lanes handed over, and closes the table. Every lane must have
    /// been dropped.
    pub fn finish(self) -> Result<Totals, RecordError> {
        drop((self.full, self.returns));
        self.writer.join().map_err(|_| RecordError::WriterGone)?
    }
}

struct Writer {
    table: TableWriter,
    empty: Vec<Sender<Vec<Request>>>,
    live: Arc<Live>,
    hist: PathBuf,
    histograms: Histograms,
}

impl Writer {
    fn run(mut self, chunks: Receiver<Chunks>) -> Result<Totals, RecordError> {
        let schema = request::schema();
        let parquet = |e: arrow_schema::ArrowError| RecordError::Parquet { path: self.hist.clone(), source: e.into() };
        let start = clock::now().0;
        let (mut committed, mut second) = (start, start);
        let mut recent = histogram::empty();
        let mut totals = Totals::default();
        loop {
            match chunks.recv_timeout(Duration::from_millis(200)) {
                Ok((lane, mut chunk)) => {
                    for r in &chunk {
                        self.histograms.add(r);
                        recent.saturating_record((r.done_ns - r.planned_ns).max(1) as u64);
                        totals.requests += 1;
                        totals.errors += u64::from(!r.succeeded());
                        totals.bytes += r.bytes;
                    }
                    self.table.write(&request::batch(&schema, &chunk).map_err(parquet)?)?;
                    chunk.clear();
                    // The lane may be gone already; then nobody needs the chunk.
                    let _ = self.empty[lane].send(chunk);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = clock::now().0;
            if now - second >= 1_000_000_000 {
                self.live.p50_ns.store(recent.value_at_quantile(0.5), Relaxed);
                self.live.p99_ns.store(recent.value_at_quantile(0.99), Relaxed);
                recent.reset();
                second = now;
            }
            if self.table.rows_in_progress() > 0 && now - committed >= row_group_age_ns(now - start) {
                self.table.commit()?;
                self.histograms.write(&self.hist)?;
                committed = now;
            }
        }
        self.histograms.write(&self.hist)?;
        self.table.close()?;
        Ok(totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorClass, Op, Phase};

    fn request(seq: u64) -> Request {
        let t = seq as i64 * 1000;
        Request {
            seq,
            planned_ns: t,
            issued_ns: t + 10,
            first_byte_ns: if seq.is_multiple_of(7) { Request::NEVER } else { t + 500 },
            done_ns: t + 900,
            offset: 0,
            bytes: 100,
            object: 3,
            stream: 1,
            status: 200,
            phase: Phase::Measure,
            op: Op::Get,
            error: if seq.is_multiple_of(7) { ErrorClass::Reset } else { ErrorClass::None },
        }
    }

    #[test]
    fn every_record_of_every_lane_is_in_the_table() {
        let run = tempfile::tempdir().unwrap();
        for folder in ["tables", "hist"] {
            std::fs::create_dir(run.path().join(folder)).unwrap();
        }
        let mut recorder = Recorder::start(run.path(), 2, Arc::default()).unwrap();
        let threads: Vec<_> = (0..2u64)
            .map(|t| {
                let mut lane = recorder.lane().unwrap();
                std::thread::spawn(move || (0..100_000).for_each(|i| lane.push(request(2 * i + t)).unwrap()))
            })
            .collect();
        assert!(recorder.lane().is_none());
        threads.into_iter().for_each(|t| t.join().unwrap());
        let totals = recorder.finish().unwrap();
        assert_eq!((totals.requests, totals.bytes), (200_000, 20_000_000));
        assert_eq!(totals.errors, 200_000_u64.div_ceil(7));
        let file = std::fs::File::open(run.path().join("tables/requests.parquet")).unwrap();
        let metadata = parquet::file::metadata::ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
        assert_eq!(metadata.file_metadata().num_rows(), 200_000);
        assert!(run.path().join("hist/measure.latency_planned.hdr").exists());
    }
}
