//! Faults: what is lost, what is served around them, and how a rebuild runs beside the load.
#![allow(clippy::unwrap_used)]

mod stage;

use iojoule_array::policy::Observer;
use iojoule_array::{Array, Completion, Report};
use iojoule_disk::PowerState;
use iojoule_units::{Joules, ModelNs, Nanos};
use stage::*;

const SECOND: i64 = 1_000_000_000;

fn run(config: &str, per_second: f64, count: u64, until: i64) -> (Vec<Completion>, Report) {
    let mut array = array(config);
    let arrivals = poisson(5, count, per_second, 0.3, 8, array.capacity());
    let mut done = play(&mut array, &arrivals);
    let until = ModelNs(until).max(end(&done));
    array.advance(until, &mut done);
    (done, array.finish(until))
}

const FAIL: &str = "faults = [{ drive = 1, at_ns = 500_000_000, kind = 'fail' }]";
const FAIL_AND_REPLACE: &str = "faults = [{ drive = 1, at_ns = 500_000_000, kind = 'fail' }, \
                                { drive = 1, at_ns = 1_000_000_000, kind = 'replace' }]";

#[test]
fn one_failed_drive_loses_nothing_where_there_is_redundancy() {
    for layout in ["{ kind = 'raid1' }", "{ kind = 'raid10' }", "{ kind = 'raid5' }", "{ kind = 'sr', ds = 2, dm = 2 }"]
    {
        let config = format!("drives = 4\nlayout = {layout}\nstripe_unit = 16\n{FAIL}");
        let (done, report) = run(&config, 100.0, 200, 0);
        assert!(done.iter().all(|c| c.served), "{layout}");
        assert_eq!((report.counters.lost, report.drives[1].failed), (0, true), "{layout}");
    }
}

#[test]
fn without_redundancy_what_was_on_the_failed_drive_is_reported_lost_and_the_rest_is_served() {
    let (done, report) =
        run(&format!("drives = 4\nlayout = {{ kind = 'raid0' }}\nstripe_unit = 16\n{FAIL}"), 100.0, 400, 0);
    let (lost, after): (Vec<_>, Vec<_>) =
        (done.iter().filter(|c| !c.served).collect(), done.iter().filter(|c| c.arrived.0 > SECOND / 2).collect());
    assert_eq!(lost.len() as u64, report.counters.lost);
    let share = lost.len() as f64 / after.len() as f64;
    assert!((0.15..0.36).contains(&share), "{share} of the requests, a quarter of the drives");
}

#[test]
fn a_second_failure_is_more_than_parity_bears() {
    let faults = "faults = [{ drive = 0, at_ns = 0, kind = 'fail' }, { drive = 3, at_ns = 0, kind = 'fail' }]";
    let (done, _) =
        run(&format!("drives = 5\nlayout = {{ kind = 'raid5' }}\nstripe_unit = 16\n{faults}"), 50.0, 200, 0);
    assert!(done.iter().any(|c| !c.served) && done.iter().any(|c| c.served));
}

#[test]
fn a_replaced_drive_is_rebuilt_whole_beside_the_load_and_serves_again() {
    for layout in ["{ kind = 'raid1' }", "{ kind = 'raid5' }", "{ kind = 'raid10' }"] {
        let config = format!("drives = 4\nlayout = {layout}\nstripe_unit = 16\n{FAIL_AND_REPLACE}");
        let (done, report) = run(&config, 40.0, 400, 60 * SECOND);
        assert_eq!((report.counters.rebuilds, report.drives[1].failed), (1, false), "{layout}");
        assert!(report.counters.rebuilt_sectors >= 43_000, "{layout}: {}", report.counters.rebuilt_sectors);
        assert!(done.iter().all(|c| c.served), "{layout}");
    }
}

#[test]
fn a_larger_share_for_the_rebuild_ends_it_sooner_and_makes_requests_wait_longer() {
    let with = |share: &str| {
        let config = format!(
            "drives = 3\nlayout = {{ kind = 'raid5' }}\nstripe_unit = 16\nrebuild = {{ share = {share} }}\n{FAIL_AND_REPLACE}"
        );
        let (done, report) = run(&config, 120.0, 600, 0);
        (mean_response_ms(&done), report.counters.rebuilt_sectors)
    };
    let (idle_only, half) = (with("0.0"), with("0.5"));
    assert!(half.1 > idle_only.1, "sectors rebuilt meanwhile: {} and {}", half.1, idle_only.1);
    assert!(half.0 > idle_only.0, "mean response: {} and {} ms", half.0, idle_only.0);
}

#[test]
fn a_drive_that_fails_again_while_it_is_rebuilt_is_not_read() {
    let again = "faults = [{ drive = 1, at_ns = 0, kind = 'fail' }, { drive = 1, at_ns = 1, kind = 'replace' }, \
                 { drive = 1, at_ns = 200_000_000, kind = 'fail' }]";
    let (done, report) =
        run(&format!("drives = 5\nlayout = {{ kind = 'raid5' }}\nstripe_unit = 16\n{again}"), 50.0, 200, 0);
    assert_eq!((report.counters.rebuilds, report.drives[1].failed), (0, true));
    assert!(done.iter().all(|c| c.served));
}

#[test]
fn a_dead_drive_draws_nothing_until_another_is_in_its_place() {
    let raid1 = "drives = 2\nlayout = { kind = 'raid1' }\n";
    let (_, dead) = run(&format!("{raid1}{FAIL}"), 20.0, 40, 60 * SECOND);
    let (_, replaced) = run(&format!("{raid1}{FAIL_AND_REPLACE}"), 20.0, 40, 60 * SECOND);
    let off = |report: &Report| report.drives[1].ledger.dwell(PowerState::Off);
    let total = |report: &Report| PowerState::ALL.iter().map(|s| report.drives[1].ledger.dwell(*s).0).sum::<i64>();
    // What the drive was doing when it died is booked to its end.
    assert!((Nanos(59_400_000_000)..=Nanos(59_500_000_000)).contains(&off(&dead)), "{:?}", off(&dead));
    assert!((Nanos(400_000_000)..=Nanos(500_000_000)).contains(&off(&replaced)), "{:?}", off(&replaced));
    assert_eq!((total(&dead), total(&replaced)), (60 * SECOND, 60 * SECOND));
    assert_eq!(replaced.drives[1].ledger.spin_ups(), 0, "a replaced drive turns");
}

#[test]
fn the_oracle_saves_nothing_on_a_drive_that_is_dead() {
    let config = format!("drives = 2\nlayout = {{ kind = 'raid1' }}\n{FAIL}");
    let model = small_disk();
    let figures = model.spec().power.standby().unwrap();
    let (observer, witness) = Observer::new(2, figures);
    let mut array = Array::with_policy(&config_of(&config), &model, Box::new(observer)).unwrap();
    array.advance(ModelNs(10 * SECOND), &mut Vec::new());
    let periods = [Nanos(SECOND / 2), Nanos(10 * SECOND)];
    let stay: f64 = periods.iter().map(|period| figures.stay(*period).0).sum();
    let Joules(least) = iojoule_array::policy::oracle_energy(periods, &figures);
    assert!((witness.saved(ModelNs(10 * SECOND)).0 - (stay - least)).abs() < 1e-9);
}

#[test]
fn a_rebuild_keeps_its_drives_spinning_whatever_the_policy_and_lets_them_rest_when_it_has_ended() {
    for layout in ["{ kind = 'raid1' }", "{ kind = 'raid5' }"] {
        let rebuilt = |policy: &str| {
            let text =
                format!("drives = 4\nlayout = {layout}\nstripe_unit = 16\npolicy = {policy}\n{FAIL_AND_REPLACE}");
            let mut array = array(&text);
            let (mut now, mut done) = (ModelNs::ZERO, Vec::new());
            while array.finish(now).counters.rebuilds == 0 {
                now = array.next_event().expect("the rebuild goes on");
                array.advance(now, &mut done);
            }
            let spin_ups = |report: &Report| report.drives.iter().map(|did| did.ledger.spin_ups()).sum::<u64>();
            let at_end = spin_ups(&array.finish(now));
            let later = now + Nanos(10 * SECOND);
            array.advance(later, &mut done);
            let rest = array.finish(later).drives.iter().map(|did| did.ledger.dwell(PowerState::Standby).0).min();
            (now, at_end, rest.unwrap())
        };
        let (free, _, _) = rebuilt("{ kind = 'never' }");
        let (at_once, spin_ups, rest) = rebuilt("{ kind = 'fixed', threshold_ns = 0 }");
        // Up once for the rebuild: three drives that rested; the fourth is new.
        assert!(spin_ups <= 3, "{layout}: {spin_ups} spin-ups");
        assert!(at_once - free < Nanos(SECOND / 10), "{layout}: {at_once:?} and {free:?}");
        assert!(rest > 9 * SECOND, "{layout}: every drive rests when it has ended, {rest}");
    }
}

#[test]
fn a_rebuild_the_run_did_not_wait_for_is_reported_with_how_far_it_came() {
    let config = format!("drives = 4\nlayout = {{ kind = 'raid5' }}\nstripe_unit = 16\n{FAIL_AND_REPLACE}");
    let mut array = array(&config);
    array.advance(ModelNs(4 * SECOND), &mut Vec::new());
    let report = array.finish(ModelNs(4 * SECOND));
    let [one] = report.unfinished[..] else { panic!("{:?}", report.unfinished) };
    assert_eq!((one.drive, one.of), (1, 43_200));
    assert!((1..43_200).contains(&one.good), "{}", one.good);
    assert!(one.good <= report.counters.rebuilt_sectors);
    array.advance(ModelNs(60 * SECOND), &mut Vec::new());
    assert!(array.finish(ModelNs(60 * SECOND)).unfinished.is_empty());
}
