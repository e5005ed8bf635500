//! Spinning down and up, gears, and the memory cache in front: what they do to time and energy.
#![allow(clippy::unwrap_used)]

mod stage;

use iojoule_array::{Array, Completion, Report, Request};
use iojoule_disk::{Op, PowerState};
use iojoule_units::{Lba, ModelNs, Nanos};
use stage::*;

const MS: i64 = 1_000_000;

fn run(config: &str, arrivals: &[(ModelNs, Request)], until: i64) -> (Vec<Completion>, Report) {
    let mut array: Array = array(config);
    let mut done = play(&mut array, arrivals);
    let until = ModelNs(until).max(end(&done));
    array.advance(until, &mut done);
    (done, array.finish(until))
}

fn read(id: u64, at_ms: i64, lba: u64) -> (ModelNs, Request) {
    (ModelNs(at_ms * MS), Request { id, op: Op::Read, lba: Lba(lba), sectors: 8, asynchronous: false })
}

const SINGLE: &str = "drives = 1\nlayout = { kind = 'single' }\nphase = 'same'\n";

#[test]
fn a_drive_rests_after_its_threshold_and_the_request_that_wakes_it_waits_for_the_spindle() {
    let config = format!("{SINGLE}policy = {{ kind = 'fixed', threshold_ns = 100_000_000 }}");
    let (done, report) = run(&config, &[read(0, 0, 800), read(1, 1000, 800)], 1000 * MS);
    let ledger = &report.drives[0].ledger;
    assert_eq!(ledger.spin_ups(), 1);
    assert!(ledger.dwell(PowerState::Standby) > Nanos(800 * MS));
    assert_eq!(ledger.dwell(PowerState::SpinUp), Nanos(50 * MS));
    // Spinning up takes 50 ms; the wait is service, not queueing.
    assert!((done[1].done - done[1].arrived) >= Nanos(50 * MS));
    assert_eq!(done[1].started, done[1].arrived);
}

#[test]
fn a_request_that_comes_on_the_way_down_waits_for_down_and_up() {
    let config = format!("{SINGLE}policy = {{ kind = 'fixed', threshold_ns = 0 }}");
    let (done, _) = run(&config, &[read(0, 10, 800)], 0);
    // On the way down since 0, there at 20 ms, up again at 70 ms.
    assert!((done[0].done - ModelNs(0)) >= Nanos(70 * MS), "{:?}", done[0]);
}

#[test]
fn a_mirror_is_read_from_the_drive_that_spins() {
    let config = "drives = 2\nlayout = { kind = 'raid1' }\npolicy = { kind = 'fixed', threshold_ns = 40_000_000 }";
    let reads: Vec<_> = (0..40).map(|id| read(id, 30 * id as i64, 8 * id)).collect();
    let (done, report) = run(config, &reads, 0);
    assert_eq!(report.drives.iter().map(|d| d.ledger.spin_ups()).sum::<u64>(), 0);
    assert!(done.iter().all(|c| c.done - c.arrived < Nanos(40 * MS)));
    assert!(report.drives.iter().any(|d| d.ledger.dwell(PowerState::Standby) > Nanos(900 * MS)));
}

const PARAID: &str = "drives = 4\nlayout = { kind = 'paraid', gears = [2, 4] }\nstripe_unit = 16\n\
    policy = { kind = 'gears', tick_ns = 50_000_000, windows_ns = [100_000_000, 200_000_000, 400_000_000], \
    hold_ns = 500_000_000 }\n";

#[test]
fn a_quiet_array_shifts_down_and_a_busy_one_up_again_and_no_request_is_lost() {
    let capacity = array(PARAID).capacity();
    let quiet = poisson(1, 60, 20.0, 0.5, 8, capacity);
    let mut arrivals = quiet.clone();
    let busy_from = quiet.last().unwrap().0 + Nanos(2000 * MS);
    arrivals.extend(poisson(2, 3000, 450.0, 0.2, 8, capacity).into_iter().map(|(at, mut request)| {
        request.id += 60;
        (busy_from + (at - ModelNs(0)), request)
    }));
    let (done, report) = run(PARAID, &arrivals, 0);
    assert_eq!(done.len(), 3060);
    assert!(done.iter().all(|c| c.served));
    let gears: Vec<u8> = report.gears.iter().map(|(_, gear)| *gear).collect();
    assert_eq!(gears[..3], [1, 0, 1], "from the highest gear down, and up again under load");
    assert!(report.drives[3].ledger.dwell(PowerState::Standby) > Nanos(1000 * MS));
    assert_eq!(report.drives[0].ledger.dwell(PowerState::Standby), Nanos(0));
    assert!(report.counters.synced > 0, "what was written in the low gear is copied home");
}

#[test]
fn memory_answers_what_it_holds_and_synchronous_writes_go_through() {
    let config = format!("{SINGLE}cache = {{ block = 8, blocks = 100, hit_ns = 5000 }}");
    let mut arrivals = vec![read(0, 0, 800), read(1, 100, 800), read(2, 200, 804)];
    arrivals[2].1.sectors = 12;
    arrivals.push(read(3, 300, 808));
    let mut write = read(4, 400, 1600);
    write.1.op = Op::Write;
    arrivals.extend([write, read(5, 500, 1600)]);
    let (done, report) = run(&config, &arrivals, 0);
    let ns: Vec<i64> = done.iter().map(|c| (c.done - c.arrived).0).collect();
    assert!(ns[0] > MS / 10 && ns[2] > 5000 && ns[4] > MS / 10, "{ns:?}");
    assert_eq!((ns[1], ns[3], ns[5]), (5000, 5000, 5000), "{ns:?}");
    assert_eq!((report.counters.cache_hits, report.counters.cache_misses), (3, 3));
    assert_eq!(report.drives[0].commands, 3);
}

#[test]
fn writes_nobody_waits_for_are_held_back_and_written_together() {
    let config = format!("{SINGLE}cache = {{ block = 8, blocks = 100, hit_ns = 5000, flush_ns = 1_000_000_000 }}");
    let writes: Vec<_> = (0..6)
        .map(|id| {
            let lba = Lba(800 + 8 * (id % 3));
            (ModelNs(id as i64 * MS), Request { id, op: Op::Write, lba, sectors: 8, asynchronous: true })
        })
        .collect();
    let (done, report) = run(&config, &writes, 999 * MS);
    assert!(done.iter().all(|c| c.done - c.arrived == Nanos(5000)));
    assert_eq!(report.drives[0].commands, 0);
    let (_, report) = run(&config, &writes, 1500 * MS);
    assert_eq!((report.drives[0].commands, report.counters.cache_written_back), (1, 3));
}

#[test]
fn drives_do_not_rest_while_a_shift_copies_and_do_when_it_has_ended() {
    let config = PARAID.replace("policy = {", "sync = { share = 0.5 }\npolicy = {");
    let capacity = array(&config).capacity();
    // Writes spread over the low gear leave copies to do in both directions.
    let mut arrivals = poisson(3, 60, 20.0, 1.0, 8, capacity);
    let busy_from = arrivals.last().unwrap().0 + Nanos(2000 * MS);
    arrivals.extend(poisson(4, 1500, 450.0, 0.5, 8, capacity).into_iter().map(|(at, mut request)| {
        request.id += 60;
        (busy_from + (at - ModelNs(0)), request)
    }));
    let (_, report) = run(&config, &arrivals, busy_from.0 + 20_000 * MS);
    assert!(report.counters.shifts >= 3, "{:?}", report.gears);
    let (low, high) = (&report.drives[0].ledger, &report.drives[3].ledger);
    assert_eq!(low.dwell(PowerState::Standby), Nanos(0));
    // One spin-up for each shift up, none in between.
    let ups = report.gears.windows(2).filter(|pair| pair[1].1 > pair[0].1).count() as u64;
    assert_eq!(high.spin_ups(), ups);
}

#[test]
fn a_policy_that_shifts_gears_is_refused_where_there_are_none() {
    let config = config_of("drives = 4\nlayout = { kind = 'raid5' }\nstripe_unit = 16\npolicy = { kind = 'gears' }");
    let refused = Array::new(&config, &small_disk()).err().map(|error| error.to_string());
    assert_eq!(refused.as_deref(), Some("policy gears: layout raid5 has no gears to shift; paraid has"));
}
