//! The writer thread: takes chunks from every lane, writes row groups, sums up histograms and live figures.
//! All statistics are made here, off the engine's path.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::histogram::{self, Histograms, Kind};
use crate::interval_log::IntervalLogs;
use crate::lane::{Backlog, CHUNK, FLUSH_NS};
use crate::request::Request;
use crate::requests::RequestTable;
use crate::{Lane, Live, RecordError, clock};

/// Chunks each lane starts with: 160,000 records before the hot path would allocate.
const SPARE_CHUNKS: usize = 40;
/// Bytes of records that may wait for the writer before the engine does: 13 million records.
const BACKLOG_BYTES: usize = 1 << 30;
const SECOND_NS: i64 = 1_000_000_000;

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
    /// How often an engine thread had to wait for the writer, and for how long in all: recording bent the load.
    pub stalls: u64,
    pub stalled_ns: u64,
    /// Processor time of the writer thread.
    pub cpu_s: f64,
}

type Chunks = (usize, Vec<Request>);

/// Owns the writer thread of one run's `requests` table.
pub struct Recorder {
    full: Sender<Chunks>,
    returns: Vec<Receiver<Vec<Request>>>,
    lanes: usize,
    writer: JoinHandle<Result<Totals, RecordError>>,
    failed: Arc<AtomicBool>,
    backlog: Arc<Backlog>,
}

impl Recorder {
    /// Opens `<run>/tables/requests.parquet` and starts the writer for `lanes` engine threads. The folders
    /// `tables` and `hist` must exist.
    pub fn start(run: &Path, lanes: usize, live: Arc<Live>) -> Result<Self, RecordError> {
        Self::with_backlog(run, lanes, live, BACKLOG_BYTES)
    }

    /// [`Recorder::start`] with another bound on the bytes of records that wait for the writer.
    pub fn with_backlog(run: &Path, lanes: usize, live: Arc<Live>, bytes: usize) -> Result<Self, RecordError> {
        let table = RequestTable::create(&run.join("tables/requests.parquet"))?;
        let backlog = Arc::new(Backlog::new(bytes));
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
        let hist = run.join("hist");
        let logs = IntervalLogs::new(&hist);
        let second = logs.base_ns();
        let totals = Totals::default();
        let writer = Writer { table, empty, live, hist, histograms: Histograms::default(), logs, second, totals };
        let flag = failed.clone();
        let writer = std::thread::Builder::new()
            .name("iojoule-writer".into())
            .spawn(move || writer.run(chunks).inspect_err(|_| flag.store(true, Relaxed)))
            .map_err(|e| RecordError::io(run, e))?;
        Ok(Self { full, returns, lanes, writer, failed, backlog })
    }

    /// The next engine thread's lane; there are as many as `start` was told.
    pub fn lane(&mut self) -> Option<Lane> {
        let empty = self.returns.pop()?;
        let index = self.returns.len();
        debug_assert!(index < self.lanes);
        Some(Lane::new(index, self.full.clone(), empty, self.backlog.clone()))
    }

    /// True once the writer has met an error (a full disk, say): the engine should stop, and `finish` tells why.
    pub fn failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// Waits for the writer to write what all lanes handed over, and closes the table. Every lane must have
    /// been dropped.
    pub fn finish(self) -> Result<Totals, RecordError> {
        drop((self.full, self.returns));
        let totals = self.writer.join().map_err(|_| RecordError::WriterGone)??;
        let (stalls, stalled_ns) = (self.backlog.stalls.load(Relaxed), self.backlog.stalled_ns.load(Relaxed));
        Ok(Totals { stalls, stalled_ns, ..totals })
    }
}

struct Writer {
    table: RequestTable,
    empty: Vec<Sender<Vec<Request>>>,
    live: Arc<Live>,
    hist: PathBuf,
    histograms: Histograms,
    logs: IntervalLogs,
    /// Start of the second being counted.
    second: i64,
    totals: Totals,
}

impl Writer {
    fn run(mut self, chunks: Receiver<Chunks>) -> Result<Totals, RecordError> {
        let start = clock::now().0;
        let mut committed = start;
        loop {
            match chunks.recv_timeout(Duration::from_millis(200)) {
                Ok((lane, mut chunk)) => {
                    // A chunk belongs to the second of its last request, however long it has waited here.
                    let done = chunk.last().map_or(self.second, |r| r.done_ns);
                    self.end_seconds(done.min(clock::now().0))?;
                    self.take(&chunk)?;
                    chunk.clear();
                    // The lane may be gone already; then nobody needs the chunk.
                    let _ = self.empty[lane].send(chunk);
                }
                // Nothing waits: what lanes still hold is younger than a flush.
                Err(RecvTimeoutError::Timeout) => self.end_seconds(clock::now().0 - 2 * FLUSH_NS)?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = clock::now().0;
            if self.table.rows_in_progress() > 0 && now - committed >= row_group_age_ns(now - start) {
                self.table.commit()?;
                self.histograms.write(&self.hist)?;
                committed = now;
            }
        }
        self.end_second(clock::now().0)?;
        self.histograms.write(&self.hist)?;
        self.table.close()?;
        Ok(Totals { cpu_s: clock::thread_cpu_s(), ..self.totals })
    }

    fn take(&mut self, chunk: &[Request]) -> Result<(), RecordError> {
        self.histograms.add(chunk);
        self.totals.requests += chunk.len() as u64;
        self.totals.errors += chunk.iter().filter(|r| !r.succeeded()).count() as u64;
        self.totals.bytes += chunk.iter().map(|r| r.bytes).sum::<u64>();
        self.table.append(chunk)
    }

    /// Ends the second under way if it lies before `now`; seconds without a request leave no trace.
    fn end_seconds(&mut self, now: i64) -> Result<(), RecordError> {
        let whole = (now - self.second) / SECOND_NS;
        if whole >= 1 {
            self.end_second(self.second + SECOND_NS)?;
            self.second += (whole - 1) * SECOND_NS;
        }
        Ok(())
    }

    fn end_second(&mut self, end: i64) -> Result<(), RecordError> {
        let intervals = self.histograms.end_second();
        self.logs.write(&intervals, self.second, end)?;
        self.second = end;
        let mut all = histogram::empty();
        for interval in intervals.iter().filter(|i| i.kind == Kind::CompletionPlanned) {
            all += &interval.histogram;
        }
        self.live.p50_ns.store(all.value_at_quantile(0.5), Relaxed);
        self.live.p99_ns.store(all.value_at_quantile(0.99), Relaxed);
        Ok(())
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

    fn run_folder() -> tempfile::TempDir {
        let run = tempfile::tempdir().unwrap();
        for folder in ["tables", "hist"] {
            std::fs::create_dir(run.path().join(folder)).unwrap();
        }
        run
    }

    #[test]
    fn every_record_of_every_lane_is_in_the_table() {
        let run = run_folder();
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

    #[test]
    fn a_lane_waits_where_the_writer_is_a_backlog_behind_and_loses_nothing() {
        let run = run_folder();
        let mut recorder = Recorder::with_backlog(run.path(), 1, Arc::default(), 0).unwrap();
        let mut lane = recorder.lane().unwrap();
        // Six times what the ring holds, as fast as memory takes it: more than any writer encodes meanwhile.
        let records = 6 * (SPARE_CHUNKS * CHUNK) as u64;
        let record = request(1);
        (0..records).for_each(|seq| lane.push(Request { seq, ..record }).unwrap());
        drop(lane);
        let totals = recorder.finish().unwrap();
        assert_eq!(totals.requests, records);
        assert!(totals.stalls > 0 && totals.stalled_ns > 0 && totals.cpu_s > 0.0, "{totals:?}");
    }

    #[test]
    fn the_interval_log_has_every_success_of_every_phase_once() {
        use hdrhistogram::serialization::{
            Deserializer,
            interval_log::{IntervalLogIterator, LogEntry},
        };

        let run = run_folder();
        let mut recorder = Recorder::start(run.path(), 1, Arc::default()).unwrap();
        let mut lane = recorder.lane().unwrap();
        let phase = |seq| if seq < 1000 { Phase::Warmup } else { Phase::Measure };
        (0..3000).for_each(|seq| lane.push(Request { phase: phase(seq), ..request(seq) }).unwrap());
        drop(lane);
        recorder.finish().unwrap();
        let log = std::fs::read(run.path().join("hist/completion_planned.hlog")).unwrap();
        let mut counts = std::collections::BTreeMap::new();
        for entry in IntervalLogIterator::new(&log) {
            if let LogEntry::Interval(interval) = entry.unwrap() {
                let packed = base64_decoded(interval.encoded_histogram());
                let histogram = Deserializer::new().deserialize::<u64, _>(&mut packed.as_slice()).unwrap();
                assert!(histogram.equivalent(histogram.max(), 900));
                *counts.entry(interval.tag().unwrap().as_str().to_owned()).or_insert(0) += histogram.len();
            }
        }
        let succeeded = |seqs: std::ops::Range<u64>| seqs.filter(|s| !s.is_multiple_of(7)).count() as u64;
        let told = [("measure".to_owned(), succeeded(1000..3000)), ("warmup".to_owned(), succeeded(0..1000))];
        assert_eq!(counts, told.into());
        assert!(run.path().join("hist/lateness.hlog").exists());
    }

    /// Standard alphabet, padded.
    fn base64_decoded(text: &str) -> Vec<u8> {
        let six =
            |c: u8| b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".iter().position(|b| *b == c);
        let quads = text.as_bytes().chunks(4);
        quads
            .flat_map(|quad| {
                let known: Vec<usize> = quad.iter().filter_map(|c| six(*c)).collect();
                let bits = known.iter().fold(0, |bits, s| bits << 6 | s) << (6 * (4 - known.len()));
                (bits as u32).to_be_bytes()[1..known.len()].to_vec()
            })
            .collect()
    }
}
