//! A closed loop sends exactly what it was asked for, where it was asked to, on either engine.
#![allow(clippy::unwrap_used)]

mod block_stage;

use std::collections::{HashMap, HashSet};

use block_stage::{MS, Row, Stage};
use iojoule_load::{Control, Wish};
use serde_json::json;

fn outstanding(rows: &[Row]) -> usize {
    let begin = rows.iter().map(|row| (row.issued_ns, 1));
    let mut edges: Vec<(i64, i32)> = begin.chain(rows.iter().map(|row| (row.done_ns, -1))).collect();
    edges.sort();
    let running = edges.iter().scan(0, |now, edge| {
        *now += edge.1;
        Some(*now)
    });
    running.max().unwrap() as usize
}

#[test]
fn so_many_requests_are_so_many_rows_inside_the_file_on_whole_blocks() {
    for engine in ["io_uring", "threads"] {
        let stage = Stage::new();
        let work = json!({"queue_depth": 8, "mix": {"write": 0.3, "trim": 0.1}});
        let (summary, rows) = stage.run(work, json!({"requests": 5000, "engine": engine}));
        assert_eq!((summary.requests, summary.succeeded, rows.len()), (5000, 5000, 5000));
        assert_eq!(serde_json::to_value(summary.engine).unwrap(), engine);
        let seqs: Vec<_> = rows.iter().map(|row| row.seq).collect();
        assert_eq!(seqs, (0..5000).collect::<Vec<_>>());
        assert!(rows.iter().all(|row| row.offset % 4096 == 0 && row.offset + 4096 <= 1 << 20 && row.bytes == 4096));
        assert!(rows.iter().all(|row| row.planned_ns == row.issued_ns && row.issued_ns <= row.done_ns));
        assert!(outstanding(&rows) <= 8, "{}", outstanding(&rows));
        let count = |op| rows.iter().filter(|row| row.op == op).count() as f64 / 5000.0;
        for (op, share) in [("read", 0.6), ("write", 0.3), ("trim", 0.1)] {
            // Six standard deviations of a share of 5000 draws.
            let margin = 6.0 * f64::sqrt(share * (1.0 - share) / 5000.0);
            assert!((count(op) - share).abs() < margin, "{op}: {}", count(op));
        }
    }
}

#[test]
fn both_engines_send_the_same_requests_and_leave_the_same_bytes() {
    let sent: Vec<_> = ["io_uring", "threads"]
        .map(|engine| {
            let stage = Stage::new();
            let work = json!({"mix": {"write": 0.5}, "sizes": [{"bytes": 4096}, {"bytes": 8192, "weight": 0.5}]});
            let (_, rows) = stage.run(work, json!({"requests": 1000, "engine": engine, "seed": 7}));
            let asked: Vec<_> = rows.into_iter().map(|row| (row.seq, row.op, row.offset, row.bytes)).collect();
            (asked, std::fs::read(stage.0.path().join("file")).unwrap())
        })
        .into();
    assert_eq!(sent[0].0, sent[1].0);
    assert!(sent[0].1 == sent[1].1, "the files differ");
}

#[test]
fn each_job_has_a_queue_of_its_own() {
    let stage = Stage::new();
    let (summary, rows) = stage.run(json!({"jobs": 3, "queue_depth": 4}), json!({"requests": 3000}));
    assert_eq!((summary.jobs, summary.queue_depth, rows.len()), (3, 4, 3000));
    assert!(summary.max_in_flight <= 12);
    let seqs: HashSet<_> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(seqs.len(), 3000);
    for job in 0..3 {
        let own: Vec<_> = rows.iter().filter(|row| row.stream == job).cloned().collect();
        assert!(own.iter().all(|row| row.seq % 3 == u64::from(job)));
        assert!(own.is_empty() || outstanding(&own) <= 4);
    }
}

#[test]
fn several_files_are_one_address_space_and_no_request_crosses_an_edge() {
    let stage = Stage::new();
    let sizes = [40_960_usize, 6_000, 20_480, 1_000];
    let files: Vec<_> =
        sizes.iter().enumerate().map(|(i, size)| json!({"path": stage.file(&format!("f{i}"), *size)})).collect();
    let target = json!({"kind": "files", "files": files, "direct": false, "writable": false});
    let work = json!({"pattern": {"kind": "sequential"}});
    let (summary, rows) = stage.run(work, json!({"requests": 16, "target": target}));
    assert_eq!(summary.target_bytes, sizes.iter().sum::<usize>() as u64);
    let walk: Vec<_> = rows.iter().map(|row| (row.object, row.offset / 4096)).collect();
    let expected: Vec<_> = (0..10).map(|i| (0, i)).chain([(1, 0)]).chain((0..5).map(|i| (2, i))).collect();
    assert_eq!(walk, expected);
    assert!(rows.iter().all(|row| row.error.is_empty()));
}

#[test]
fn a_region_keeps_the_load_inside() {
    let stage = Stage::new();
    let (_, rows) = stage.run(json!({"region": {"offset": 65_536, "bytes": 32_768}}), json!({"requests": 500}));
    let offsets: HashSet<_> = rows.iter().map(|row| row.offset).collect();
    assert_eq!(offsets, (16..24).map(|i| i * 4096).collect());
}

#[test]
fn every_n_writes_of_a_job_a_flush_follows() {
    for data_only in [false, true] {
        let stage = Stage::new();
        let work = json!({"mix": {"write": 1.0}, "flush": {"every": 10, "data_only": data_only}, "queue_depth": 4});
        let (_, rows) = stage.run(work, json!({"requests": 550}));
        let count: HashMap<_, _> = rows.iter().fold(HashMap::new(), |mut count, row| {
            *count.entry(row.op.as_str()).or_insert(0) += 1;
            count
        });
        assert_eq!(count["write"] + count["flush"], 550);
        assert!((count["write"] / 10 - 1..=count["write"] / 10).contains(&count["flush"]), "{count:?}");
        let flush = rows.iter().find(|row| row.op == "flush").unwrap();
        assert_eq!((flush.bytes, flush.error.as_str()), (0, ""));
        assert!(rows.iter().filter(|row| row.op == "write" && row.done_ns <= flush.issued_ns).count() >= 10);
    }
}

#[test]
fn a_trim_punches_a_hole_and_leaves_the_size() {
    let stage = Stage::new();
    let (_, rows) = stage.run(json!({"mix": {"trim": 1.0}, "pattern": {"kind": "sequential"}}), json!({"requests": 5}));
    assert!(rows.iter().all(|row| row.op == "trim" && row.error.is_empty()));
    let bytes = std::fs::read(stage.0.path().join("file")).unwrap();
    assert_eq!(bytes.len(), 1 << 20);
    assert!(bytes[..5 * 4096].iter().all(|b| *b == 0) && bytes[5 * 4096..].iter().all(|b| *b == 0x5a));
}

#[test]
fn the_measure_begins_when_told_and_lasts_as_long_as_asked() {
    let stage = Stage::new();
    let config = stage.config(json!({}), json!({"measure_when_told": true, "duration_ns": 50 * MS}));
    let control = Control::new();
    let told = std::thread::scope(|scope| {
        let teller = scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(80));
            // Ahead of the clock, as whoever tells cannot be quicker than the load.
            let from = iojoule_record::clock::now().0 + 30 * MS;
            control.measure(from);
            from
        });
        let (summary, rows) = stage.try_run(&config, &control).unwrap();
        let told = teller.join().unwrap();
        let [warmup, measure] = summary.phases.as_slice() else { panic!("{:?}", summary.phases) };
        assert_eq!((warmup.end_ns, measure.begin_ns, measure.end_ns), (told, told, told + 50 * MS));
        assert!(rows.iter().any(|row| row.phase == "warmup") && rows.iter().any(|row| row.phase == "measure"));
        let beyond = rows.iter().filter(|row| row.planned_ns >= told + 50 * MS).count();
        assert!(beyond <= 1, "{beyond}: the one that was chosen before the end");
        assert!(rows.iter().all(|row| row.phase == "measure" || row.planned_ns < told));
        told
    });
    assert!(told > 0);
}

#[test]
fn an_end_asked_for_leaves_no_request_without_a_row() {
    for wish in [Wish::Finish, Wish::Now] {
        let stage = Stage::new();
        let config = stage.config(json!({"queue_depth": 16}), json!({"duration_ns": 60_000 * MS}));
        let control = Control::new();
        let (summary, rows) = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                control.ask(wish);
            });
            stage.try_run(&config, &control).unwrap()
        });
        assert_eq!(summary.requests as usize, rows.len());
        let seqs: Vec<_> = rows.iter().map(|row| row.seq).collect();
        assert_eq!(seqs, (0..rows.len() as u64).collect::<Vec<_>>());
        let stopped = rows.iter().filter(|row| row.error == "client_stop").count();
        assert!(stopped <= 16 && (wish == Wish::Now || stopped == 0));
    }
}
