//! Published traces read as their descriptions say: counts, first requests, totals (reference data, `SOURCE.md` beside
//! each).

use std::fs;

use iojoule_record::Op;
use iojoule_units::{Lba, Nanos};

use super::super::{Notes, Options, Record, validate};
use super::{read, read_with, reference};

fn format(notes: &Notes) -> &'static str {
    notes.files[0].format
}

fn count(records: &[Record], op: Op) -> usize {
    records.iter().filter(|r| r.op == op).count()
}

fn mean_response_s<'a>(records: impl Iterator<Item = &'a Record>) -> f64 {
    let responses: Vec<f64> = records.filter_map(|r| r.response).map(Nanos::as_secs_f64).collect();
    responses.iter().sum::<f64>() / responses.len() as f64
}

fn seconds(records: &[Record]) -> f64 {
    records.last().unwrap().at.as_secs_f64()
}

#[test]
fn every_record_of_the_hp_workstation_trace_is_as_decoded() {
    let Some(path) = reference("blocktraces/cello_srt/ajw.1week.srt") else { return };
    let decoded = fs::read_to_string(reference("blocktraces/cello_srt/ajw_decoded.csv").unwrap()).unwrap();
    let (records, notes) = read(&path);
    assert_eq!((format(&notes), records.len(), notes.skipped, notes.late), ("srt", 44_519, 0, 0));
    assert_eq!((count(&records, Op::Read), count(&records, Op::Write)), (13_040, 31_479));
    for (record, line) in records.iter().zip(decoded.lines().skip(1)) {
        let f: Vec<&str> = line.split(',').collect();
        let (s, us) = f[1].split_once('.').unwrap();
        let at: i64 = s.parse::<i64>().unwrap() * 1_000_000_000 + us.parse::<i64>().unwrap() * 1000;
        let flags = u32::from_str_radix(f[8], 16).unwrap();
        let expected = Record {
            at: Nanos(at),
            device: f[6].parse().unwrap(),
            op: if flags & 1 == 1 { Op::Read } else { Op::Write },
            offset: f[5].parse::<u64>().unwrap() * 256,
            bytes: f[4].parse().unwrap(),
            asynchronous: Some(flags & 0x100 != 0),
            response: Some(Nanos(f[3].parse::<i64>().unwrap() * 1000)),
        };
        assert_eq!(*record, expected, "{line}");
    }
    assert_eq!(decoded.lines().count(), records.len() + 1);
    for (device, requests, mean_ms) in [(0, 42_252, 121.8), (1, 2_267, 21.1)] {
        let of_device = || records.iter().filter(|r| r.device == device);
        assert_eq!(of_device().count(), requests);
        assert!((mean_response_s(of_device()) * 1e3 - mean_ms).abs() < 0.05);
        let told = notes.devices.iter().find(|d| d.number == device).unwrap();
        assert_eq!(told.bytes, Some(113 * 8 * 1449 * 256));
    }
}

#[test]
fn the_cloudphysics_trace_has_the_stated_totals() {
    let Some(path) = reference("blocktraces/cloudphysics/cloudPhysicsIO.vscsi") else { return };
    let (records, notes) = read(&path);
    assert_eq!((format(&notes), records.len()), ("vscsi", 113_872));
    assert!((seconds(&records) - 7200.1).abs() < 0.05);
    for (op, requests, gigabytes) in [(Op::Read, 46_974, 1.80), (Op::Write, 66_898, 2.41)] {
        assert_eq!(count(&records, op), requests);
        let bytes: u64 = records.iter().filter(|r| r.op == op).map(|r| r.bytes).sum();
        // The description has gigabytes as 2^30 or 10^9; it names two decimals.
        let near = [1e9, f64::from(1 << 30)].iter().any(|unit| (bytes as f64 / unit - gigabytes).abs() < 0.006);
        assert!(near, "{bytes}");
    }
    let csv = reference("blocktraces/cloudphysics/cloudPhysicsIO.csv").unwrap();
    let (same, notes) = read(&csv);
    assert_eq!((format(&notes), same.len()), ("vscsi-csv", 113_872));
    let what = |r: &Record| (r.op, r.offset, r.bytes);
    assert!(records.iter().map(what).eq(same.iter().map(what)), "the same requests in the same order");
    assert_eq!(same[0].offset, 42_932_745 * 512);
}

#[test]
fn the_msr_sample_has_the_stated_span_reads_and_responses() {
    let Some(path) = reference("blocktraces/caffeine_samples/msr-cambridge1-sample.csv") else { return };
    let (records, notes) = read(&path);
    assert_eq!((format(&notes), records.len(), count(&records, Op::Read)), ("msr", 1000, 508));
    assert_eq!(notes.devices[0].name.as_deref(), Some("hm.0"));
    let first = Record {
        at: Nanos(0),
        device: 0,
        op: Op::Write,
        offset: 9_056_014_336,
        bytes: 2048,
        asynchronous: None,
        response: Some(Nanos(283_300)),
    };
    assert_eq!(records[0], first);
    assert_eq!(records[1].at, Nanos((128_166_385_295_514_878 - 128_166_385_295_514_663) * 100));
    assert!((seconds(&records) - 127.2).abs() < 0.05);
    assert!((mean_response_s(records.iter()) * 1e3 - 0.99).abs() < 0.005);
    let responses: Vec<f64> = records.iter().map(|r| r.response.unwrap().as_secs_f64() * 1e3).collect();
    assert!((responses.iter().copied().fold(f64::MAX, f64::min) - 0.069).abs() < 0.0005);
    assert!((responses.iter().copied().fold(0.0, f64::max) - 28.4).abs() < 0.05);
}

#[test]
fn the_systor_sample_comes_out_in_time_order_and_its_disorder_is_told() {
    let Some(path) = reference("blocktraces/caffeine_samples/systor17-additional-sample.csv.gz") else { return };
    let (records, notes) = read(&path);
    assert_eq!((format(&notes), notes.files[0].compression, records.len()), ("systor", "gzip", 999));
    assert_eq!(notes.late, 299);
    assert!(records.is_sorted_by_key(|r| r.at));
    assert!((seconds(&records) - 1.33).abs() < 0.005);
    assert!((mean_response_s(records.iter()) * 1e3 - 5.34).abs() < 0.005);
    let first = records.iter().find(|r| r.offset == 203_468_398_592).unwrap();
    assert_eq!((first.bytes, first.response), (32_768, Some(Nanos(6_475_000))));
    assert_eq!(notes.origin_ns + first.at.0, 1_455_591_804_310_701_000);
}

#[test]
fn sorting_on_disk_gives_what_the_window_gives() {
    let Some(path) = reference("blocktraces/caffeine_samples/systor17-additional-sample.csv.gz") else { return };
    let sorted = read_with(&path, &Options { sort: true, ..Options::default() }).unwrap();
    assert_eq!(sorted.0, read(&path).0);
    assert_eq!(sorted.1.late, 299);
}

#[test]
fn the_mqsim_trace_is_warned_of_because_its_unit_is_not_told() {
    let Some(path) = reference("blocktraces/mqsim/tpcc-small.trace") else { return };
    let (records, notes) = read(&path);
    assert_eq!((format(&notes), records.len()), ("mqsim", 6999));
    assert_eq!((count(&records, Op::Write), count(&records, Op::Read)), (2618, 4381));
    assert_eq!(notes.devices.len(), 16);
    assert_eq!((notes.origin_ns, records[0].device, records[0].op), (938_513_000, 4, Op::Write));
    assert_eq!((records[0].offset, records[0].bytes), (264_719_034 * 512, 16 * 512));
    assert!((seconds(&records) - 0.1365).abs() < 0.00005);
    let warning = &notes.warnings[0];
    assert!(warning.contains("512") && warning.contains("us: 51."), "{warning}");
    let micros = Options { time_unit: Some(super::super::TimeUnit::Microseconds), ..Options::default() };
    let (slow, notes) = read_with(&path, &micros).unwrap();
    assert_eq!(slow.last().unwrap().at.0, records.last().unwrap().at.0 * 1000);
    assert!(notes.warnings.is_empty());
}

#[test]
fn disksims_open_traces_are_recognised_and_read() {
    let Some(path) = reference("disksim/ascii.trace") else { return };
    let (records, notes) = read(&path);
    assert_eq!((format(&notes), records.len()), ("disksim", 100_000));
    assert_eq!((notes.origin_ns, records[0].device, records[0].offset, records[0].bytes), (13_191_135, 30, 0, 2560));
    assert_eq!(records[1].at, Nanos(17_829_285 - 13_191_135));
    assert_eq!(records[0].op, Op::Read);
    assert_eq!(notes.devices.len(), 14);
    let (records, _) = read(&reference("disksim/3disks.trace").unwrap());
    assert_eq!(records.len(), 10_000);
    assert!((count(&records, Op::Read) as f64 / 10_000.0 - 0.668).abs() < 0.0005);
}

#[test]
fn the_measured_traces_are_closed_loops_with_the_published_means() {
    let disks = [
        ("atlas10k", 10_000, 3.893),
        ("cheetah9LP", 10_000, 4.273),
        ("barracuda", 10_000, 6.627),
        ("atlas_III", 10_000, 6.263),
        ("hp_c2247a", 9_999, 15.298),
        ("hp_c2490a", 9_984, 12.550),
        ("dec_rz26", 7_980, 15.809),
    ];
    for (disk, requests, mean_ms) in disks {
        let Some(path) = reference(&format!("disksim/{disk}.trace")) else { return };
        let steps: Vec<validate::Step> = validate::lines(&path).unwrap().map(Result::unwrap).collect();
        let mean = steps.iter().map(|s| s.measured.as_secs_f64()).sum::<f64>() / steps.len() as f64;
        assert_eq!(steps.len(), requests, "{disk}");
        assert!((mean * 1e3 - mean_ms).abs() < 0.0006, "{disk}: {mean}");
        let (records, notes) = read(&path);
        assert_eq!((format(&notes), records.len()), ("disksim-validate", requests));
        assert_eq!(records[1].at, steps[0].measured + steps[0].inter);
    }
    let first = validate::lines(&reference("disksim/dec_rz26.trace").unwrap()).unwrap().next().unwrap().unwrap();
    let expected = validate::Step {
        op: Op::Read,
        lba: Lba(547_163),
        sectors: 12,
        measured: Nanos(18_228_000),
        inter: Nanos(20_935_440),
    };
    assert_eq!(first, expected);
}
