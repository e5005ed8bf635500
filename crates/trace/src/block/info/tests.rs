//! What [`Info`] says, on records written by hand, and beside plain recomputations.

use proptest::prelude::*;

use iojoule_units::Nanos;

use super::*;

fn record(at_s: f64, device: u32, op: Op, offset: u64, bytes: u64) -> Record {
    let at = Nanos::from_secs_f64(at_s);
    Record { at, device, op, offset, bytes, asynchronous: None, response: None }
}

fn seen(records: &[Record]) -> Info {
    info(records.iter().map(|r| Ok(*r)), &InfoOptions::default(), &AtomicBool::new(false)).unwrap()
}

#[test]
fn the_rows_of_table_3_of_four_requests() {
    let told = seen(&[
        record(0.0, 0, Op::Write, 0, 4096),
        record(1.0, 0, Op::Read, 4096, 4096),    // follows
        record(2.0, 0, Op::Read, 0, 4096),       // written 2 s ago, 8192 bytes back
        record(4.0, 0, Op::Write, 28_672, 4096), // 24,576 ahead; the highest address is 32,768
    ]);
    assert_eq!((told.ios, told.duration_s, told.rate_per_s), (4, 4.0, Some(1.0)));
    assert_eq!((told.data_bytes, told.footprint_bytes), (32_768, 12_288));
    assert_eq!((told.reads, told.read_after_write_1h), (Some(0.5), Some(0.25)));
    assert_eq!(told.async_writes, None);
    assert_eq!(told.mean_seek_bytes, Some((0.0 + 8192.0 + 24_576.0) / 3.0));
    assert_eq!(told.seek_locality, Some(1.0));
    assert_eq!((told.sequential, told.sequential_reads, told.sequential_writes), (Some(0.25), Some(0.5), Some(0.0)));
}

#[test]
fn a_read_an_hour_after_the_write_is_not_one_within_the_hour() {
    let (write, read) = (record(0.0, 0, Op::Write, 0, 512), |at_s| record(at_s, 0, Op::Read, 0, 512));
    assert_eq!(seen(&[write, read(3599.999)]).read_after_write_1h, Some(0.5));
    assert_eq!(seen(&[write, read(3600.0)]).read_after_write_1h, Some(0.0));
}

#[test]
fn the_same_address_of_another_device_is_not_the_same_data() {
    let told = seen(&[record(0.0, 0, Op::Write, 0, 512), record(1.0, 1, Op::Read, 0, 512)]);
    assert_eq!(told.read_after_write_1h, Some(0.0));
}

#[test]
fn asynchronous_writes_are_known_only_where_every_write_says() {
    let says = |asynchronous| Record { asynchronous, ..record(0.0, 0, Op::Write, 0, 512) };
    assert_eq!(seen(&[says(Some(true)), says(Some(false))]).async_writes, Some(0.5));
    assert_eq!(seen(&[says(Some(true)), says(None)]).async_writes, None);
}

#[test]
fn trims_and_flushes_are_counted_beside() {
    let told = seen(&[
        record(0.0, 0, Op::Trim, 1 << 30, 4096),
        record(1.0, 0, Op::Read, 0, 512),
        record(9.0, 0, Op::Flush, 0, 0),
    ]);
    assert_eq!((told.ios, told.trims, told.flushes, told.data_bytes, told.duration_s), (1, 1, 1, 512, 0.0));
}

#[test]
fn a_known_device_size_is_the_size_of_the_data_set() {
    let options = InfoOptions { device_bytes: BTreeMap::from([(0, 1 << 20)]), ..InfoOptions::default() };
    let records = [record(0.0, 0, Op::Read, 0, 512), record(0.0, 0, Op::Read, 1024, 512)];
    let told = info(records.map(Ok), &options, &AtomicBool::new(false)).unwrap();
    assert_eq!((told.data_bytes, told.seek_locality), (1 << 20, Some((1 << 20) as f64 / 3.0 / 512.0)));
}

#[test]
fn a_request_larger_than_any_disk_takes_is_refused() {
    let huge = |op| [Ok(record(0.0, 0, op, 0, 1 << 40))];
    let told = |op| info(huge(op), &InfoOptions::default(), &AtomicBool::new(false));
    assert!(told(Op::Write).unwrap_err().to_string().starts_with("request 1: 1099511627776 bytes"));
    assert_eq!(told(Op::Trim).unwrap().trims, 1);
}

#[test]
fn an_empty_trace_has_no_shares() {
    let told = seen(&[]);
    assert_eq!((told.ios, told.reads, told.seek_locality, told.rate_per_s), (0, None, None, None));
}

proptest! {
    /// The one pass over several devices is what a second pass with the sizes known would find.
    #[test]
    fn distances_over_the_concatenation_are_exact(
        requests in prop::collection::vec((0u32..4, 0u64..1_000_000, 1u64..9000), 2..60)
    ) {
        let records: Vec<Record> =
            requests.iter().map(|&(device, offset, bytes)| record(0.0, device, Op::Read, offset, bytes)).collect();
        let told = seen(&records);
        let size = |device| records.iter().filter(|r| r.device == device).map(|r| r.offset + r.bytes).max().unwrap_or(0);
        let base = |device: u32| (0..device).map(size).sum::<u64>();
        let moved: u64 = records
            .windows(2)
            .map(|w| (base(w[1].device) + w[1].offset).abs_diff(base(w[0].device) + w[0].offset + w[0].bytes))
            .sum();
        let mean = moved as f64 / (records.len() - 1) as f64;
        prop_assert!((told.mean_seek_bytes.unwrap() - mean).abs() <= 1e-9 * mean);
        prop_assert_eq!(told.data_bytes, u128::from((0..4).map(size).sum::<u64>()));
    }

    /// Beside a loop that keeps every write.
    #[test]
    fn reads_after_writes_are_those_a_plain_loop_finds(
        requests in prop::collection::vec((0u32..2, any::<bool>(), 0u64..40, 1u64..5, 0.0f64..900.0), 1..80)
    ) {
        let mut at_s = 0.0;
        let records: Vec<Record> = requests
            .iter()
            .map(|&(device, read, block, blocks, wait)| {
                at_s += wait;
                record(at_s, device, if read { Op::Read } else { Op::Write }, block * 4096, blocks * 4096)
            })
            .collect();
        let again = |n: usize, r: &Record| {
            r.op == Op::Read
                && records[..n].iter().any(|w| {
                    w.op == Op::Write
                        && w.device == r.device
                        && (r.at - w.at).0 < 3_600_000_000_000
                        && w.offset < r.offset + r.bytes
                        && r.offset < w.offset + w.bytes
                })
        };
        let count = records.iter().enumerate().filter(|&(n, r)| again(n, r)).count();
        prop_assert_eq!(seen(&records).read_after_write_1h, Some(count as f64 / records.len() as f64));
    }
}
