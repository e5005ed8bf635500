//! A flash drive through the public face: laws and rates.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use iojoule_disk::power::PowerState;
use iojoule_disk::{Command, Drive, DriveSpec, Model, Op};
use iojoule_units::{Lba, ModelNs, Nanos};
use proptest::prelude::*;

fn model() -> Arc<Model> {
    Model::new(&DriveSpec::preset("slc-ssd-2008").unwrap()).unwrap()
}

fn command(op: Op, lba: u64, sectors: u32) -> Command {
    Command { op, lba: Lba(lba), sectors, on_track: false }
}

proptest! {
    #[test]
    fn states_partition_time_and_no_command_ends_before_its_pages_are_done(
        commands in prop::collection::vec((any::<bool>(), 0u64..1_000_000, 1u32..512, 0i64..3_000_000), 1..60),
    ) {
        let mut drive = Drive::new(model(), Nanos::ZERO);
        let (mut now, mut ready) = (ModelNs::ZERO, ModelNs::ZERO);
        for (read, lba, sectors, think) in commands {
            now = ready.max(now + Nanos(think));
            let op = if read { Op::Read } else { Op::Write };
            let service = drive.start(now, command(op, lba, sectors));
            let least = if read { 125_000 } else { 300_000 };
            prop_assert!(service.done >= now + Nanos(least));
            prop_assert!(service.ready >= now && service.ready <= service.done.max(drive.busy_until()));
            ready = service.ready;
        }
        let end = drive.busy_until().max(now) + Nanos(1_000);
        drive.account(end);
        let ledger = drive.ledger();
        let dwells: i64 = PowerState::ALL.iter().map(|s| ledger.dwell(*s).0).sum();
        prop_assert_eq!(dwells, end.0);
        prop_assert!(ledger.dwell(PowerState::Idle) >= Nanos(1_000));
    }
}

#[test]
fn reading_in_sequence_takes_the_rate_of_all_channels() {
    let mut drive = Drive::new(model(), Nanos::ZERO);
    let mut now = ModelNs::ZERO;
    let (megabytes, per_command) = (64u64, 1024u32);
    for i in 0..megabytes * (1 << 20) / (512 * u64::from(per_command)) {
        now = drive.start(now, command(Op::Read, i * u64::from(per_command), per_command)).done;
    }
    let rate = (megabytes << 20) as f64 / (now - ModelNs::ZERO).as_secs_f64();
    // Eight channels, a page of 4 KiB each 125 µs.
    let expected = 8.0 * 4096.0 / 125e-6;
    assert!((rate / expected - 1.0).abs() < 1e-9, "{rate} {expected}");
}

#[test]
fn a_flash_drive_has_no_tracks_no_rotation_and_no_positioning_time() {
    let model = model();
    assert!(model.rotation().is_none() && model.geometry().is_none());
    assert_eq!(model.slots(), 8);
    let drive = Drive::new(model.clone(), Nanos::ZERO);
    assert_eq!(drive.positioner(ModelNs::ZERO).time(model.place(Lba(77)), Op::Read), Nanos::ZERO);
}
