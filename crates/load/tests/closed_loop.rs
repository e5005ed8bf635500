//! A closed loop sends exactly what it was asked for, and no faster than its connections are answered.
#![allow(clippy::unwrap_used)]

mod stage;

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;

use iojoule_load::{ClosedConfig, Control, Summary, closed};
use serde_json::{Value, json};
use stage::{HELLO, MS, Row, Stage, always, request, server};

fn run(url: &str, more: Value) -> (Summary, Vec<Row>) {
    let stage = Stage::new();
    let mut config = json!({"url": url, "run": stage.path(), "paths": ["/a", "/b", "/c"], "connections": 4});
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    let config: ClosedConfig = serde_json::from_value(config).unwrap();
    (closed(&config, Arc::default(), &Control::new()).unwrap(), stage.rows())
}

#[test]
fn so_many_fetches_are_so_many_rows_on_so_many_connections() {
    for (keepalive, threads) in [(true, 1), (true, 2), (false, 1)] {
        let url = server(|mut stream, _| {
            while let Some(head) = request(&mut stream) {
                let _ = stream.write_all(HELLO);
                if head.contains("Connection: close") {
                    return;
                }
            }
        });
        let (summary, rows) = run(&url, json!({"fetches": 500, "keepalive": keepalive, "threads": threads}));
        assert_eq!((summary.requests, summary.succeeded, rows.len()), (500, 500, 500));
        let connections = if keepalive { 4 } else { 500 };
        assert_eq!(summary.connections_opened, connections);
        assert!(summary.max_in_flight <= 4);
        assert!(rows.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    }
}

#[test]
fn the_warm_up_is_not_part_of_the_fetches() {
    let (summary, rows) = run(&server(always(HELLO)), json!({"fetches": 50, "warmup_ns": 50 * MS}));
    assert_eq!(rows.iter().filter(|row| row.phase == "measure").count(), 50);
    assert!(rows.iter().any(|row| row.phase == "warmup"));
    assert_eq!(summary.phases[0].phase, "warmup");
}

#[test]
fn a_duration_ends_the_loop() {
    let (summary, rows) = run(&server(always(HELLO)), json!({"duration_ns": 100 * MS}));
    let [span] = summary.phases.as_slice() else { panic!("{:?}", summary.phases) };
    assert_eq!(span.end_ns - span.begin_ns, 100 * MS);
    assert!(rows.iter().all(|row| row.issued_ns < span.end_ns + 50 * MS && row.error.is_empty()));
}

#[test]
fn a_dead_server_is_asked_again_but_not_hammered() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (summary, _) = run(&url, json!({"duration_ns": 200 * MS}));
    assert_eq!(summary.errors["connect"], summary.requests);
    // Four connections, a hundred attempts a second each.
    assert!((4..=4 * 21).contains(&summary.requests), "{}", summary.requests);
}
