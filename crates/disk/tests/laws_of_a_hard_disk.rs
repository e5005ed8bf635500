//! What holds of every hard disk, whatever its figures and whatever is asked of it.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, LazyLock};

use iojoule_disk::power::Transition;
use iojoule_disk::{Command, Drive, DriveKind, DriveSpec, Model, Op, PowerState};
use iojoule_units::{Joules, Lba, ModelNs, Nanos};
use proptest::prelude::*;

/// A measured disk, with power figures that make every state visible.
fn spec(name: &str) -> DriveSpec {
    let mut spec = DriveSpec::preset(name).unwrap();
    spec.power.active_w = Some(12.5);
    spec.power.idle_w = Some(8.0);
    spec.power.low_power_idle_w = Some(6.0);
    spec.power.standby_w = Some(1.5);
    spec.power.sleep_w = Some(0.5);
    spec.power.spin_up = Some(Transition { time_s: 4.0, energy_j: Some(80.0), w: None });
    spec.power.spin_down = Some(Transition { time_s: 1.0, energy_j: Some(10.0), w: None });
    spec
}

/// The mechanics alone: no buffer, no overheads, no bus.
fn bare(name: &str) -> DriveSpec {
    let mut spec = spec(name);
    if let DriveKind::HardDisk(disk) = &mut spec.kind {
        (disk.cache, disk.overhead, disk.bus) = Default::default();
    }
    spec
}

static MEASURED: LazyLock<Vec<Arc<Model>>> = LazyLock::new(|| {
    let names = ["atlas10k", "cheetah9LP", "barracuda", "atlas_III", "hp_c2247a", "hp_c2490a", "dec_rz26"];
    names.iter().map(|name| Model::new(&spec(name)).unwrap()).collect()
});

static BARE: LazyLock<Vec<Arc<Model>>> = LazyLock::new(|| {
    ["cheetah9LP", "hp_c2247a", "dec_rz26"].iter().map(|name| Model::new(&bare(name)).unwrap()).collect()
});

#[test]
fn tracks_follow_each_other_and_every_address_lies_on_one_of_them_within_a_rotation() {
    for model in MEASURED.iter() {
        let (geometry, rotation) = (model.geometry().unwrap(), model.rotation().unwrap());
        let mut next = 0;
        for index in 0..geometry.tracks() {
            let track = geometry.track(index);
            assert_eq!((track.index, track.first.0), (index, next));
            assert!(track.sectors > 0 && i64::from(track.angle) < rotation.0);
            assert!(f64::from(track.sectors) * track.sector_ns <= rotation.0 as f64 + 1.0);
            for lba in [next, next + u64::from(track.sectors) / 2, next + u64::from(track.sectors) - 1] {
                assert_eq!(geometry.track_of(Lba(lba)), track);
                let place = model.place(Lba(lba));
                assert_eq!((place.cylinder, place.track), (track.cylinder, index));
                assert!(i64::from(place.angle) < rotation.0);
            }
            next += u64::from(track.sectors);
        }
        assert_eq!(next, model.sectors());
    }
}

fn commands() -> impl Strategy<Value = Vec<(bool, u64, u32, i64, u8)>> {
    prop::collection::vec((any::<bool>(), any::<u64>(), 1_u32..600, 0_i64..40_000_000, any::<u8>()), 1..40)
}

fn address(model: &Model, any: u64, sectors: u32, near: u64) -> Lba {
    // Every other one close to the last, so that the buffer, tracks and cylinders come into it.
    let room = model.sectors() - u64::from(sectors);
    Lba(if any & 1 == 0 { any % room } else { (near + (any >> 1) % 400).min(room) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn states_partition_time_and_energy_is_the_sum_of_power_and_dwell(commands in commands(), disk in 0_usize..7) {
        let model = &MEASURED[disk];
        let mut drive = Drive::new(model.clone(), Nanos(1_234_567));
        drive.watch(true);
        let (mut now, mut near) = (ModelNs::ZERO, 0);
        for (read, any, sectors, think, rest) in commands {
            let op = if read { Op::Read } else { Op::Write };
            let lba = address(model, any, sectors, near);
            near = lba.0;
            let service = drive.start(now, Command { op, lba, sectors, on_track: any & 2 == 2 && sectors < 40 });
            prop_assert!(service.done > now && service.ready >= now);
            now = service.ready.max(service.done) + Nanos(think);
            match rest % 8 {
                0 => now = drive.spin_down(now, PowerState::Standby) + Nanos(think),
                1 => now = now.max(drive.spin_down(now, PowerState::LowPowerIdle)),
                2 => drive.account(now),
                3 => now = drive.spin_up(now),
                _ => {}
            }
        }
        let end = now.max(drive.busy_until()) + Nanos(5);
        drive.account(end);
        let ledger = drive.ledger();
        prop_assert_eq!(PowerState::ALL.iter().map(|state| ledger.dwell(*state).0).sum::<i64>(), end.0);
        let power = &model.spec().power;
        let sum = PowerState::ALL.iter().fold(Joules(0.0), |sum, state| {
            if ledger.dwell(*state) == Nanos::ZERO { sum } else { sum + power.watts(*state).unwrap() * ledger.dwell(*state) }
        });
        prop_assert!((ledger.energy(power).unwrap().0 - sum.0).abs() <= 1e-9 * sum.0);
        let mut at = ModelNs::ZERO;
        drive.drain_spans(|span| {
            assert_eq!(span.from, at);
            at = span.to;
        });
    }

    #[test]
    fn an_estimate_of_positioning_is_what_the_command_then_takes(
        any in prop::collection::vec((any::<bool>(), any::<u64>(), 0_i64..20_000_000), 1..60),
        disk in 0_usize..3,
    ) {
        let model = &BARE[disk];
        let mut drive = Drive::new(model.clone(), Nanos(777_777));
        let mut now = ModelNs::ZERO;
        for (read, any, think) in any {
            let op = if read { Op::Read } else { Op::Write };
            let lba = address(model, any, 1, any >> 40);
            let estimate = drive.positioner(now).time(model.place(lba), op);
            let service = drive.start(now, Command { op, lba, sectors: 1, on_track: false });
            let passes = model.geometry().unwrap().track_of(lba).sector_ns;
            let took = (service.done - now - estimate).0 as f64;
            prop_assert!((took - passes).abs() <= 1.0, "{took} ns after the estimate, a sector passes in {passes} ns");
            now = service.ready + Nanos(think);
        }
    }

    #[test]
    fn no_command_is_faster_than_its_data_and_commands_end_in_their_order(commands in commands()) {
        let model = &BARE[0];
        let mut drive = Drive::new(model.clone(), Nanos::ZERO);
        let (mut now, mut near) = (ModelNs::ZERO, 0);
        for (read, any, sectors, think, _) in commands {
            let op = if read { Op::Read } else { Op::Write };
            let lba = address(model, any, sectors, near);
            near = lba.0;
            let service = drive.start(now, Command { op, lba, sectors, on_track: false });
            // The outermost zone has the most sectors to a rotation.
            let least = f64::from(sectors) * model.geometry().unwrap().track(0).sector_ns;
            prop_assert!((service.done - now).0 as f64 >= least - 16.0);
            now = service.ready + Nanos(think);
        }
    }

    #[test]
    fn a_run_that_stays_on_its_track_never_takes_more_than_two_rotations_and_its_seek(any in any::<u64>(), sectors in 1_u32..250) {
        let model = &BARE[0];
        let mut drive = Drive::new(model.clone(), Nanos::ZERO);
        let lba = address(model, any & !1, 1, 0);
        let sectors = sectors.min(model.geometry().unwrap().track_of(lba).sectors);
        let service = drive.start(ModelNs::ZERO, Command { op: Op::Read, lba, sectors, on_track: true });
        let rotation = model.rotation().unwrap().0;
        prop_assert!((service.done - ModelNs::ZERO).0 <= 2 * rotation + rotation / 8 + 11_000_000);
    }
}

#[test]
fn a_read_elsewhere_waits_until_the_least_has_been_read_ahead() {
    let waits = |least: u32| {
        let mut spec = spec("cheetah9LP");
        if let DriveKind::HardDisk(disk) = &mut spec.kind {
            disk.cache.read_ahead_min_sectors = least;
        }
        let mut drive = Drive::new(Model::new(&spec).unwrap(), Nanos::ZERO);
        let read = |lba| Command { op: Op::Read, lba: Lba(lba), sectors: 8, on_track: false };
        let first = drive.start(ModelNs::ZERO, read(0)).ready;
        drive.start(first, read(9_000_000));
        drive.ledger().dwell(PowerState::Read)
    };
    let rotation = Nanos(5_973_121);
    assert!(waits(200) > waits(0) + Nanos(rotation.0 / 2), "200 of 254 sectors of a track");
    assert!(waits(0) < Nanos(rotation.0 / 4));
}
