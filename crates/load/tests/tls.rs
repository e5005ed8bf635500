//! The same engine over TLS: handshake, tickets, large bodies, and certificates that are not to be trusted.
#![allow(clippy::unwrap_used)]

mod stage;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;
use stage::{MS, Stage, request, server};

const SIZE: usize = 300_000;

/// The `https` URL of a server and the PEM of its certificate, for 127.0.0.1 and localhost.
fn tls_server() -> (String, String) {
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let certificate = CertificateDer::from(made.cert.der().to_vec());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let url = server(move |stream: TcpStream, _| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
        while let Some(head) = request(&mut stream) {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
            let _ = stream.write_all(&vec![b'x'; SIZE]);
            if head.contains("Connection: close") {
                stream.conn.send_close_notify();
                let _ = stream.flush();
                let _ = stream.sock.shutdown(std::net::Shutdown::Write);
                let _ = stream.sock.read(&mut [0; 64]);
                return;
            }
        }
    });
    (url.replace("http:", "https:"), made.cert.pem())
}

#[test]
fn answers_come_whole_through_tls_in_every_connection_mode() {
    let (url, pem) = tls_server();
    for mode in ["per_request", "per_client", "pool"] {
        let stage = Stage::new();
        stage.steady_trace(12, 20 * MS, 2);
        let ca = stage.path().join("ca.pem");
        std::fs::write(&ca, &pem).unwrap();
        let config = json!({"connection_mode": mode, "tls": {"ca": ca}, "timeout_ns": 10_000 * MS});
        let (summary, rows) = stage.replay(&url, config);
        assert!(rows.iter().all(|row| row.error.is_empty() && row.bytes == SIZE as u64), "{mode}: {rows:?}");
        if mode == "per_client" {
            assert_eq!(summary.connections_opened, 2);
        }
    }
}

#[test]
fn a_certificate_nobody_vouches_for_is_connect_unless_told_otherwise() {
    let (url, _) = tls_server();
    let (_, other) = tls_server();
    for (insecure, error) in [(false, "connect"), (true, "")] {
        let stage = Stage::new();
        stage.steady_trace(1, 0, 1);
        let ca = stage.path().join("ca.pem");
        std::fs::write(&ca, &other).unwrap();
        let config = json!({"tls": {"ca": ca, "insecure": insecure}, "timeout_ns": 10_000 * MS});
        let (_, rows) = stage.replay(&url, config);
        assert_eq!(rows[0].error, error);
    }
}

#[test]
fn a_server_without_tls_is_connect() {
    let url = server(stage::always(b"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n"));
    let stage = Stage::new();
    stage.steady_trace(1, 0, 1);
    let config = json!({"tls": {"insecure": true}, "timeout_ns": 500 * MS});
    let (_, rows) = stage.replay(&url.replace("http:", "https:"), config);
    assert_eq!(rows[0].error, "connect");
}
