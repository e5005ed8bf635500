//! Faults: what is lost, what is served around them, and how a rebuild runs beside the load.
#![allow(clippy::unwrap_used)]

mod stage;

use iojoule_array::{Completion, Report};
use iojoule_units::ModelNs;
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
