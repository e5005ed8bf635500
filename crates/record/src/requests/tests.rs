//! What is written is what the library's own reader reads, whatever the columns hold.

use std::fs::File;
use std::path::Path;

use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::statistics::Statistics;
use proptest::prelude::*;

use super::*;
use crate::recover;

/// What a column of a test holds.
#[derive(Clone, Copy, Debug)]
enum Shape {
    One(u64),
    Few,
    /// More values than a dictionary has room for.
    Many,
    Steps,
    Any,
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        any::<u64>().prop_map(Shape::One),
        Just(Shape::Few),
        Just(Shape::Many),
        Just(Shape::Steps),
        Just(Shape::Any)
    ]
}

fn value(shape: Shape, i: u64) -> u64 {
    let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    match shape {
        Shape::One(value) => value,
        Shape::Few => (mixed >> 62).wrapping_sub(1),
        Shape::Many => (mixed >> 55) << 12,
        Shape::Steps => (1 << 50) + 250 * i + (mixed >> 59),
        Shape::Any => mixed ^ (mixed >> 32),
    }
}

fn records(rows: u64, shapes: [Shape; 13], closed: bool) -> Vec<Request> {
    let record = |i: u64| {
        let of = |column: usize| value(shapes[column], i.wrapping_mul(13) + column as u64);
        let planned_ns = of(1) as i64;
        Request {
            seq: of(0),
            planned_ns,
            issued_ns: if closed { planned_ns } else { of(2) as i64 },
            first_byte_ns: if of(3) % 3 == 0 { Request::NEVER } else { of(3) as i64 },
            done_ns: of(4) as i64,
            offset: of(5),
            bytes: of(6),
            object: of(7) as u32,
            stream: of(8) as u32,
            status: of(9) as u16,
            phase: Phase::ALL[of(10) as usize % Phase::ALL.len()],
            op: Op::ALL[of(11) as usize % Op::ALL.len()],
            error: ErrorClass::ALL[of(12) as usize % ErrorClass::ALL.len()],
        }
    };
    (0..rows).map(record).collect()
}

fn read(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    assert_eq!(reader.schema().fields(), request::schema().fields());
    reader.with_batch_size(1 << 20).build().unwrap().map(|batch| batch.unwrap()).collect()
}

fn same(batch: &RecordBatch, records: &[Request]) -> bool {
    let expected = request::batch(&request::schema(), records).unwrap();
    batch.columns().iter().zip(expected.columns()).all(|(a, b)| a.to_data() == b.to_data())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_reader_gets_back_what_was_written(
        rows in prop_oneof![1..40_u64, 120..140_u64, 4090..4100_u64, 9000..9010_u64],
        shapes in prop::array::uniform13(shape()),
        closed: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let records = records(rows, shapes, closed);
        let mut table = RequestTable::create(&path).unwrap();
        table.append(&records).unwrap();
        table.close().unwrap();
        let batches = read(&path);
        prop_assert_eq!(batches.len(), 1);
        prop_assert!(same(&batches[0], &records));
    }
}

#[test]
fn row_groups_are_independent_of_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut table = RequestTable::create(&path).unwrap();
    let groups = [records(5000, [Shape::Few; 13], true), records(300, [Shape::Many; 13], false)];
    for group in &groups {
        table.append(group).unwrap();
        table.commit().unwrap();
    }
    assert_eq!(table.rows_in_progress(), 0);
    table.append(&groups[0]).unwrap();
    std::mem::forget(table);
    assert!(recover(&path).unwrap());
    let batches = read(&path);
    assert!(same(&batches[0].slice(0, 5000), &groups[0]) && same(&batches[0].slice(5000, 300), &groups[1]));
    assert_eq!(batches[0].num_rows(), 5300);
}

#[test]
fn statistics_of_a_row_group_are_its_own_least_and_most() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut rows = records(9000, [Shape::Steps; 13], true);
    // Unsigned numbers beyond the signed range are the largest, not the smallest.
    (rows[17].offset, rows[4500].stream, rows[8999].bytes) = (u64::MAX, u32::MAX, 1);
    let mut table = RequestTable::create(&path).unwrap();
    table.append(&rows).unwrap();
    table.close().unwrap();
    let metadata =
        parquet::file::metadata::ParquetMetaDataReader::new().parse_and_finish(&File::open(&path).unwrap()).unwrap();
    let range = |column: usize| match metadata.row_group(0).column(column).statistics() {
        Some(Statistics::Int64(s)) => (*s.min_opt().unwrap(), *s.max_opt().unwrap()),
        Some(Statistics::Int32(s)) => (i64::from(*s.min_opt().unwrap()), i64::from(*s.max_opt().unwrap())),
        other => panic!("{other:?}"),
    };
    let planned = |pick: fn(std::slice::Iter<Request>) -> Option<i64>| pick(rows.iter()).unwrap();
    let least = planned(|r| r.map(|r| r.planned_ns).min());
    let most = planned(|r| r.map(|r| r.planned_ns).max());
    assert_eq!((range(PLANNED), range(ISSUED)), ((least, most), (least, most)));
    assert_eq!(range(8).1 as u64, u64::MAX);
    assert_eq!(range(12).1 as u32, u32::MAX);
    assert_eq!(range(9).0, 1);
}
