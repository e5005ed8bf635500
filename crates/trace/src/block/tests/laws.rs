//! What we write, we read back.

use iojoule_record::Op;
use iojoule_units::Nanos;
use proptest::prelude::*;

use super::super::field::time;
use super::super::{Options, Record, TimeUnit, open, table};

pub(crate) fn record() -> impl Strategy<Value = Record> {
    let response = proptest::option::of(0i64..1_000_000_000).prop_map(|r| r.map(Nanos));
    let place = (0u32..4, 0usize..4, 0u64..1 << 40, 0u64..1 << 24);
    (0i64..1_000_000, place, proptest::option::of(any::<bool>()), response).prop_map(
        |(at, (device, op, offset, bytes), asynchronous, response)| Record {
            at: Nanos(at),
            device,
            op: Op::ALL[op],
            offset,
            bytes,
            asynchronous,
            response,
        },
    )
}

/// Requests in time order from 0.
pub(crate) fn trace() -> impl Strategy<Value = Vec<Record>> {
    proptest::collection::vec(record(), 1..200).prop_map(|mut records| {
        let mut now = -records[0].at.0;
        for record in &mut records {
            now += record.at.0;
            record.at = Nanos(now);
        }
        records
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_canonical_table_gives_back_what_was_written(records in trace()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let mut writer = table::Writer::create(&path, &[], false).unwrap();
        for record in &records {
            writer.push(*record).unwrap();
        }
        prop_assert!(!path.exists());
        writer.close().unwrap();
        let read: Vec<Record> = open(&[path], &Options::default()).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read, records);
    }

    #[test]
    fn a_time_keeps_every_nanosecond(ns in 0i64..i64::MAX, unit in 0usize..5) {
        let unit = TimeUnit::ALL[unit];
        let places = unit.digits() as usize;
        let (whole, part) = (ns / 10i64.pow(unit.digits()), ns % 10i64.pow(unit.digits()));
        let text = if places == 0 { format!("{whole}") } else { format!("{whole}.{part:0places$}") };
        prop_assert_eq!(time(text.as_bytes(), "t", unit), Ok(ns));
    }

    #[test]
    fn disorder_within_the_window_is_mended(jitter in proptest::collection::vec(0i64..100_000, 1..500)) {
        let text: String = jitter.iter().enumerate().map(|(i, j)| format!("0,{i},512,r,{}.5\n", i as i64 + j)).collect();
        let (records, notes) = super::read_text("a.spc", text.as_bytes(), &Options::default()).unwrap();
        prop_assert!(records.is_sorted_by_key(|r| r.at));
        prop_assert_eq!(records.len() as u64, notes.requests);
    }
}

#[test]
fn times_round_and_refuse() {
    let us = TimeUnit::Microseconds;
    assert_eq!(time(b"20935.440364", "t", us), Ok(20_935_440));
    assert_eq!(time(b"0.0005", "t", us), Ok(1));
    assert_eq!(time(b"1e3", "t", us), Ok(1_000_000));
    assert_eq!(time(b".5", "t", us), Ok(500));
    for bad in ["", ".", "1.x", "x", "1.2345x", "99999999999999999999", "nan", "1e400", "+1", "--1"] {
        assert!(time(bad.as_bytes(), "t", us).is_err(), "{bad}");
    }
}
