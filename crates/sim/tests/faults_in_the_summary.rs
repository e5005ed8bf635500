//! What a summary says of drives that fail and are replaced.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use iojoule_sim::{BuiltIn, Control, Job, Summary, simulate};
use serde_json::{Value, json};

/// A thousand seconds of an array of the 36Z15 that is read ten times.
fn run(array: Value) -> Summary {
    let job = json!({
        "drive": { "preset": "ultrastar-36z15" },
        "array": array,
        "load": { "random": { "bytes": 8192, "requests": 10, "rate": 0.1 } },
        "duration_ns": 1_000_000_000_000_i64,
        "limit": 10,
    });
    let job: Job = serde_json::from_value(job).unwrap();
    simulate(&job, &BuiltIn, &AtomicBool::new(false), &Control::default()).unwrap()
}

#[test]
fn a_drive_dead_from_the_start_costs_nothing_and_the_oracle_knows_it() {
    let faults = json!([{ "drive": 1, "at_ns": 0, "kind": "fail" }]);
    let said = run(json!({ "drives": 2, "layout": { "kind": "raid0" }, "stripe_unit": 128, "faults": faults }));
    assert_eq!(said.drives[1].energy_j, Some(0.0));
    assert_eq!(said.drives[1].states_s.keys().collect::<Vec<_>>(), [&"off"]);
    let oracle = said.oracle.unwrap();
    assert_eq!(Some(oracle.always_on_j), said.drives[0].energy_j);
    // One drive at rest for the whole run draws 2.5 W; the oracle cannot draw less.
    assert!(oracle.energy_j >= 2.5 * said.simulated_s, "{oracle:?}");
}

#[test]
fn a_rebuild_that_did_not_end_is_a_warning() {
    let faults = json!([{ "drive": 1, "at_ns": 0, "kind": "fail" },
                        { "drive": 1, "at_ns": 900_000_000_000_i64, "kind": "replace" }]);
    let said = run(json!({ "drives": 3, "layout": { "kind": "raid5" }, "stripe_unit": 128, "faults": faults,
                           "policy": { "kind": "fixed", "threshold_ns": 1_000_000 } }));
    let [warning] = &said.warnings[..] else { panic!("{:?}", said.warnings) };
    let made = said.counters["rebuilt_sectors"] as f64 / (said.capacity_bytes as f64 / 512.0 / 2.0);
    assert!(made > 0.02, "{made}");
    let percent = (100.0 * made).floor();
    assert_eq!(*warning, format!("drive 1 is rebuilt to {percent} %; the run ended before the rest"));
}
