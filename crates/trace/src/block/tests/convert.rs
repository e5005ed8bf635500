//! Conversions: what is selected, moved, thinned and written is read back as asked for.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use iojoule_record::Op;
use iojoule_units::Nanos;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{ConvertOptions, Converted, Options, Record, TraceError, convert, open};
use super::laws::trace;
use super::reference;

fn run(folder: &Path, input: &[u8], output: &str, mut more: Value) -> Result<(Converted, Vec<Record>), TraceError> {
    let path = folder.join("in.csv");
    std::fs::write(&path, input).unwrap();
    let target = folder.join(output);
    more["paths"] = json!([path]);
    more["output"] = json!(target);
    more["force"] = json!(true);
    let options: ConvertOptions = serde_json::from_value(more).unwrap();
    let converted = convert(&options, &AtomicBool::new(false))?;
    Ok((converted, open(&[target], &Options::default())?.map(Result::unwrap).collect()))
}

fn converted(input: &str, more: Value) -> (Converted, Vec<Record>) {
    run(tempfile::tempdir().unwrap().path(), input.as_bytes(), "out.parquet", more).unwrap()
}

fn refused(input: &str, more: Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let message = run(folder.path(), input.as_bytes(), "out.parquet", more).unwrap_err().to_string();
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["in.csv"], "nothing half-written stays");
    message
}

/// Four requests of SPC, on devices 0 and 1.
const FOUR: &str = "0,0,512,r,0.0\n1,8,1024,w,1.0\n0,4096,512,w,2.0\n1,16,512,r,3.0\n";

fn csv(records: &[Record]) -> String {
    let text = |v: Option<String>| v.unwrap_or_default();
    let mut out = "at_ns,device,op,offset,bytes,asynchronous,response_ns\n".to_owned();
    for r in records {
        let (waits, response) =
            (text(r.asynchronous.map(|a| a.to_string())), text(r.response.map(|r| r.0.to_string())));
        out += &format!("{},{},{},{},{},{waits},{response}\n", r.at.0, r.device, r.op.name(), r.offset, r.bytes);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_table_and_csv_lose_nothing(records in trace()) {
        let folder = tempfile::tempdir().unwrap();
        for output in ["out.parquet", "out.csv"] {
            let (converted, read) = run(folder.path(), csv(&records).as_bytes(), output, json!({})).unwrap();
            prop_assert_eq!(converted.requests, records.len() as u64);
            prop_assert_eq!(&read, &records);
        }
    }

    #[test]
    fn disksim_keeps_time_place_and_direction_of_whole_sectors(records in trace()) {
        let moved = |r: &Record| Record { offset: r.offset / 512 * 512, bytes: r.bytes / 512 * 512, response: None, ..*r };
        let mut kept: Vec<Record> = records.iter().filter(|r| matches!(r.op, Op::Read | Op::Write)).map(moved).collect();
        prop_assume!(!kept.is_empty());
        let folder = tempfile::tempdir().unwrap();
        let more = json!({"to": "disksim", "read": {"format": "csv"}});
        let path = folder.path().join("in.csv");
        std::fs::write(&path, csv(&kept)).unwrap();
        let target = folder.path().join("o.disksim");
        let mut options = more;
        options["paths"] = json!([path]);
        options["output"] = json!(target);
        convert(&serde_json::from_value(options).unwrap(), &AtomicBool::new(false)).unwrap();
        let named = Options { format: Some("disksim".into()), ..Options::default() };
        let read: Vec<Record> = open(&[target], &named).unwrap().map(Result::unwrap).collect();
        let first = kept[0].at;
        kept.iter_mut().for_each(|r| r.at = r.at - first);
        prop_assert_eq!(read, kept);
    }

    #[test]
    fn fio_keeps_place_and_action_and_whole_microseconds(records in trace()) {
        let folder = tempfile::tempdir().unwrap();
        let (_, read) = run(folder.path(), csv(&records).as_bytes(), "out.iolog", json!({})).unwrap();
        prop_assert_eq!(read.len(), records.len());
        for (read, written) in read.iter().zip(&records) {
            prop_assert_eq!(read.at.0, written.at.0 / 1000 * 1000);
            prop_assert_eq!(read.op, written.op);
            if written.op != Op::Flush {
                prop_assert_eq!((read.offset, read.bytes), (written.offset, written.bytes));
            }
        }
    }

    #[test]
    fn thinning_keeps_one_in_n_at_its_own_time(n in 1.0f64..20.0, seed in proptest::option::of(any::<u64>())) {
        let all: String = (0..2000).map(|i| format!("0,{i},512,r,{i}.0\n")).collect();
        let (converted, kept) = converted(&all, json!({"thin": {"one_in": n, "seed": seed}}));
        let expected = 2000.0 / n;
        // Five standard deviations of a binomial draw; one request where they are evenly spaced.
        let slack = if seed.is_some() { 5.0 * (expected * (1.0 - 1.0 / n)).sqrt() + 1.0 } else { 1.0 };
        prop_assert!((kept.len() as f64 - expected).abs() <= slack, "{} of {expected}", kept.len());
        prop_assert_eq!(converted.left.thinned + converted.requests, 2000);
        let first = kept[0].offset / 512;
        prop_assert!(kept.iter().all(|r| r.at.0 == (r.offset / 512 - first) as i64 * 1_000_000_000));
    }

    #[test]
    fn a_fitted_request_lies_on_the_device(records in trace(), bytes in 1u64 << 24..1 << 30, wrap in any::<bool>()) {
        let how = if wrap { "wrap" } else { "scale" };
        let (_, read) = converted(&csv(&records), json!({"fit": {"how": how, "bytes": bytes}}));
        prop_assert!(read.iter().all(|r| r.op == Op::Flush || r.offset + r.bytes <= bytes));
        prop_assert!(read.iter().map(|r| r.bytes).eq(records.iter().map(|r| r.bytes)));
    }
}

#[test]
fn selections_are_counted_by_reason() {
    let window = json!({"select": {"since_s": 1.0, "until_s": 3.0}});
    let (done, kept) = converted(FOUR, window);
    assert_eq!((kept.len(), done.left.outside_time, kept[1].at), (2, 2, Nanos(1_000_000_000)));
    let (done, kept) = converted(FOUR, json!({"select": {"devices": [1], "ops": ["read"]}}));
    assert_eq!((kept.len(), done.left.other_device, done.left.other_op), (1, 2, 1));
    let (done, kept) = converted(FOUR, json!({"select": {"from_byte": 4096, "to_byte": 5120}}));
    assert_eq!((kept.len(), kept[0].bytes, done.left.outside_addresses), (1, 1024, 3));
    assert!(
        refused(FOUR, json!({"select": {"devices": [7]}})).contains("nothing left to write of 4 requests: 4 of other")
    );
    assert!(refused(FOUR, json!({"select": {"ops": ["erase"]}})).contains("\"erase\" is not one of read, write"));
}

#[test]
fn devices_lie_behind_one_another_by_told_size_or_by_reach() {
    let (done, kept) = converted(FOUR, json!({"concatenate": true}));
    let places: Vec<_> = done.layout.iter().map(|p| (p.device, p.first_byte, p.bytes)).collect();
    assert_eq!(places, [(0, 0, 3 << 20), (1, 3 << 20, 1 << 20)], "4097 sectors are 2 MiB and a bit");
    assert!(kept.iter().all(|r| r.device == 0));
    assert_eq!(kept[1].offset, (3 << 20) + 8 * 512);
    let told = json!({"concatenate": true, "read": {"device_bytes": {"0": 1 << 30}}});
    let (done, kept) = converted(FOUR, told);
    assert_eq!((done.layout[1].first_byte, kept[1].offset), (1 << 30, (1 << 30) + 4096));
    assert_eq!(serde_json::to_value(&done.layout).unwrap()[0]["size_from"], "told");
}

#[test]
fn time_is_scaled_and_responses_are_not() {
    let text = "at_ns,device,op,offset,bytes,asynchronous,response_ns\n0,0,read,0,512,,50\n1000,0,read,0,512,,60\n";
    let (_, kept) = converted(text, json!({"time_scale": 0.25}));
    assert_eq!((kept[1].at, kept[1].response), (Nanos(250), Some(Nanos(60))));
    assert!(refused(text, json!({"time_scale": 0.0})).contains("not above 0"));
}

#[test]
fn addresses_beyond_the_new_device_are_refused_when_asked_to() {
    let message = refused(FOUR, json!({"fit": {"how": "refuse", "bytes": 1 << 20}}));
    assert!(
        message.contains("request 3 (512 bytes at 2097152 of device 0) lies beyond the device of 1048576"),
        "{message}"
    );
    let (done, kept) = converted(FOUR, json!({"fit": {"how": "scale", "bytes": 1 << 20}, "concatenate": true}));
    assert_eq!(kept[1].offset, ((3 << 20) + 4096) / 4 / 512 * 512);
    assert!(done.warnings.iter().any(|w| w.contains("requests scaled onto 1048576 bytes")), "{:?}", done.warnings);
}

#[test]
fn a_broken_trace_leaves_no_file() {
    let message = refused(&format!("{FOUR}0,0,512,x,4.0\n"), json!({}));
    assert!(message.contains("line 5"), "{message}");
}

#[test]
fn what_is_there_is_not_overwritten_unasked_and_an_input_never() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("a.spc"), folder.path().join("b.parquet"));
    std::fs::write(&input, FOUR).unwrap();
    std::fs::write(&output, "mine").unwrap();
    let go = |output: &Path, force| {
        let options = json!({"paths": [input], "output": output, "force": force, "to": "parquet"});
        convert(&serde_json::from_value(options).unwrap(), &AtomicBool::new(false)).map(|c| c.requests)
    };
    assert!(go(&output, false).unwrap_err().to_string().contains("--force"));
    assert_eq!(std::fs::read(&output).unwrap(), b"mine");
    assert!(go(&input, true).unwrap_err().to_string().contains("is an input"));
    assert_eq!(go(&output, true).unwrap(), 4);
}

#[test]
fn broken_records_that_are_skipped_are_told() {
    let (done, _) = converted(&format!("{FOUR}0,0,512,x,4.0\n"), json!({"read": {"keep_going": true}}));
    assert!(done.warnings[0].starts_with("1 broken records left out; the first: "), "{:?}", done.warnings);
}

#[test]
fn a_trace_in_megabytes_converts_whole() {
    let Some(path) = reference("disksim/ascii.trace") else { return };
    let folder = tempfile::tempdir().unwrap();
    let options = json!({"paths": [path], "output": folder.path().join("a.parquet")});
    let done = convert(&serde_json::from_value(options).unwrap(), &AtomicBool::new(false)).unwrap();
    assert_eq!((done.requests, done.left.inexpressible), (100_000, 0));
    let stopped = json!({"paths": [path], "output": folder.path().join("b.parquet")});
    let stopped = convert(&serde_json::from_value(stopped).unwrap(), &AtomicBool::new(true));
    assert!(matches!(stopped, Err(TraceError::Stopped)));
    assert!(!folder.path().join("b.parquet").exists());
}
