//! A replay keeps its plan: every request of the trace is one row, at its own absolute time.
#![allow(clippy::unwrap_used)]

mod stage;

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use iojoule_load::{Control, LoadError, Wish, replay};
use proptest::prelude::*;
use serde_json::json;
use stage::{HELLO, MS, Stage, always, once, request, server};

fn assert_each_once(rows: &[stage::Row], n: usize) {
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), (0..n as u64).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_request_is_one_row_whatever_the_policy_and_the_server(
        gaps in prop::collection::vec(0..2 * MS, 1..80),
        connections in 1u32..6,
        threads in 1u32..3,
        clients in 1u32..7,
        mode in prop::sample::select(vec!["per_request", "per_client", "pool"]),
        at_cap in prop::sample::select(vec!["queue", "drop"]),
        waiting in prop::sample::select(vec!["sleep", "hybrid", "spin"]),
        bad in 2usize..9,
    ) {
        // Every so often a connection is closed at once, or answers once and closes.
        let url = server(move |mut stream, number| match number % bad {
            0 => {}
            1 => once(HELLO)(stream, number),
            _ => while request(&mut stream).is_some() {
                let _ = stream.write_all(HELLO);
            },
        });
        let stage = Stage::new();
        let mut at = 0;
        let plan: Vec<_> = gaps.iter().enumerate().map(|(i, gap)| { at += gap; (at, i as u32 % clients, "GET", "/") }).collect();
        stage.trace(&plan);
        let threads = threads.min(connections);
        let (summary, rows) = stage.replay(&url, json!({
            "connections": connections, "threads": threads, "connection_mode": mode, "at_cap": at_cap, "waiting": waiting,
        }));
        assert_each_once(&rows, plan.len());
        for (row, plan) in rows.iter().zip(&plan) {
            prop_assert_eq!(row.planned_ns, summary.epoch_ns + plan.0);
            prop_assert!(row.issued_ns >= row.planned_ns && row.done_ns >= row.issued_ns);
        }
        prop_assert!(summary.max_open <= u64::from(connections));
        prop_assert_eq!(summary.dropped, rows.iter().filter(|row| row.error == "dropped").count() as u64);
        prop_assert!(at_cap == "drop" || summary.dropped == 0);
        prop_assert_eq!(summary.succeeded, rows.iter().filter(|row| row.error.is_empty()).count() as u64);
    }
}

#[test]
fn a_slow_start_does_not_move_the_plan_of_what_follows() {
    let url = server(|mut stream, number| {
        if number == 0 {
            std::thread::sleep(Duration::from_millis(200));
        }
        always(HELLO)(stream.try_clone().unwrap(), number);
        let _ = stream.flush();
    });
    let stage = Stage::new();
    stage.steady_trace(50, 2 * MS, 1);
    let (summary, rows) = stage.replay(&url, json!({"connections": 1}));
    for row in &rows {
        assert_eq!(row.planned_ns - summary.epoch_ns, row.seq as i64 * 2 * MS);
    }
    assert!(summary.queued_at_cap > 0 && rows.iter().all(|row| row.error.is_empty()));
}

#[test]
fn speedup_divides_trace_time() {
    let stage = Stage::new();
    stage.steady_trace(5, 40 * MS, 1);
    let (summary, rows) = stage.replay(&server(always(HELLO)), json!({"speedup": 4.0}));
    assert!(rows.iter().all(|row| row.planned_ns - summary.epoch_ns == row.seq as i64 * 10 * MS));
}

#[test]
fn warm_up_and_cool_down_are_phases_of_the_trace() {
    let stage = Stage::new();
    stage.steady_trace(11, 10 * MS, 1);
    let spans = json!({"warmup_ns": 30 * MS, "cooldown_ns": 20 * MS, "speedup": 2.0});
    let (summary, rows) = stage.replay(&server(always(HELLO)), spans);
    let phases: Vec<_> = rows.iter().map(|row| row.phase.as_str()).collect();
    assert_eq!(phases, [vec!["warmup"; 3], vec!["measure"; 5], vec!["cooldown"; 3]].concat());
    let begins: Vec<_> = summary.phases.iter().map(|p| (p.phase, p.begin_ns - summary.epoch_ns)).collect();
    assert_eq!(begins, [("warmup", 0), ("measure", 15 * MS), ("cooldown", 40 * MS)]);
}

#[test]
fn at_the_cap_drop_records_what_was_not_sent() {
    let url = server(|mut stream, _| {
        request(&mut stream);
        std::thread::sleep(Duration::from_millis(300));
        let _ = stream.write_all(HELLO);
    });
    let stage = Stage::new();
    stage.steady_trace(10, MS, 10);
    let (summary, rows) = stage.replay(&url, json!({"connections": 2, "at_cap": "drop"}));
    assert_eq!((summary.dropped, summary.succeeded), (8, 2));
    assert!(rows[2..].iter().all(|row| row.error == "dropped" && row.first_byte_ns.is_none()));
}

#[test]
fn a_clients_requests_share_a_connection_and_others_do_not() {
    let stage = Stage::new();
    stage.steady_trace(40, MS, 4);
    let (summary, rows) = stage.replay(&server(always(HELLO)), json!({"connection_mode": "per_client"}));
    assert_eq!(summary.connections_opened, 4);
    assert!(rows.iter().all(|row| row.stream == rows[row.seq as usize % 4].stream));
}

#[test]
fn idle_connections_make_room_at_the_cap() {
    let stage = Stage::new();
    stage.steady_trace(20, 5 * MS, 20);
    let config = json!({"connection_mode": "per_client", "connections": 3, "at_cap": "drop"});
    let (summary, rows) = stage.replay(&server(always(HELLO)), config);
    assert!(rows.iter().all(|row| row.error.is_empty()));
    assert!(summary.max_open <= 3);
}

#[test]
fn a_server_that_dies_and_comes_back_costs_only_its_absence() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = |listener: TcpListener, for_ms: u64| {
        listener.set_nonblocking(true).unwrap();
        let end = std::time::Instant::now() + Duration::from_millis(for_ms);
        while std::time::Instant::now() < end {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false).unwrap();
                    once(HELLO)(stream, 0)
                }
                Err(_) => std::thread::sleep(Duration::from_micros(100)),
            }
        }
    };
    let life = std::thread::spawn(move || {
        serve(listener, 300);
        std::thread::sleep(Duration::from_millis(300));
        let again = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        again.set_reuse_address(true).unwrap();
        again.bind(&address.into()).unwrap();
        again.listen(128).unwrap();
        serve(again.into(), 1500);
    });
    let stage = Stage::new();
    stage.steady_trace(600, 2 * MS, 10);
    let (_, rows) = stage.replay(&format!("http://{address}"), json!({"timeout_ns": 500 * MS}));
    life.join().unwrap();
    assert_each_once(&rows, 600);
    let failed = rows.iter().filter(|row| !row.error.is_empty()).count();
    assert!((20..500).contains(&failed), "{failed}");
    assert!(rows[..20].iter().chain(&rows[580..]).all(|row| row.error.is_empty()));
}

#[test]
fn asked_to_finish_it_waits_for_what_is_in_flight_and_tells_what_was_not_played() {
    let url = server(always(HELLO));
    let stage = Stage::new();
    stage.steady_trace(1000, 10 * MS, 1);
    for wish in [Wish::Finish, Wish::Now] {
        let _ = std::fs::remove_file(stage.path().join("tables/requests.parquet"));
        let control = Control::new();
        let summary = std::thread::scope(|scope| {
            let load = scope.spawn(|| replay(&stage.config(&url, json!({})), Arc::default(), &control));
            std::thread::sleep(Duration::from_millis(200));
            control.ask(wish);
            load.join().unwrap().unwrap()
        });
        let rows = stage.rows();
        assert_each_once(&rows, rows.len());
        assert_eq!(summary.unplayed + summary.requests, 1000);
        assert!(summary.unplayed > 900 && !rows.is_empty());
    }
}

#[test]
fn a_table_that_is_out_of_order_is_refused_where_it_is() {
    let stage = Stage::new();
    stage.trace(&[(0, 0, "GET", "/"), (5, 0, "GET", "/"), (4, 0, "GET", "/")]);
    let error = replay(&stage.config(&server(always(HELLO)), json!({})), Arc::default(), &Control::new()).unwrap_err();
    assert!(matches!(&error, LoadError::Table { reason, .. } if reason.contains("row 2")), "{error}");
}

#[test]
fn a_configuration_nobody_can_run_names_its_key() {
    let stage = Stage::new();
    stage.steady_trace(2, MS, 1);
    for (more, key) in [
        (json!({"speedup": 0.0}), "speedup"),
        (json!({"connections": 0}), "connections"),
        (json!({"timeout_ns": -1}), "timeout_ns"),
        (json!({"warmup_ns": 5 * MS}), "warmup_ns"),
        (json!({"url": "gopher://x"}), "url"),
        (json!({"until_ns": 0}), "replay"),
    ] {
        let error = replay(&stage.config("http://127.0.0.1:1", more), Arc::default(), &Control::new()).unwrap_err();
        assert!(error.to_string().starts_with(key), "{error}");
    }
    let many = stage.config("http://127.0.0.1:1", json!({"connections": 4_000_000_000u32}));
    assert!(matches!(replay(&many, Arc::default(), &Control::new()), Err(LoadError::Host { .. })));
}
