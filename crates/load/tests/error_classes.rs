//! Whatever a server does, its requests are recorded with the class that says what it did.
#![allow(clippy::unwrap_used)]

mod stage;

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;
use stage::{HELLO, MS, Row, Stage, always, once, request, server};

const MODES: [&str; 3] = ["per_request", "per_client", "pool"];

/// One request in every connection mode; all must end alike.
fn one(url: &str, timeout_ns: i64) -> Row {
    let rows = MODES.map(|mode| {
        let stage = Stage::new();
        stage.steady_trace(1, 0, 1);
        let (summary, rows) = stage.replay(url, json!({"timeout_ns": timeout_ns, "connection_mode": mode}));
        assert_eq!((summary.requests, rows.len()), (1, 1));
        rows[0].clone()
    });
    assert!(
        rows.iter().all(|row| (&row.error, row.status, row.bytes) == (&rows[0].error, rows[0].status, rows[0].bytes))
    );
    rows[0].clone()
}

#[test]
fn nobody_listening_is_connect() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let row = one(&url, 1000 * MS);
    assert_eq!((row.error.as_str(), row.first_byte_ns, row.status), ("connect", None, 0));
}

#[test]
fn a_full_backlog_is_connect_at_the_timeout() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let _fill: Vec<_> =
        (0..3).map(|_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200))).collect();
    assert_eq!(one(&format!("http://{address}"), 200 * MS).error, "connect");
}

#[test]
fn no_answer_is_timeout() {
    let row = one(&server(|mut stream, _| while request(&mut stream).is_some() {}), 100 * MS);
    assert_eq!((row.error.as_str(), row.first_byte_ns), ("timeout", None));
    assert!(row.done_ns - row.issued_ns >= 100 * MS);
}

#[test]
fn one_byte_a_second_is_timeout_with_the_bytes_that_came() {
    let url = server(|mut stream, _| {
        request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    let row = one(&url, 300 * MS);
    assert_eq!((row.error.as_str(), row.status), ("timeout", 200));
    assert!(row.first_byte_ns.is_some() && row.bytes <= 1);
}

#[test]
fn a_torn_connection_is_reset() {
    let url = server(|mut stream, _| {
        request(&mut stream);
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    });
    assert_eq!(one(&url, 1000 * MS).error, "reset");
}

#[test]
fn a_close_without_an_answer_is_reset() {
    assert_eq!(one(&server(once(b"")), 1000 * MS).error, "reset");
}

#[test]
fn a_close_in_the_middle_is_short_body() {
    let row = one(&server(once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcd")), 1000 * MS);
    assert_eq!((row.error.as_str(), row.bytes), ("short_body", 4));
    assert_eq!(one(&server(once(b"HTTP/1.1 200 OK\r\nContent-Le")), 1000 * MS).error, "short_body");
    let cut = one(&server(once(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")), 1000 * MS);
    assert_eq!((cut.error.as_str(), cut.bytes), ("short_body", 3));
}

#[test]
fn statuses_have_their_classes() {
    for (answer, status, error) in [
        (&b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"[..], 404, "http_4xx"),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno", 503, "http_5xx"),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", 304, ""),
        (b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", 302, ""),
    ] {
        let row = one(&server(once(answer)), 1000 * MS);
        assert_eq!((row.status, row.error.as_str()), (status, error));
    }
}

#[test]
fn what_is_no_http_is_protocol() {
    assert_eq!(one(&server(once(b"220 smtp ready\r\n")), 1000 * MS).error, "protocol");
    let url = server(|mut stream, _| {
        request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(&[b"X: ", &[b'a'; 1000][..], b"\r\n"].concat()).is_ok() {}
    });
    assert_eq!(one(&url, 1000 * MS).error, "protocol");
}

#[test]
fn an_idle_connection_the_server_closed_costs_no_error() {
    // Answers one request, then closes without having said so.
    let url = server(|mut stream, _| {
        request(&mut stream);
        stream.write_all(HELLO).unwrap();
        // The second request is on its way or not yet when the connection ends: both must be mended.
        request(&mut stream);
    });
    let stage = Stage::new();
    stage.steady_trace(6, 30 * MS, 1);
    let (summary, rows) = stage.replay(&url, json!({"connection_mode": "per_client"}));
    assert!(rows.iter().all(|row| row.error.is_empty()), "{rows:?}");
    assert!(summary.reconnects >= 1);
}

#[test]
fn a_drain_that_ends_is_client_stop() {
    let url = server(|mut stream, _| while request(&mut stream).is_some() {});
    let stage = Stage::new();
    stage.steady_trace(3, 0, 3);
    let (_, rows) = stage.replay(&url, json!({"drain_ns": 100 * MS, "connections": 2, "timeout_ns": 60_000 * MS}));
    assert_eq!(rows.iter().filter(|row| row.error == "client_stop").count(), 3);
}

#[test]
fn a_success_has_all_its_times_in_order() {
    let row = one(&server(always(HELLO)), 1000 * MS);
    assert_eq!((row.error.as_str(), row.bytes, row.status), ("", 5, 200));
    let first = row.first_byte_ns.unwrap();
    assert!(row.planned_ns <= row.issued_ns && row.issued_ns <= first && first <= row.done_ns);
}
