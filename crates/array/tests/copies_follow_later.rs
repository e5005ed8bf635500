//! Write propagation: when copies follow, what is read meanwhile, what a full list does.
#![allow(clippy::unwrap_used)]

mod stage;

use iojoule_array::{Array, Completion, Report, Request};
use iojoule_disk::Op;
use iojoule_units::{Lba, ModelNs};
use stage::*;

const MS: i64 = 1_000_000;

fn request(id: u64, op: Op, lba: u64, sectors: u32) -> Request {
    Request { id, op, lba: Lba(lba), sectors, asynchronous: false }
}

fn run(config: &str, arrivals: &[(ModelNs, Request)], until: ModelNs) -> (Vec<Completion>, Report) {
    let mut array: Array = array(config);
    let mut done = play(&mut array, arrivals);
    array.advance(until, &mut done);
    (done, array.finish(until))
}

const MIRROR: &str = "drives = 2\nlayout = { kind = 'raid1' }\nphase = 'same'\n";

#[test]
fn a_write_ends_with_its_first_copy_and_the_other_follows_in_idle_time() {
    let writes = [(ModelNs(0), request(0, Op::Write, 8000, 8))];
    let (later, report) = run(MIRROR, &writes, ModelNs(100 * MS));
    assert_eq!((report.counters.propagated, report.counters.pending), (1, 0));
    assert_eq!(report.drives.iter().map(|d| d.commands).collect::<Vec<_>>(), [1, 1]);
    let (at_once, report) = run(&format!("{MIRROR}propagation = 'foreground'"), &writes, ModelNs(100 * MS));
    assert_eq!(report.counters.propagated, 0);
    assert!(later[0].done <= at_once[0].done);
    let (_, report) = run(&format!("{MIRROR}propagation = 'none'"), &writes, ModelNs(100 * MS));
    assert_eq!(report.drives.iter().map(|d| d.commands).sum::<u64>(), 1);
}

#[test]
fn idle_time_begins_after_the_configured_delay() {
    let writes = [(ModelNs(0), request(0, Op::Write, 8000, 8))];
    let config = format!("{MIRROR}idle_delay_ns = 50_000_000");
    let (_, before) = run(&config, &writes, ModelNs(49 * MS));
    assert_eq!((before.counters.propagated, before.counters.pending), (0, 1));
    let (_, after) = run(&config, &writes, ModelNs(120 * MS));
    assert_eq!((after.counters.propagated, after.counters.pending), (1, 0));
}

#[test]
fn a_full_list_makes_a_write_end_with_its_last_copy() {
    let writes: Vec<_> = (0..20).map(|id| (ModelNs(0), request(id, Op::Write, id * 800, 8))).collect();
    let (_, roomy) = run(MIRROR, &writes, ModelNs(2000 * MS));
    assert_eq!((roomy.counters.propagation_forced, roomy.counters.propagated), (0, 20));
    let (_, tight) = run(&format!("{MIRROR}nvram_entries = 5"), &writes, ModelNs(2000 * MS));
    assert!(tight.counters.propagation_forced > 0);
    assert_eq!(tight.counters.propagation_forced + tight.counters.propagated, 20);
}

#[test]
fn a_newer_write_of_the_same_sectors_makes_a_pending_copy_needless() {
    // The second write comes while both drives work, so no copy of the first has followed yet.
    let writes: Vec<_> = (0..10).map(|id| (ModelNs(0), request(id, Op::Write, 8000, 8))).collect();
    let (_, report) = run(MIRROR, &writes, ModelNs(2000 * MS));
    assert!(report.counters.propagation_superseded > 0);
    assert_eq!(report.counters.pending, 0);
    let commands: u64 = report.drives.iter().map(|d| d.commands).sum();
    assert_eq!(commands, 10 + report.counters.propagated);
}

#[test]
fn a_stale_copy_is_not_read() {
    // One write, then reads of the same sectors before anything was propagated: all go to the drive that was written.
    let config = format!("{MIRROR}idle_delay_ns = 10_000_000_000\nread_choice = 'round_robin'");
    let mut arrivals = vec![(ModelNs(0), request(0, Op::Write, 8000, 8))];
    arrivals.extend((1..9).map(|id| (ModelNs(id as i64 * 50 * MS), request(id, Op::Read, 8000, 8))));
    let (_, report) = run(&config, &arrivals, ModelNs(500 * MS));
    let mut commands: Vec<u64> = report.drives.iter().map(|d| d.commands).collect();
    commands.sort_unstable();
    assert_eq!(commands, [0, 9]);
}

#[test]
fn a_read_of_which_every_copy_is_stale_somewhere_waits_for_one_copy_to_follow() {
    // Round robin has no say in writes; two writes at once go to different drives.
    let config = format!("{MIRROR}idle_delay_ns = 10_000_000_000");
    let arrivals = [
        (ModelNs(0), request(0, Op::Write, 8000, 8)),
        (ModelNs(0), request(1, Op::Write, 8008, 8)),
        (ModelNs(100 * MS), request(2, Op::Read, 8000, 16)),
    ];
    let (done, report) = run(&config, &arrivals, ModelNs(500 * MS));
    assert_eq!(report.counters.reads_after_propagation, 1);
    assert_eq!((report.counters.propagated, report.counters.pending), (1, 1));
    assert!(done.iter().any(|c| c.request.id == 2 && c.served));
}

#[test]
fn rotational_replicas_are_written_one_after_another_on_their_disk() {
    let config = "drives = 3\nlayout = { kind = 'sr', ds = 1, dr = 3 }\nscheduler = 'rsatf'\nstripe_unit = 16";
    let (_, report) = run(config, &[(ModelNs(0), request(0, Op::Write, 800, 8))], ModelNs(500 * MS));
    assert_eq!(report.counters.propagated, 2);
    assert_eq!(report.drives.iter().map(|d| d.commands).max(), Some(3));
}
