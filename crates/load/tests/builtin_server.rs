//! The builtin server gives the files under its root, and never anything else.
#![allow(clippy::unwrap_used)]

mod stage;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use iojoule_load::{LoadError, Server};
use serde_json::json;
use stage::{MS, Stage};
use tempfile::TempDir;

struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
    folder: TempDir,
}

impl Running {
    /// `root/` beside `secret`; in it a page, a folder with an index, a folder without, and ways out.
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let root = folder.path().join("root");
        for name in ["sub", "bare"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(folder.path().join("secret"), "SECRET").unwrap();
        fs::write(root.join("page.html"), "<p>page").unwrap();
        fs::write(root.join("a b"), "blank").unwrap();
        fs::write(root.join("empty"), "").unwrap();
        fs::write(root.join("big"), vec![b'x'; 3_000_000]).unwrap();
        fs::write(root.join("sub/index.html"), "index").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("way_out")).unwrap();
        std::os::unix::fs::symlink("/", root.join("slash")).unwrap();
        let server = Server::bind(([127, 0, 0, 1], 0).into(), &root, 2).unwrap();
        let (address, stop) = (server.local_addr(), Arc::new(AtomicBool::new(false)));
        let flag = stop.clone();
        let thread = Some(std::thread::spawn(move || server.run(&flag).unwrap()));
        Self { address, stop, thread, folder }
    }

    /// Sends `bytes` and reads until the server closes.
    fn say(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, method: &str, path: &str) -> (u16, String) {
        let answer = self.say(format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        if method != "HEAD" {
            assert!(head.contains(&format!("Content-Length: {}", body.len())));
        }
        (status, body.to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn files_and_indexes_are_served() {
    let server = Running::start();
    for (path, body) in [("/page.html", "<p>page"), ("/page.html?q=1", "<p>page"), ("/a%20b", "blank"), ("/empty", "")]
    {
        assert_eq!(server.get("GET", path), (200, body.to_owned()), "{path}");
    }
    for path in ["/sub/", "/sub", "/sub/index.html", "/bare/../sub/"] {
        assert_eq!(server.get("GET", path), (200, "index".to_owned()), "{path}");
    }
    assert_eq!(server.get("HEAD", "/page.html"), (200, String::new()));
    assert_eq!(server.get("GET", "/big").1.len(), 3_000_000);
}

#[test]
fn nothing_outside_the_root_is_served() {
    let server = Running::start();
    for path in [
        "/../secret",
        "/%2e%2e/secret",
        "/sub/../../secret",
        "/..%2fsecret",
        "/way_out",
        "/slash/etc/passwd",
        "//etc/passwd",
        "/sub/..%2F..%2Fsecret",
        "/./../secret",
        "/nothing",
        "/bare/",
        "/page.html/",
        "/%ff%fe",
    ] {
        let (status, body) = server.get("GET", path);
        assert_eq!(status, 404, "{path}");
        assert!(!body.contains("SECRET") && !body.contains("root:"));
    }
    assert!(server.folder.path().join("secret").exists());
}

#[test]
fn what_is_no_request_is_refused() {
    let server = Running::start();
    for path in ["secret", "*", "/%", "/%zz", "/a%00b"] {
        assert_eq!(server.get("GET", path).0, 400, "{path}");
    }
    assert_eq!(server.get("POST", "/page.html").0, 405);
    assert!(server.say(b"nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(server.say(b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let long = [b"GET / HTTP/1.1\r\nHost: x\r\nX: ".as_slice(), &[b'a'; 20_000], b"\r\n\r\n"].concat();
    assert!(server.say(&long).starts_with("HTTP/1.1 431 "));
    assert!(server.say(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc").starts_with("HTTP/1.1 405 "));
}

#[test]
fn a_connection_carries_many_requests_even_before_the_answers_are_read() {
    let server = Running::start();
    let one = "GET /page.html HTTP/1.1\r\nHost: x\r\n\r\n";
    let last = "GET /sub/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answer = server.say(format!("{one}{one}{last}").as_bytes());
    assert_eq!(answer.matches("200 OK").count(), 3);
    assert!(answer.ends_with("index"));
}

#[test]
fn a_port_in_use_is_an_error_of_the_machine() {
    let server = Running::start();
    let again = Server::bind(server.address, server.folder.path(), 1);
    assert!(matches!(again, Err(LoadError::Host { .. })));
}

#[test]
fn the_engine_and_the_server_understand_each_other() {
    let server = Running::start();
    let url = format!("http://{}", server.address);
    for mode in ["per_request", "per_client", "pool"] {
        let stage = Stage::new();
        let plan: Vec<_> =
            (0..300).map(|i| (i * MS, i as u32 % 7, "GET", if i % 50 == 0 { "/big" } else { "/page.html" })).collect();
        stage.trace(&plan);
        let (_, rows) = stage.replay(&url, json!({"connection_mode": mode, "timeout_ns": 10_000 * MS}));
        assert!(rows.iter().all(|row| row.error.is_empty()), "{mode}");
        assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 6 * 3_000_000 + 294 * 7);
    }
}
