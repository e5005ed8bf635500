//! The server above a machine whose answers can be worked out by hand: every request takes ten milliseconds, all at
//! once.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use iojoule_trace::weblog::{PrepareOptions, prepare, select::Keep};
use proptest::prelude::*;

use super::*;
use crate::{Control, Ending, Listener, Machine, run};

const MS: i64 = 1_000_000;

#[derive(Default)]
struct TenMilliseconds {
    under_way: VecDeque<(ModelNs, Completion)>,
    seen: Vec<Request>,
}

impl Machine for TenMilliseconds {
    fn submit(&mut self, now: ModelNs, request: Request) {
        let done = now + Nanos(10 * MS);
        self.seen.push(request);
        self.under_way.push_back((done, Completion { request, arrived: now, started: now, done, served: true }));
    }
    fn next_event(&self) -> Option<ModelNs> {
        self.under_way.front().map(|(at, _)| *at)
    }
    fn advance(&mut self, now: ModelNs, done: &mut Vec<Completion>) {
        while self.under_way.front().is_some_and(|(at, _)| *at <= now) {
            done.extend(self.under_way.pop_front().map(|(_, completion)| completion));
        }
    }
    fn outstanding(&self) -> u64 {
        self.under_way.len() as u64
    }
}

struct Nobody;

impl<M> Listener<M> for Nobody {
    fn completed(&mut self, _: &Completion) -> Result<(), SimError> {
        Ok(())
    }
}

/// A line of a log: second of the hour, method, path, status, size.
fn line(second: u32, method: &str, path: &str, status: u16, size: &str) -> String {
    let (minutes, seconds) = (second / 60, second % 60);
    format!("h - - [01/Jan/2026:00:{minutes:02}:{seconds:02} +0000] \"{method} {path} HTTP/1.1\" {status} {size}\n")
}

/// Prepares the log, simulates it, and returns the report and what the machine was asked.
fn served(log: &str, change: impl FnOnce(&mut WebLoad), speed: f64) -> (WebReport, Vec<Request>) {
    let folder = tempfile::tempdir().unwrap();
    let (raw, replay) = (folder.path().join("log"), folder.path().join("day.parquet"));
    std::fs::write(&raw, log).unwrap();
    let options = PrepareOptions {
        paths: vec![raw],
        output: replay.clone(),
        force: false,
        keep: Keep::All,
        statuses: None,
        since: None,
        until: None,
        hours: None,
        cut: Vec::new(),
        names: iojoule_trace::weblog::names::Names::Plain,
        key_file: None,
        spread: false,
        seed: 0,
        allow_damaged: false,
    };
    prepare(&options, &AtomicBool::new(false)).unwrap();
    let mut load = WebLoad {
        replay,
        objects: None,
        tree: None,
        spread_bytes: Some(4 << 30),
        fragment_bytes: None,
        memory_bytes: 1 << 30,
        read_bytes: 128 * 1024,
        reads_ahead: 1,
        metadata: true,
        access_times_ns: None,
    };
    change(&mut load);
    let mut source = WebSource::open(&load, 1 << 24, speed).unwrap();
    let mut machine = TenMilliseconds::default();
    let (stop, control) = (AtomicBool::new(false), Control::default());
    run(&mut machine, &mut source, &Ending::default(), &mut Nobody, &stop, &control).unwrap();
    (source.web().unwrap().unwrap(), machine.seen)
}

fn sectors(seen: &[Request]) -> Vec<u32> {
    seen.iter().map(|request| request.sectors).collect()
}

#[test]
fn a_file_is_read_after_its_metadata_in_reads_of_128_kib_and_the_second_time_from_memory() {
    let log = line(0, "GET", "/a.zip", 200, "300000") + &line(60, "GET", "/a.zip", 200, "300000");
    let (report, seen) = served(&log, |_| (), 1.0);
    // 300,000 bytes are 74 blocks: 32, 32 and 10.
    assert_eq!(sectors(&seen), [8, 256, 256, 80]);
    assert!(seen.windows(2).all(|pair| pair[0].lba.0 + u64::from(pair[0].sectors) == pair[1].lba.0));
    assert_eq!((report.latency_ms.max, report.completion_ms.max), (Some(20.0), Some(40.0)));
    assert_eq!((report.latency_ms.mean, report.completion_ms.mean), (Some(10.0), Some(20.0)));
    assert_eq!((report.outcomes.data, report.outcomes.from_memory), (2, 1));
    assert_eq!((report.blocks, report.blocks_from_memory), (150, 75));
}

#[test]
fn reads_ahead_are_under_way_together() {
    let log = line(0, "GET", "/a.zip", 200, "300000");
    let (report, seen) = served(&log, |load| load.reads_ahead = 2, 1.0);
    assert_eq!(sectors(&seen), [8, 256, 256, 80]);
    assert_eq!((report.latency_ms.max, report.completion_ms.max), (Some(20.0), Some(30.0)));
}

#[test]
fn head_304_and_failures_read_no_data() {
    let log = line(0, "GET", "/a.html", 304, "-")
        + &line(1, "HEAD", "/b.html", 200, "-")
        + &line(2, "GET", "/c.html", 404, "196")
        + &line(3, "POST", "/d.html", 200, "5")
        + &line(4, "GET", "/e.html", 500, "612");
    let (report, seen) = served(&log, |_| (), 1.0);
    assert_eq!(sectors(&seen), [8, 8]);
    assert_eq!((report.outcomes.metadata, report.outcomes.nothing, report.outcomes.data), (2, 3, 0));
    assert_eq!((report.latency_ms.count, report.latency_ms.max), (2, Some(10.0)));
    let (report, seen) = served(&log, |load| load.metadata = false, 1.0);
    assert!(seen.is_empty() && report.outcomes.from_memory == 2);
}

#[test]
fn an_answer_cut_short_reads_what_was_sent() {
    let log = line(0, "GET", "/a.zip", 200, "300000") + &line(9, "GET", "/b.zip", 206, "5000");
    let (_, seen) = served(&log, |load| load.metadata = false, 1.0);
    // Of b.zip no whole answer is logged: it has the median size of the archives.
    assert_eq!(sectors(&seen), [256, 256, 80, 16]);
}

#[test]
fn without_memory_every_request_reads() {
    let log: String = (0..5).map(|s| line(s, "GET", "/a.html", 200, "4096")).collect();
    let (report, seen) = served(&log, |load| load.memory_bytes = 0, 1.0);
    assert_eq!((seen.len(), report.outcomes.from_memory), (10, 0));
}

#[test]
fn a_log_played_eight_times_as_fast_has_the_same_reads_in_an_eighth_of_the_time() {
    let log: String = (0..40).map(|s| line(s * 8, "GET", &format!("/{s}.html"), 200, "9000")).collect();
    let last = |speed| {
        let (report, seen) = served(&log, |_| (), speed);
        (report.reads, seen.len(), report.latency_ms.max)
    };
    assert_eq!(last(1.0), last(8.0));
}

#[test]
fn a_file_that_is_read_has_its_time_of_access_written_after_its_while_once() {
    let log: String = (0..10).map(|s| line(s, "GET", "/a.html", 200, "100")).collect();
    let (report, seen) = served(&log, |load| load.access_times_ns = Some(30_000_000_000), 1.0);
    let writes: Vec<&Request> = seen.iter().filter(|request| request.op == Op::Write).collect();
    assert_eq!((writes.len(), report.access_time_writes), (1, 1));
    assert!(writes[0].asynchronous && writes[0].lba == seen[0].lba && writes[0].sectors == 8);
}

#[test]
fn a_log_that_is_no_prepared_table_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("log.parquet");
    std::fs::write(&raw, line(0, "GET", "/", 200, "1")).unwrap();
    let load: WebLoad = toml::from_str(&format!("replay = {raw:?}\nobjects = {raw:?}")).unwrap();
    let error = WebSource::open(&load, 1000, 1.0).err().unwrap().to_string();
    assert!(error.contains("log.parquet"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn with_memory_for_all_every_block_that_is_needed_is_read_and_none_twice_by_requests_apart(
        visits in prop::collection::vec((0_u8..6, 1_u32..400_000), 1..40),
        fragment in prop::option::of(1_u64..9), ahead in 1_u32..4,
    ) {
        let log: String = visits
            .iter()
            .enumerate()
            .map(|(s, (file, bytes))| line(s as u32 * 10, "GET", &format!("/{file}.zip"), 200, &bytes.to_string()))
            .collect();
        let (report, seen) = served(&log, |load| {
            load.fragment_bytes = fragment.map(|blocks| blocks * BLOCK);
            load.reads_ahead = ahead;
        }, 1.0);
        let mut blocks = HashSet::new();
        for request in &seen {
            for sector in (request.lba.0..request.lba.0 + u64::from(request.sectors)).step_by(8) {
                prop_assert!(blocks.insert(sector));
            }
        }
        let mut longest = std::collections::BTreeMap::new();
        visits.iter().for_each(|(file, bytes)| {
            let longest = longest.entry(file).or_insert(0);
            *longest = u64::from(*bytes).max(*longest);
        });
        let needed: u64 = longest.values().map(|bytes| 1 + bytes.div_ceil(BLOCK)).sum();
        prop_assert_eq!(blocks.len() as u64, needed);
        prop_assert_eq!(report.outcomes.data, visits.len() as u64);
        prop_assert_eq!(report.blocks - report.blocks_from_memory, needed);
    }
}
