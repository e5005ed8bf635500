//! The stage of these tests: traces to replay, servers that behave as told, and the table that was recorded.
#![allow(dead_code, reason = "every test file is a program of its own and uses a part of this")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use iojoule_load::{Control, ReplayConfig, Summary};
use iojoule_record::TableWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use tempfile::TempDir;

pub const MS: i64 = 1_000_000;

/// One recorded request.
#[derive(Clone, Debug)]
pub struct Row {
    pub seq: u64,
    pub phase: String,
    pub planned_ns: i64,
    pub issued_ns: i64,
    pub first_byte_ns: Option<i64>,
    pub done_ns: i64,
    pub bytes: u64,
    pub status: u16,
    pub error: String,
    pub stream: u32,
}

/// One request to replay: when, whose, how, what.
pub type Planned<'a> = (i64, u32, &'a str, &'a str);

/// A folder that is a run folder and holds the trace too.
pub struct Stage(pub TempDir);

impl Stage {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["tables", "hist"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn trace(&self, requests: &[Planned<'_>]) -> PathBuf {
        let strings =
            |of: fn(&Planned<'_>) -> String| Arc::new(requests.iter().map(|r| Some(of(r))).collect::<StringArray>());
        let columns: [(&str, ArrayRef); 5] = [
            ("planned_ns", Arc::new(Int64Array::from_iter_values(requests.iter().map(|r| r.0)))),
            ("method", strings(|r| r.2.to_owned())),
            ("object", Arc::new(UInt32Array::from_iter_values(0..requests.len() as u32))),
            ("path", strings(|r| r.3.to_owned())),
            ("client", Arc::new(UInt32Array::from_iter_values(requests.iter().map(|r| r.1)))),
        ];
        let path = self.path().join("replay.parquet");
        write(&path, &RecordBatch::try_from_iter(columns).unwrap());
        path
    }

    /// `n` requests for `/`, `gap_ns` apart, of `clients` clients in turn.
    pub fn steady_trace(&self, n: usize, gap_ns: i64, clients: u32) -> PathBuf {
        let requests: Vec<_> = (0..n).map(|i| (i as i64 * gap_ns, i as u32 % clients, "GET", "/")).collect();
        self.trace(&requests)
    }

    /// Replays the trace of this stage against `url`; `more` overrides the configuration.
    pub fn replay(&self, url: &str, more: Value) -> (Summary, Vec<Row>) {
        let summary = iojoule_load::replay(&self.config(url, more), Arc::default(), &Control::new()).unwrap();
        (summary, self.rows())
    }

    pub fn config(&self, url: &str, more: Value) -> ReplayConfig {
        let mut config = json!({
            "replay": self.path().join("replay.parquet"), "url": url, "run": self.path(),
            "timeout_ns": 2_000 * MS, "drain_ns": 5_000 * MS, "start_delay_ns": 0,
        });
        for (key, value) in more.as_object().unwrap() {
            config[key] = value.clone();
        }
        serde_json::from_value(config).unwrap()
    }

    /// What was recorded, by `seq`.
    pub fn rows(&self) -> Vec<Row> {
        let file = File::open(self.path().join("tables/requests.parquet")).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let mut rows: Vec<Row> = reader.flat_map(|batch| rows_of(&batch.unwrap())).collect();
        rows.sort_by_key(|row| row.seq);
        rows
    }
}

pub fn write(path: &Path, batch: &RecordBatch) {
    let mut table = TableWriter::create(path, batch.schema(), &[]).unwrap();
    table.write(batch).unwrap();
    table.close().unwrap();
}

/// An objects table of `(file, size)`.
pub fn objects(path: &Path, files: &[(&str, u64)]) {
    let names = || Arc::new(files.iter().map(|f| Some(f.0)).collect::<StringArray>());
    let columns: [(&str, ArrayRef); 4] = [
        ("object", Arc::new(UInt32Array::from_iter_values(0..files.len() as u32))),
        ("path", names()),
        ("file", names()),
        ("size", Arc::new(UInt64Array::from_iter_values(files.iter().map(|f| f.1)))),
    ];
    write(path, &RecordBatch::try_from_iter(columns).unwrap());
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let text = |name: &str, i: usize| {
        let dictionary = batch.column_by_name(name).unwrap().as_any_dictionary();
        dictionary.values().as_string::<i32>().value(dictionary.normalized_keys()[i]).to_owned()
    };
    let int = |name: &str, i: usize| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().value(i);
    let long = |name: &str, i: usize| batch.column_by_name(name).unwrap().as_primitive::<UInt64Type>().value(i);
    let first = batch.column_by_name("first_byte_ns").unwrap();
    (0..batch.num_rows())
        .map(|i| Row {
            seq: long("seq", i),
            phase: text("phase", i),
            planned_ns: int("planned_ns", i),
            issued_ns: int("issued_ns", i),
            first_byte_ns: first.is_valid(i).then(|| int("first_byte_ns", i)),
            done_ns: int("done_ns", i),
            bytes: long("bytes", i),
            status: batch.column_by_name("status").unwrap().as_primitive::<UInt16Type>().value(i),
            error: text("error", i),
            stream: batch.column_by_name("stream").unwrap().as_primitive::<UInt32Type>().value(i),
        })
        .collect()
}

/// A server on a free port that gives each connection, with its number, to `manner`. It runs until the test ends.
pub fn server(manner: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let manner = Arc::new(manner);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (manner, stream) = (manner.clone(), stream.unwrap());
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            std::thread::spawn(move || manner(stream, number));
        }
    });
    url
}

/// The head of the next request; `None` where the client has closed.
pub fn request(stream: &mut impl Read) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return None,
        }
    }
    String::from_utf8(head).ok()
}

/// Answers every request of a connection with `answer`.
pub fn always(answer: &'static [u8]) -> impl Fn(TcpStream, usize) + Send + Sync + 'static {
    move |mut stream, _| {
        while request(&mut stream).is_some() {
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// Answers the first request of a connection with `answer` and closes in good order.
pub fn once(answer: &'static [u8]) -> impl Fn(TcpStream, usize) + Send + Sync + 'static {
    move |mut stream, _| {
        if request(&mut stream).is_some() {
            let _ = stream.write_all(answer);
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read(&mut [0; 64]);
        }
    }
}

pub const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
