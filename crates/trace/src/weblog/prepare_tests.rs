use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;

const LOG: &str = r#"b.example - - [01/Jul/1995:00:00:05 -0400] "GET /dir/ HTTP/1.0" 200 700
a.example - - [01/Jul/1995:00:00:01 -0400] "GET /secret/plan.html HTTP/1.0" 200 6245
b.example - - [01/Jul/1995:00:00:05 -0400] "GET /secret/plan.html HTTP/1.0" 304 -
a.example - - [01/Jul/1995:00:00:05 -0400] "HEAD /x.gif HTTP/1.0" 200 0
a.example - - [01/Jul/1995:00:00:06 -0400] "GET /x.gif?q=1 HTTP/1.0" 200 5
a.example - - [01/Jul/1995:00:00:06 -0400] "POST /x.gif HTTP/1.0" 200 5
a.example - - [01/Jul/1995:00:00:06 -0400] "GET /run.php HTTP/1.0" 200 5
a.example - - [01/Jul/1995:00:00:06 -0400] "GET /gone.html HTTP/1.0" 404 5
a.example - - [01/Jul/1995:00:00:06 -0400] "-" 400 5
broken
"#;

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("access.log"), LOG).unwrap();
        Self { folder }
    }

    fn options(&self, more: serde_json::Value) -> PrepareOptions {
        let path = |name: &str| self.folder.path().join(name);
        let mut options = serde_json::json!({"paths": [path("access.log")], "output": path("day.replay.parquet")});
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(options).unwrap()
    }

    fn prepare(&self, more: serde_json::Value) -> Result<Prepared, WeblogError> {
        prepare(&self.options(more), &AtomicBool::new(false))
    }

    fn files(&self) -> Vec<String> {
        let name = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(self.folder.path()).unwrap().map(name).collect();
        names.sort();
        names
    }
}

fn table(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    batches[0].clone()
}

fn ints<T: arrow_array::types::ArrowPrimitiveType>(batch: &RecordBatch, column: &str) -> Vec<T::Native> {
    batch.column_by_name(column).unwrap().as_primitive::<T>().values().to_vec()
}

fn texts(batch: &RecordBatch, column: &str) -> Vec<String> {
    let column = batch.column_by_name(column).unwrap();
    let column = match column.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            let values = dictionary.values().as_string::<i32>();
            return dictionary.normalized_keys().iter().map(|&k| values.value(k).to_owned()).collect();
        }
        _ => column.as_string::<i32>(),
    };
    column.iter().map(|t| t.unwrap().to_owned()).collect()
}

#[test]
fn the_table_is_in_time_order_and_says_what_was_left_out() {
    let bench = Bench::new();
    let done = bench.prepare(serde_json::json!({"spread": false, "names": "plain"})).unwrap();
    let replay = table(&done.output);
    assert_eq!(ints::<Int64Type>(&replay, "planned_ns"), [0, 4_000_000_000, 4_000_000_000, 4_000_000_000]);
    assert_eq!(texts(&replay, "path"), ["/secret/plan.html", "/dir/index.html", "/secret/plan.html", "/x.gif"]);
    assert_eq!(texts(&replay, "method"), ["GET", "GET", "GET", "HEAD"]);
    assert_eq!(ints::<UInt32Type>(&replay, "client"), [1, 0, 0, 1]);
    assert!(replay.column_by_name("size").unwrap().is_null(2));
    let left_out: Vec<_> = done.left_out.iter().map(|(k, v)| (*k, *v)).collect();
    assert_eq!(left_out, [("extension", 1), ("method", 1), ("odd_request", 1), ("query", 1), ("status", 1)]);
    assert_eq!((done.lines, done.parsed, done.malformed, done.requests), (10, 9, 1, 4));
    assert_eq!((done.out_of_order, done.first.as_str()), (1, "1995-07-01T04:00:01Z"));
}

#[test]
fn every_object_of_the_table_has_a_file_of_a_stated_size() {
    let bench = Bench::new();
    let done = bench.prepare(serde_json::json!({"names": "plain"})).unwrap();
    assert_eq!(done.objects_output, bench.folder.path().join("day.objects.parquet"));
    let objects = table(&done.objects_output);
    assert_eq!(texts(&objects, "file"), ["dir/index.html", "secret/plan.html", "x.gif"]);
    assert_eq!(ints::<UInt64Type>(&objects, "size"), [700, 6245, 700]);
    assert_eq!(texts(&objects, "size_rule"), ["logged", "logged", "median_all"]);
    assert_eq!(done.content_bytes, 700 + 6245 + 700);
}

#[test]
fn spreading_keeps_the_order_and_the_second_and_follows_the_seed() {
    let planned = |more| {
        let bench = Bench::new();
        ints::<Int64Type>(&table(&bench.prepare(more).unwrap().output), "planned_ns")
    };
    let spread = planned(serde_json::json!({"seed": 7}));
    assert_eq!(spread, planned(serde_json::json!({"seed": 7})));
    assert_ne!(spread, planned(serde_json::json!({"seed": 8})));
    assert!(spread.is_sorted());
    let seconds: Vec<i64> = spread.iter().map(|ns| ns / 1_000_000_000).collect();
    assert_eq!(seconds, [0, 4, 4, 4]);
}

#[test]
fn the_stated_span_is_the_last_planned_time() {
    for spread in [true, false] {
        let bench = Bench::new();
        let done = bench.prepare(serde_json::json!({"spread": spread})).unwrap();
        assert_eq!(Some(&done.span_ns), ints::<Int64Type>(&table(&done.output), "planned_ns").last());
    }
}

#[test]
fn pseudonyms_hold_no_name_of_the_original_and_need_the_key() {
    let bench = Bench::new();
    let done = bench.prepare(serde_json::json!({})).unwrap();
    let key = done.key_file.unwrap();
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let (replay, objects) = (table(&done.output), table(&done.objects_output));
    for name in texts(&replay, "path").into_iter().chain(texts(&objects, "path")).chain(texts(&objects, "file")) {
        assert!(["secret", "plan", "dir", "x.gif", "example"].iter().all(|part| !name.contains(part)), "{name}");
    }
    let paths = |done: &Prepared| texts(&table(&done.output), "path");
    let (other, same) = (Bench::new(), Bench::new());
    assert_ne!(paths(&other.prepare(serde_json::json!({})).unwrap()), texts(&table(&done.output), "path"));
    let keyed = same.prepare(serde_json::json!({"key_file": key})).unwrap();
    assert_eq!(paths(&keyed), texts(&table(&done.output), "path"));
}

#[test]
fn nothing_is_overwritten_without_force_and_names_stay_when_forced() {
    let bench = Bench::new();
    let first = texts(&table(&bench.prepare(serde_json::json!({})).unwrap().output), "path");
    assert!(matches!(bench.prepare(serde_json::json!({})), Err(WeblogError::Exists { .. })));
    let again = bench.prepare(serde_json::json!({"force": true})).unwrap();
    assert_eq!(texts(&table(&again.output), "path"), first);
    assert_eq!(bench.files(), ["access.log", "day.objects.parquet", "day.replay.parquet", "day.replay.parquet.key"]);
}

#[test]
fn a_log_that_cannot_be_prepared_leaves_no_file_behind() {
    let bench = Bench::new();
    let error = bench.prepare(serde_json::json!({"since": "2030-01-01"})).unwrap_err();
    assert!(matches!(error, WeblogError::NothingLeft { parsed: 9, .. }), "{error}");
    let log = bench.folder.path().join("access.log");
    for (text, expected) in [(&b""[..], "no lines"), (b"\0\x01\0\n\0", "binary"), (b"hello\n", "not a web log")] {
        fs::write(&log, text).unwrap();
        let error = bench.prepare(serde_json::json!({})).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let gz = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        encoder.write_all(LOG.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    fs::write(&log, &gz[..gz.len() - 100]).unwrap();
    assert!(matches!(bench.prepare(serde_json::json!({})), Err(WeblogError::Damaged { .. })));
    assert_eq!(bench.files(), ["access.log"]);
    let done = bench.prepare(serde_json::json!({"allow_damaged": true})).unwrap();
    assert!(done.warnings[0].contains("truncated"), "{:?}", done.warnings);
}

#[test]
fn a_short_key_and_an_unknown_option_are_refused() {
    let bench = Bench::new();
    let key = bench.folder.path().join("key");
    fs::write(&key, "short\n").unwrap();
    assert!(matches!(bench.prepare(serde_json::json!({"key_file": key})), Err(WeblogError::Option(_))));
    let unknown = serde_json::json!({"paths": [], "output": "x", "speed": 3});
    assert!(serde_json::from_value::<PrepareOptions>(unknown).is_err());
}
