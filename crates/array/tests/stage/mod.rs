//! A small disk, arrays of it, and a driver that tells them the time.
#![allow(dead_code)]

use std::sync::Arc;

use iojoule_array::{Array, ArrayConfig, Completion, Report, Request};
use iojoule_disk::{DriveSpec, Model, Op};
use iojoule_units::{Lba, ModelNs};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// 10 000 rpm, 4 surfaces, 120 cylinders in two zones, 43 200 sectors; every power figure set, 20 ms to spin down and
/// 50 ms to spin up, so that short tests see transitions.
const DISK: &str = r#"
name = "small"
[disk]
surfaces = 4
cylinders = 120
sectors = 43200
rpm = 10000.0
head_switch_ms = 0.9
write_settle_ms = 0.3
[disk.seek]
table = [[1, 1.0], [40, 4.0], [119, 10.0]]
[[disk.zones]]
first_cylinder = 0
last_cylinder = 59
sectors_per_track = 100
track_skew = 16.0
cylinder_skew = 20.0
[[disk.zones]]
first_cylinder = 60
last_cylinder = 119
sectors_per_track = 80
track_skew = 13.0
cylinder_skew = 16.0
[power]
active_w = 13.5
idle_w = 10.2
low_power_idle_w = 8.0
standby_w = 2.5
sleep_w = 2.0
spin_up = { time_s = 0.05, w = 12.39 }
spin_down = { time_s = 0.02, w = 8.67 }
"#;

pub fn small_disk() -> Arc<Model> {
    Model::new(&DriveSpec::from_toml(DISK).unwrap()).unwrap()
}

pub fn array(config: &str) -> Array {
    Array::new(&config_of(config), &small_disk()).unwrap()
}

pub fn config_of(text: &str) -> ArrayConfig {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What becomes of requests that come at their times; the array runs until the last is answered.
pub fn play(array: &mut Array, arrivals: &[(ModelNs, Request)]) -> Vec<Completion> {
    let mut done = Vec::new();
    for (at, request) in arrivals {
        array.advance(*at, &mut done);
        array.submit(*at, *request);
    }
    while array.outstanding() > 0 {
        let next = array.next_event().expect("requests are outstanding, so something happens next");
        array.advance(next, &mut done);
    }
    done
}

pub fn end(done: &[Completion]) -> ModelNs {
    done.iter().map(|c| c.done).max().unwrap_or(ModelNs::ZERO)
}

/// Poisson arrivals of uniform requests over the array.
pub fn poisson(
    seed: u64,
    count: u64,
    per_second: f64,
    write_share: f64,
    sectors: u32,
    capacity: u64,
) -> Vec<(ModelNs, Request)> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut uniform = move || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut at = 0.0;
    (0..count)
        .map(|id| {
            at -= (1.0 - uniform()).ln() / per_second;
            let op = if uniform() < write_share { Op::Write } else { Op::Read };
            let lba = Lba((uniform() * (capacity - u64::from(sectors)) as f64) as u64 / 8 * 8);
            let asynchronous = op == Op::Write && id % 3 == 0;
            (ModelNs((at * 1e9) as i64), Request { id, op, lba, sectors, asynchronous })
        })
        .collect()
}

pub fn mean_response_ms(done: &[Completion]) -> f64 {
    done.iter().map(|c| (c.done - c.arrived).0 as f64 / 1e6).sum::<f64>() / done.len() as f64
}

/// What a run leaves behind, as text: equal runs leave equal text.
pub fn trace_of(done: &[Completion], report: &Report) -> String {
    format!("{done:?}\n{report:?}")
}

/// Any array worth trying, as configuration text with the number of drives; faults are not part of it.
pub fn any_array() -> impl Strategy<Value = String> {
    let layout = prop_oneof![
        Just((1, "{ kind = 'single' }")),
        Just((3, "{ kind = 'concat' }")),
        Just((4, "{ kind = 'raid0' }")),
        Just((3, "{ kind = 'raid1' }")),
        Just((4, "{ kind = 'raid10' }")),
        Just((5, "{ kind = 'raid4' }")),
        Just((5, "{ kind = 'raid5' }")),
        Just((6, "{ kind = 'sr', ds = 2, dr = 3, dm = 1 }")),
        Just((4, "{ kind = 'sr', ds = 1, dr = 2, dm = 2 }")),
        Just((4, "{ kind = 'paraid', gears = [2, 4] }")),
        Just((5, "{ kind = 'paraid', gears = [3, 5], flavour = 'raid5' }")),
    ];
    let scheduler = prop::sample::select(vec!["fcfs", "sstf", "look", "clook", "satf", "rlook", "rsatf"]);
    let choice = prop::sample::select(vec!["first_served", "round_robin", "shortest_queue"]);
    let propagation = prop::sample::select(vec!["background", "foreground", "none"]);
    let policy = prop_oneof![
        Just("{ kind = 'never' }"),
        Just("{ kind = 'fixed', threshold_ns = 0 }"),
        Just("{ kind = 'fixed', threshold_ns = 30_000_000, to = 'sleep' }"),
        Just("{ kind = 'fixed', threshold_ns = 5_000_000, to = 'low_power_idle' }"),
        Just(
            "{ kind = 'gears', tick_ns = 20_000_000, windows_ns = [20_000_000, 40_000_000, 80_000_000], hold_ns = 40_000_000 }"
        ),
    ];
    let cache = prop_oneof![
        Just(""),
        Just("cache = { block = 8, blocks = 64, hit_ns = 1000 }"),
        Just("cache = { block = 16, blocks = 500, flush_ns = 100_000_000 }"),
    ];
    (layout, scheduler, choice, propagation, policy, cache, 0u32..40, prop::option::of(0i64..100_000_000), 0u64..4).prop_map(
        |((drives, layout), scheduler, choice, propagation, policy, cache, nvram, age, variant)| {
            let age = age.map_or(String::new(), |limit| format!("age_limit_ns = {limit}"));
            let idle = if variant == 1 { 3_000_000 } else { 0 };
            // Only an array with gears is given a policy that shifts them.
            let policy = if layout.contains("gears") || !policy.contains("gears") { policy } else { "{ kind = 'never' }" };
            let overhead = if variant == 2 { 2_700_000 } else { 0 };
            let at = if variant == 3 { "drive" } else { "response" };
            format!(
                "drives = {drives}\nlayout = {layout}\nstripe_unit = 16\nscheduler = '{scheduler}'\n\
                 read_choice = '{choice}'\npropagation = '{propagation}'\npolicy = {policy}\n{cache}\n\
                 nvram_entries = {nvram}\n{age}\nidle_delay_ns = {idle}\noverhead_ns = {overhead}\noverhead_at = '{at}'\n"
            )
        },
    )
}
