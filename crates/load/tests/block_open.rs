//! An open loop keeps its plan: absolute instants, one plan over all jobs, and a stated end for what finds no place.
#![allow(clippy::unwrap_used)]

mod block_stage;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use block_stage::{MS, Stage};
use iojoule_load::Control;
use serde_json::json;

#[test]
fn a_constant_rate_plans_equal_gaps_over_all_jobs() {
    for jobs in [1, 3] {
        let stage = Stage::new();
        let work = json!({"arrivals": {"kind": "constant", "rate_per_s": 3000.0}, "jobs": jobs, "queue_depth": 64});
        let (summary, rows) = stage.run(work, json!({"duration_ns": 100 * MS}));
        assert_eq!(rows.len(), 300);
        let gap = 1e9 / 3000.0;
        let plan: Vec<_> = (0..300).map(|i| summary.epoch_ns + (f64::from(i) * gap).round() as i64).collect();
        assert_eq!(rows.iter().map(|row| row.planned_ns).collect::<Vec<_>>(), plan);
        assert!(rows.iter().all(|row| row.issued_ns >= row.planned_ns));
        assert_eq!(summary.trace_span_ns, Some(plan[299] - plan[0]));
    }
}

#[test]
fn a_poisson_plan_is_the_same_whatever_the_number_of_jobs_and_has_its_mean() {
    let plan = |jobs: u32| {
        let stage = Stage::new();
        let work = json!({"arrivals": {"kind": "poisson", "rate_per_s": 20_000.0}, "jobs": jobs, "queue_depth": 256});
        let (summary, rows) = stage.run(work, json!({"duration_ns": 200 * MS, "seed": 3}));
        let mut plan: Vec<_> = rows.iter().map(|row| row.planned_ns - summary.epoch_ns).collect();
        plan.sort();
        plan
    };
    let one = plan(1);
    assert_eq!(one, plan(3));
    // 4000 arrivals are expected, with a standard deviation of 63.
    assert!((one.len() as f64 - 4000.0).abs() < 6.0 * 63.3, "{}", one.len());
    let gaps: Vec<_> = one.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let spread = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!((spread / mean - 1.0).abs() < 0.15, "exponential gaps spread as much as their mean: {}", spread / mean);
}

#[test]
fn a_trace_gives_the_times_and_the_speed_up_divides_them() {
    let stage = Stage::new();
    let times = [5_000_000_i64, 5_000_000, 9_000_000, 25_000_000, 25_000_001];
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(times));
    let trace = stage.0.path().join("trace.parquet");
    let batch = RecordBatch::try_from_iter([("at_ns", column)]).unwrap();
    let mut table = iojoule_record::TableWriter::create(&trace, batch.schema(), &[]).unwrap();
    table.write(&batch).unwrap();
    table.close().unwrap();
    for jobs in [1, 2] {
        let arrivals = json!({"kind": "trace", "trace": trace, "speedup": 2.0});
        let work = json!({"arrivals": arrivals, "jobs": jobs, "queue_depth": 8});
        let (summary, rows) = stage.run(work, json!({"duration_ns": 1_000 * MS}));
        let plan: Vec<_> = rows.iter().map(|row| row.planned_ns - summary.epoch_ns).collect();
        assert_eq!(plan, [0, 0, 2_000_000, 10_000_000, 10_000_001]);
    }
}

/// 64 requests of 1 MiB at once, one of them outstanding at most.
fn overload(at_cap: &str) -> (iojoule_load::block::BlockSummary, Vec<block_stage::Row>) {
    let stage = Stage::new();
    let path = stage.file("large", 64 << 20);
    let target = json!({"kind": "files", "files": [{"path": path}], "direct": false, "writable": false});
    let arrivals = json!({"kind": "constant", "rate_per_s": 1e6});
    let work = json!({"arrivals": arrivals, "sizes": [{"bytes": 1 << 20}], "at_cap": at_cap});
    stage.run(work, json!({"requests": 64, "duration_ns": 1_000 * MS, "target": target}))
}

#[test]
fn at_the_cap_requests_wait_or_are_dropped_or_end_the_load() {
    let (summary, rows) = overload("block");
    assert_eq!((rows.len(), summary.dropped, summary.succeeded), (64, 0, 64));
    assert!(summary.queued_at_cap > 0 && rows.iter().any(|row| row.issued_ns > row.planned_ns));

    let (summary, rows) = overload("drop");
    assert_eq!(rows.len(), 64);
    assert!(summary.dropped > 0 && summary.dropped + summary.succeeded == 64);
    assert_eq!(rows.iter().filter(|row| row.error == "dropped").count() as u64, summary.dropped);
    assert!(rows.iter().filter(|row| row.error == "dropped").all(|row| row.bytes == 0));

    let (summary, rows) = overload("stop");
    assert_eq!(summary.dropped, 1);
    assert!(rows.len() < 64 && rows.last().unwrap().error == "dropped");
    assert!(summary.warnings.iter().any(|text| text.contains("at_cap = stop")), "{:?}", summary.warnings);
}

#[test]
fn what_is_due_and_finds_no_place_until_the_drain_ends_is_recorded_as_never_sent() {
    let stage = Stage::new();
    let path = stage.file("large", 64 << 20);
    let target = json!({"kind": "files", "files": [{"path": path}], "direct": false, "writable": false});
    let arrivals = json!({"kind": "constant", "rate_per_s": 100_000.0});
    let work = json!({"arrivals": arrivals, "sizes": [{"bytes": 16 << 20}]});
    let more = json!({"duration_ns": 20 * MS, "drain_ns": 0, "target": target});
    let (summary, rows) = stage.try_run(&stage.config(work, more), &Control::new()).unwrap();
    assert_eq!(rows.len(), 2000);
    assert_eq!(summary.errors["client_stop"] + summary.succeeded, 2000);
    assert!(summary.errors["client_stop"] > 1000);
}
