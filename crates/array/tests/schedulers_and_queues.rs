//! Laws of queues: the order in which requests are served and what it costs.
#![allow(clippy::unwrap_used)]

mod stage;

use iojoule_array::{Array, Completion, Request};
use iojoule_disk::{DriveSpec, Model, Op};
use iojoule_units::{Lba, ModelNs, Nanos};
use proptest::prelude::*;
use stage::*;

fn busy_run(scheduler: &str, seed: u64) -> f64 {
    let mut array = array(&format!("drives = 1\nlayout = {{ kind = 'single' }}\nscheduler = '{scheduler}'"));
    let arrivals = poisson(seed, 3000, 115.0, 0.3, 8, array.capacity());
    mean_response_ms(&play(&mut array, &arrivals))
}

#[test]
fn under_load_shorter_positioning_first_answers_sooner_than_first_come_first_served() {
    for seed in 0..3 {
        let fcfs = busy_run("fcfs", seed);
        let (sstf, look, clook, satf) =
            (busy_run("sstf", seed), busy_run("look", seed), busy_run("clook", seed), busy_run("satf", seed));
        assert!(satf < sstf && satf < look && satf < clook, "satf {satf}, sstf {sstf}, look {look}, clook {clook}");
        assert!(sstf < fcfs && look < fcfs && clook < fcfs, "fcfs {fcfs}, sstf {sstf}, look {look}, clook {clook}");
    }
}

#[test]
fn replicas_a_third_of_a_rotation_apart_are_read_sooner_than_one_copy_and_rlook_knows_them_too() {
    let mean = |layout: &str, scheduler: &str| {
        let mut array = array(&format!("drives = 3\nlayout = {layout}\nscheduler = '{scheduler}'\nstripe_unit = 16"));
        let arrivals = poisson(1, 3000, 200.0, 0.0, 8, 14_000);
        mean_response_ms(&play(&mut array, &arrivals))
    };
    let (stripe, sr) = ("{ kind = 'sr', ds = 3 }", "{ kind = 'sr', ds = 1, dr = 3 }");
    let (satf, rsatf, rlook) = (mean(stripe, "satf"), mean(sr, "rsatf"), mean(sr, "rlook"));
    assert!(rsatf < satf, "rsatf {rsatf}, satf on a stripe {satf}");
    assert!(rlook < mean(sr, "look"), "rlook {rlook}");
    assert!(rsatf <= rlook * 1.02, "rsatf {rsatf}, rlook {rlook}");
}

#[test]
fn an_age_limit_bounds_what_a_scheduler_may_make_a_request_wait() {
    let longest = |limit: &str| {
        let mut array = array(&format!("drives = 1\nlayout = {{ kind = 'single' }}\nscheduler = 'sstf'\n{limit}"));
        let arrivals = poisson(3, 4000, 130.0, 0.0, 8, array.capacity());
        let done = play(&mut array, &arrivals);
        (done.iter().map(|c| (c.done - c.arrived).0).max().unwrap(), mean_response_ms(&done))
    };
    let (free, limited) = (longest(""), longest("age_limit_ns = 150_000_000"));
    assert!(limited.0 < free.0, "longest {} with a limit, {} without", limited.0, free.0);
    assert!(limited.1 >= free.1, "a limit costs in the mean: {} against {}", limited.1, free.1);
}

/// A drive of one cylinder and one surface, asked at random angles: it forgets everything but the angle, which is random.
const MEMORYLESS: &str = r#"
name = "one track"
[disk]
surfaces = 1
cylinders = 1
sectors = 1000
rpm = 6000.0
head_switch_ms = 0.0
seek = { constant = { ms = 0.0 } }
[[disk.zones]]
first_cylinder = 0
last_cylinder = 0
sectors_per_track = 1000
"#;

/// Wq = λ E[S²] / (2 (1 − ρ)): Pollaczek and Khinchine. The service times are the run's own, so the check is of the queue.
#[test]
fn first_come_first_served_on_a_memoryless_drive_waits_as_pollaczek_and_khinchine_say() {
    let model = Model::new(&DriveSpec::from_toml(MEMORYLESS).unwrap()).unwrap();
    let config = config_of("drives = 1\nlayout = { kind = 'single' }");
    let rate = 120.0;
    let (batches, per_batch) = (40, 5000);
    let mut array = Array::new(&config, &model).unwrap();
    let arrivals = poisson(11, batches * per_batch, rate, 0.0, 8, 1000);
    let mut done = play(&mut array, &arrivals);
    done.sort_by_key(|c| c.request.id);

    let seconds = |span: Nanos| span.as_secs_f64();
    let service: Vec<f64> = done.iter().map(|c| seconds(c.done - c.started)).collect();
    let count = service.len() as f64;
    let (first, second) = (service.iter().sum::<f64>() / count, service.iter().map(|s| s * s).sum::<f64>() / count);
    let expected = rate * second / (2.0 * (1.0 - rate * first));

    // Batch means: 95 % confidence with 39 degrees of freedom.
    let waits: Vec<f64> = done
        .chunks(per_batch as usize)
        .map(|batch| batch.iter().map(|c| seconds(c.started - c.arrived)).sum::<f64>() / batch.len() as f64)
        .collect();
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let variance = waits.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / (waits.len() - 1) as f64;
    let margin = 2.023 * (variance / waits.len() as f64).sqrt();
    assert!((mean - expected).abs() < margin, "waited {mean} ± {margin} s, expected {expected} s");
    assert!(margin < expected * 0.1, "the interval of ± {margin} s says something");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn first_come_first_served_serves_in_the_order_of_arrival(seed in 0u64..1000) {
        let mut array = array("drives = 1\nlayout = { kind = 'single' }");
        let arrivals = poisson(seed, 200, 150.0, 0.5, 8, array.capacity());
        let done = play(&mut array, &arrivals);
        prop_assert!(done.windows(2).all(|pair| pair[0].request.id < pair[1].request.id));
        prop_assert!(done.windows(2).all(|pair| pair[0].done <= pair[1].started));
    }
}

#[test]
fn one_request_alone_has_no_queue_time_and_overhead_adds_to_its_answer_only() {
    let alone = |more: &str| -> Completion {
        let mut array = array(&format!("drives = 1\nlayout = {{ kind = 'single' }}\nphase = 'same'\n{more}"));
        let request = Request { id: 0, op: Op::Read, lba: Lba(20_000), sectors: 8, asynchronous: false };
        play(&mut array, &[(ModelNs(1_000_000), request)])[0]
    };
    let (bare, answer) = (alone(""), alone("overhead_ns = 2_700_000"));
    assert_eq!(bare.started, bare.arrived);
    assert_eq!(answer.done - bare.done, Nanos(2_700_000));
    assert_eq!(answer.started, bare.started);
}
