//! The layouts by name, and an SR-Array on a disk as it was measured.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use iojoule_disk::{DriveSpec, Model, Op};
use iojoule_units::Lba;

use super::super::{LayoutConfig, LayoutError};
use super::planned;
use crate::Health;

fn cheetah() -> Arc<Model> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../disk/presets/cheetah9LP.toml");
    Model::new(&DriveSpec::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()).unwrap()
}

#[test]
fn capacities_are_those_of_the_textbook() {
    let model = cheetah();
    let disk = model.sectors();
    let capacity = |config: LayoutConfig, drives| config.build(drives, 128, &model).unwrap().capacity();
    let units = disk / 128 * 128;
    assert_eq!(capacity(LayoutConfig::Single {}, 1), disk);
    assert_eq!(capacity(LayoutConfig::Concat {}, 3), 3 * disk);
    assert_eq!(capacity(LayoutConfig::Raid0 {}, 4), 4 * units);
    assert_eq!(capacity(LayoutConfig::Raid1 {}, 4), disk);
    assert_eq!(capacity(LayoutConfig::Raid10 { copies: 2 }, 4), 2 * units);
    assert_eq!(capacity(LayoutConfig::Raid4 { rmw_fraction: 0.5 }, 5), 4 * units);
    assert_eq!(capacity(LayoutConfig::Raid5 { rmw_fraction: 0.5 }, 8), 7 * units);
    let paraid = |gears, flavour| LayoutConfig::Paraid { gears, flavour, data_sectors: None, rmw_fraction: 0.5 };
    let half = capacity(paraid(vec![2, 4], super::super::paraid::space::Flavour::Raid0), 4);
    assert!(half.abs_diff(2 * disk) < 4 * 256);
}

#[test]
fn an_sr_array_offers_one_disk_and_what_the_longer_outer_tracks_add() {
    let model = cheetah();
    let disk = model.sectors() as f64;
    for (ds, dr, dm) in [(1, 1, 1), (6, 1, 1), (3, 2, 1), (2, 3, 1), (1, 6, 1), (3, 1, 2), (9, 4, 1), (1, 1, 6)] {
        let layout = LayoutConfig::Sr { ds, dr, dm }.build(ds * dr * dm, 128, &model).unwrap();
        let share = layout.capacity() as f64 / disk;
        assert!((0.99..1.3).contains(&share), "{ds} x {dr} x {dm} offers {share} disks");
    }
}

#[test]
fn replicas_on_a_measured_disk_keep_their_angles_within_half_a_sector_and_what_their_tracks_leave_out() {
    let model = cheetah();
    let geometry = model.geometry().unwrap();
    let rotation = model.rotation().unwrap().0 as f64;
    for dr in [2_u16, 3, 4, 6] {
        let mut layout = LayoutConfig::Sr { ds: 2, dr, dm: 1 }.build(2 * dr, 128, &model).unwrap();
        let health = Health::good(usize::from(2 * dr));
        let (mut cylinders, mut seen, mut exact) = (0, 0, 0);
        for lba in (0..layout.capacity()).step_by(99_991) {
            let plan = planned(&mut *layout, Op::Read, lba, 1, &health);
            let places: Vec<_> = plan.extents.iter().map(|extent| geometry.place(extent.lba)).collect();
            let tracks: HashSet<_> = places.iter().map(|place| place.track).collect();
            assert_eq!(tracks.len(), usize::from(dr));
            cylinders += usize::from(places.iter().any(|place| place.cylinder != places[0].cylinder));
            seen += 1;
            for (r, place) in places.iter().enumerate() {
                let wanted = f64::from(places[0].angle) + rotation * r as f64 / f64::from(dr);
                let error = (f64::from(place.angle) - wanted).rem_euclid(rotation);
                // Slipped and spare sectors are gaps on the track.
                let gap = |lba| {
                    let track = geometry.track_of(lba);
                    (rotation - f64::from(track.sectors) * track.sector_ns).max(0.0)
                };
                let sector = geometry.track_of(plan.extents[r].lba).sector_ns;
                let allowed = sector / 2.0 + 2.0 * (gap(plan.extents[0].lba) + gap(plan.extents[r].lba));
                assert!(error.min(rotation - error) <= allowed + 50.0, "{error} ns off at {lba}");
                exact += usize::from(error.min(rotation - error) <= sector / 2.0 + 50.0);
            }
        }
        assert!(exact * 10 > seen * usize::from(dr) * 9, "{exact} of {seen} x {dr} within half a sector");
        // Twelve heads are a multiple of each degree: groups leave a cylinder only behind a zone's odd end.
        assert!(cylinders * 20 < seen, "{cylinders} of {seen} groups leave their cylinder");
    }
}

#[test]
fn what_cannot_be_built_says_why() {
    let model = cheetah();
    let error = |config: LayoutConfig, drives, unit| config.build(drives, unit, &model).err().unwrap();
    assert!(matches!(error(LayoutConfig::Single {}, 2, 128), LayoutError::Drives { .. }));
    assert!(matches!(error(LayoutConfig::Raid5 { rmw_fraction: 0.5 }, 2, 128), LayoutError::Drives { .. }));
    assert!(matches!(error(LayoutConfig::Raid5 { rmw_fraction: 1.5 }, 5, 128), LayoutError::Fraction));
    assert!(matches!(error(LayoutConfig::Raid10 { copies: 2 }, 5, 128), LayoutError::Drives { .. }));
    assert!(matches!(error(LayoutConfig::Sr { ds: 2, dr: 3, dm: 1 }, 5, 128), LayoutError::Drives { .. }));
    assert!(matches!(error(LayoutConfig::Raid0 {}, 4, 0), LayoutError::Unit { .. }));
    let paraid = |gears, data_sectors| LayoutConfig::Paraid {
        gears,
        flavour: super::super::paraid::space::Flavour::Raid0,
        data_sectors,
        rmw_fraction: 0.5,
    };
    assert!(matches!(error(paraid(vec![4, 2], None), 4, 128), LayoutError::Gears { .. }));
    assert!(matches!(error(paraid(vec![2, 3], None), 4, 128), LayoutError::Gears { .. }));
    let too_much = 3 * model.sectors();
    assert_eq!(error(paraid(vec![2, 4], Some(too_much)), 4, 128), LayoutError::NoRoom { data_sectors: too_much });
}

#[test]
fn a_disk_with_a_slow_track_switch_takes_few_replicas() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../disk/presets/cheetah9LP.toml");
    let text = std::fs::read_to_string(path).unwrap().replace("head_switch_ms = 0.03", "head_switch_ms = 1.9");
    let model = Model::new(&DriveSpec::from_toml(&text).unwrap()).unwrap();
    let build = |dr| LayoutConfig::Sr { ds: 1, dr, dm: 1 }.build(dr, 128, &model).map(|layout| layout.capacity());
    assert!(build(3).is_ok());
    assert_eq!(build(4), Err(LayoutError::TooManyReplicas { most: 3 }));
}

#[test]
fn a_mirrored_sr_array_is_rebuilt_from_its_mirror_and_a_single_one_is_lost() {
    let model = cheetah();
    for (dm, restored) in [(1, false), (2, true)] {
        let mut layout = LayoutConfig::Sr { ds: 1, dr: 2, dm }.build(2 * dm, 128, &model).unwrap();
        let mut health = Health::good(usize::from(2 * dm));
        health.rebuilding = Some((1, Lba(0)));
        let mut plan = crate::Plan::default();
        assert_eq!(layout.rebuild(1, Lba(0), &health, &mut plan).is_some(), restored);
        assert_eq!(plan.lost, !restored);
    }
}
