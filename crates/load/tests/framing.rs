//! Answers in every framing of HTTP/1.1 arrive whole, whichever way the network cuts them.
#![allow(clippy::unwrap_used)]

mod stage;

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use serde_json::json;
use stage::{MS, Stage, always, once, request, server};

#[test]
fn a_head_and_chunks_that_come_in_pieces_are_one_answer() {
    const ANSWER: &[u8] =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nT: t\r\n\r\n";
    let url = server(|mut stream, _| {
        while request(&mut stream).is_some() {
            for piece in ANSWER.chunks(7) {
                let _ = stream.write_all(piece);
                std::thread::sleep(Duration::from_micros(300));
            }
        }
    });
    let stage = Stage::new();
    stage.steady_trace(3, MS, 1);
    let (summary, rows) = stage.replay(&url, json!({"connection_mode": "pool"}));
    assert!(rows.iter().all(|row| row.error.is_empty() && row.bytes == 7), "{rows:?}");
    assert!(summary.connections_opened <= 3);
}

#[test]
fn a_body_longer_than_any_buffer_is_counted_to_the_byte() {
    const SIZE: usize = 30_000_001;
    let url = server(|mut stream, _| {
        while request(&mut stream).is_some() {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
            let _ = stream.write_all(&vec![7; SIZE]);
        }
    });
    let stage = Stage::new();
    stage.steady_trace(3, MS, 1);
    let (summary, rows) = stage.replay(&url, json!({"connection_mode": "per_client", "timeout_ns": 20_000 * MS}));
    assert!(rows.iter().all(|row| row.error.is_empty() && row.bytes == SIZE as u64), "{rows:?}");
    assert_eq!(summary.connections_opened, 1);
}

#[test]
fn an_answer_without_length_ends_with_the_connection() {
    let stage = Stage::new();
    stage.steady_trace(4, MS, 2);
    let (_, rows) =
        stage.replay(&server(once(b"HTTP/1.0 200 OK\r\n\r\nabc")), json!({"connection_mode": "per_client"}));
    assert!(rows.iter().all(|row| row.error.is_empty() && row.bytes == 3), "{rows:?}");
}

#[test]
fn methods_go_out_as_logged_and_head_has_no_body() {
    let url = server(|mut stream, _| {
        while let Some(head) = request(&mut stream) {
            let whole = head.starts_with("HEAD /x ")
                || (head.starts_with("POST /x ") && head.contains("Content-Length: 0"))
                || head.starts_with("PROPFIND /x ");
            let _ = write!(stream, "HTTP/1.1 {} -\r\nContent-Length: 2\r\n\r\n", if whole { 200 } else { 400 });
            if !head.starts_with("HEAD") {
                let _ = stream.write_all(b"ab");
            }
        }
    });
    let stage = Stage::new();
    stage.trace(&[(0, 0, "HEAD", "/x"), (0, 0, "POST", "/x"), (0, 0, "PROPFIND", "/x")]);
    let (_, rows) = stage.replay(&url, json!({"connection_mode": "per_client"}));
    let came: Vec<_> = rows.iter().map(|row| (row.error.as_str(), row.bytes)).collect();
    assert_eq!(came, [("", 0), ("", 2), ("", 2)]);
}

#[test]
fn an_interim_answer_is_not_the_answer() {
    let url =
        server(always(b"HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"));
    let stage = Stage::new();
    stage.steady_trace(2, MS, 1);
    let (_, rows) = stage.replay(&url, json!({}));
    assert!(rows.iter().all(|row| row.status == 200 && row.bytes == 1));
}

#[test]
fn a_request_asks_to_close_only_where_its_connection_is_its_own() {
    for (mode, closes) in [("per_request", true), ("per_client", false), ("pool", false)] {
        let url = server(move |mut stream, _| {
            while let Some(head) = request(&mut stream) {
                let right = head.contains("Connection: close") == closes && head.contains("Host: other.example\r\n");
                let _ = write!(stream, "HTTP/1.1 {} -\r\nContent-Length: 0\r\n\r\n", if right { 200 } else { 400 });
                if closes {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
        });
        let stage = Stage::new();
        stage.steady_trace(2, MS, 1);
        let (_, rows) = stage.replay(&url, json!({"connection_mode": mode, "host": "other.example"}));
        assert!(rows.iter().all(|row| row.status == 200), "{mode}");
    }
}
