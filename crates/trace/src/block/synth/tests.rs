//! What is asked for comes out, as [`info`] measures it. Table 3 at its full lengths is checked by `test_trace_synth.py`,
//! in an optimised build; here at a tenth.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::*;
use crate::block::info::{Info, InfoOptions, info};

fn seen(config: &SynthConfig) -> Info {
    info(Synth::new(config).unwrap().map(Ok), &InfoOptions::default(), &AtomicBool::new(false)).unwrap()
}

fn near(measured: f64, wanted: f64, share: f64, what: &str) {
    assert!((measured - wanted).abs() <= share * wanted, "{what}: {measured}, not {wanted}");
}

/// The golden rows by the name of their trace; `None` where the reference data is not beside the project.
fn table_3() -> Option<HashMap<String, HashMap<String, String>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden/002_table3_traces.csv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        assert!(std::env::var("IOJOULE_REQUIRE_ALL").as_deref() != Ok("1"), "{} is missing", path.display());
        return None;
    };
    let mut lines = text.lines().map(|line| line.split(','));
    let names: Vec<&str> = lines.next().unwrap().collect();
    let row = |cells: Vec<&str>| names.iter().zip(cells).map(|(n, c)| ((*n).to_owned(), c.to_owned())).collect();
    Some(lines.map(|cells| cells.collect::<Vec<_>>()).map(|cells| (cells[0].to_owned(), row(cells))).collect())
}

#[test]
fn a_tenth_of_each_profile_has_the_rows_of_table_3() {
    let Some(table) = table_3() else { return };
    for (name, row) in [("cello-base", "Cello base"), ("cello-disk6", "Cello disk 6"), ("tpcc", "TPC-C")] {
        let wanted = |column: &str| table[row][column].parse::<f64>().unwrap();
        let told = seen(&SynthConfig { seed: 7, length: 0.1, ..SynthConfig::profile(name).unwrap() });
        let row =
            |measured: Option<f64>, wanted: f64, what| near(measured.unwrap(), wanted, 0.05, &format!("{name} {what}"));
        row(Some(told.ios as f64), 0.1 * wanted("ios"), "ios");
        row(Some(told.duration_s), 0.1 * wanted("duration_s"), "duration");
        row(told.rate_per_s, wanted("recomputed_rate_per_s"), "rate");
        row(Some(told.data_bytes as f64), 1e9 * wanted("data_size_gb"), "data size");
        row(told.reads, wanted("reads_pct") / 100.0, "reads");
        row(told.async_writes, wanted("async_writes_pct") / 100.0, "asynchronous writes");
        row(told.seek_locality, wanted("seek_locality"), "seek locality");
        row(told.read_after_write_1h, wanted("read_after_write_1h_pct") / 100.0, "reads after writes");
    }
}

/// Profiles as short as their L allows to be measured.
fn some_profile() -> impl Strategy<Value = SynthConfig> {
    (0usize..3, any::<u64>(), 0.25f64..4.0).prop_map(|(which, seed, scale_rate)| SynthConfig {
        seed,
        scale_rate,
        length: 0.001,
        ..SynthConfig::profile(PROFILES[which].0).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn times_never_decrease_and_every_request_lies_inside_the_data_set(config in some_profile()) {
        let records: Vec<Record> = Synth::new(&config).unwrap().collect();
        prop_assert_eq!(records.len() as u64, config.kept_ios());
        prop_assert_eq!(records[0].at, Nanos::ZERO);
        prop_assert!(records.is_sorted_by_key(|r| r.at));
        for r in &records {
            prop_assert!(r.offset + r.bytes <= config.data_bytes && r.bytes > 0 && r.offset % 512 == 0);
            prop_assert!(matches!(r.op, Op::Read | Op::Write) && r.asynchronous.is_some());
            prop_assert!(r.op == Op::Write || r.asynchronous == Some(false));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_records_and_another_seed_others(config in some_profile()) {
        let records: Vec<Record> = Synth::new(&config).unwrap().collect();
        prop_assert!(Synth::new(&config).unwrap().eq(records.iter().copied()));
        let other = SynthConfig { seed: config.seed ^ 1, ..config };
        prop_assert!(!Synth::new(&other).unwrap().eq(records.iter().copied()));
    }

    /// Whatever is asked for and can be had comes out, within what 20,000 requests let one tell.
    #[test]
    fn shares_converge_to_what_is_asked_for(
        seed: u64, reads in 0.2f64..0.8, asynchronous in 0.0f64..0.2, sequential in 0.0f64..0.3, again in 0.0f64..0.1,
        locality in 1.5f64..4.0, flushed: bool,
    ) {
        let config = SynthConfig {
            seed,
            ios: 20_000,
            duration_s: 20_000.0,
            data_bytes: 4 << 30,
            reads,
            async_writes: asynchronous,
            flush_period_s: flushed.then_some(30.0),
            seek_locality: locality,
            read_after_write_1h: again,
            sequential_reads: sequential,
            sequential_writes: sequential,
            ..SynthConfig::default()
        };
        let told = seen(&config);
        let close = |measured: Option<f64>, wanted: f64| (measured.unwrap() - wanted).abs() < 0.02;
        prop_assert!(close(told.reads, reads), "reads {:?}", told.reads);
        prop_assert!(close(told.async_writes, asynchronous), "async {:?}", told.async_writes);
        prop_assert!(close(told.read_after_write_1h, again), "again {:?}", told.read_after_write_1h);
        prop_assert!(close(told.sequential, sequential), "sequential {:?}", told.sequential);
        prop_assert!((told.seek_locality.unwrap() / locality - 1.0).abs() < 0.05, "L {:?}", told.seek_locality);
    }
}

#[test]
fn twice_the_rate_is_the_same_requests_at_half_the_times() {
    let slow = SynthConfig { length: 0.002, ..SynthConfig::profile("cello-base").unwrap() };
    let fast = SynthConfig { scale_rate: 2.0, ..slow.clone() };
    for (slow, fast) in Synth::new(&slow).unwrap().zip(Synth::new(&fast).unwrap()) {
        assert!((slow.at.0 - 2 * fast.at.0).abs() <= 1);
        assert_eq!(Record { at: slow.at, ..fast }, slow);
    }
}

#[test]
fn asynchronous_writes_of_cello_come_in_rounds() {
    let config = SynthConfig { length: 0.02, ..SynthConfig::profile("cello-base").unwrap() };
    let origin = Synth::new(&config).unwrap().moments.next().unwrap().at;
    let flushed: Vec<f64> = Synth::new(&config)
        .unwrap()
        .filter(|r| r.asynchronous == Some(true))
        .map(|r| (r.at.0 + origin) as f64 / 1e9 % 30.0)
        .collect();
    let soon = flushed.iter().filter(|into_round| **into_round < 2.0).count();
    assert!(flushed.len() > 5000 && soon as f64 > 0.98 * flushed.len() as f64, "{soon} of {}", flushed.len());
}

#[test]
fn an_unreachable_locality_is_refused_with_what_can_be_reached() {
    let refused = |config: SynthConfig| Synth::new(&config).unwrap_err().to_string();
    let uniform = SynthConfig { seek_locality: 0.5, ..SynthConfig::default() };
    assert!(refused(uniform).starts_with("seek_locality: 0.5 cannot be had"));
    // Reads after writes go anywhere an hour's writes went: 15 % of them keep L below 1/0.15.
    let tpcc = SynthConfig { seek_locality: 20.0, ..SynthConfig::profile("tpcc").unwrap() };
    assert!(refused(tpcc).contains("to 6.7"));
}

#[test]
fn numbers_out_of_their_range_are_refused_by_name() {
    let refused = |config: SynthConfig| Synth::new(&config).unwrap_err().to_string();
    let base = SynthConfig::default;
    for (config, name) in [
        (SynthConfig { reads: 1.5, ..base() }, "reads: 1.5"),
        (SynthConfig { reads: f64::NAN, ..base() }, "reads: NaN"),
        (SynthConfig { duration_s: 0.0, ..base() }, "duration_s"),
        (SynthConfig { length: 0.0, ..base() }, "length"),
        (SynthConfig { ios: 0, ..base() }, "ios"),
        (SynthConfig { burstiness: 1.0, ..base() }, "burstiness"),
        (SynthConfig { reads: 0.9, async_writes: 0.2, ..base() }, "reads and async_writes"),
        (SynthConfig { read_after_write_1h: 0.1, ..base() }, "read_after_write_1h"),
        (SynthConfig { sizes: vec![], ..base() }, "sizes"),
        (SynthConfig { sizes: vec![Size { bytes: 1000, weight: 1.0 }], ..base() }, "sizes: 1000"),
        (SynthConfig { data_bytes: 4096, ..base() }, "sizes: 4096"),
    ] {
        let said = refused(config);
        assert!(said.starts_with(name), "{said}");
    }
}

#[test]
fn a_profile_with_changed_keys() {
    let changes = |text: &str| serde_json::from_str::<serde_json::Map<_, _>>(text).unwrap();
    let changed = SynthConfig::resolve(Some("tpcc"), &changes(r#"{"seed": 4, "reads": 0.9}"#)).unwrap();
    assert_eq!(changed, SynthConfig { seed: 4, reads: 0.9, ..SynthConfig::profile("tpcc").unwrap() });
    let refused = |profile, text| SynthConfig::resolve(profile, &changes(text)).unwrap_err().to_string();
    assert_eq!(refused(Some("tpch"), "{}"), "profile: \"tpch\" is none of cello-base, cello-disk6, tpcc");
    assert!(refused(None, r#"{"raeds": 0.5}"#).contains("unknown field `raeds`"));
}
