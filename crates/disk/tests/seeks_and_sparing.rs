//! Seek curves and sparing schemes on disks small enough to count by hand.
#![allow(clippy::unwrap_used)]

use iojoule_disk::spec::{RuemmlerWilkes, Seek};
use iojoule_disk::{DriveSpec, Model};
use iojoule_units::Lba;

/// Two surfaces, two cylinders, ten sectors to a track.
fn small(sparing: &str, zone: &str) -> DriveSpec {
    let sectors = |kept: u64| 40 - kept;
    let kept = match sparing {
        "none" => 0,
        "at_end" | "per_zone" => 2,
        "per_cylinder" | "per_range" => 4,
        "per_track" => 8,
        _ => 10,
    };
    let text = format!(
        "name = \"small\"\n[disk]\nsurfaces = 2\ncylinders = 2\nsectors = {}\nrpm = 6000\nhead_switch_ms = 1.0\n\
         sparing = \"{sparing}\"\n[disk.seek]\nconstant = {{ ms = 2.0 }}\n[[disk.zones]]\nfirst_cylinder = 0\n\
         last_cylinder = 1\nsectors_per_track = 10\ntrack_skew = 2\ncylinder_skew = 3\n{zone}\n",
        sectors(kept)
    );
    DriveSpec::from_toml(&text).unwrap()
}

/// First address, sectors and angle (in sectors) of each track.
fn tracks(spec: &DriveSpec) -> Vec<(u64, u32, f64)> {
    let model = Model::new(spec).unwrap();
    let geometry = model.geometry().unwrap();
    let sector = model.rotation().unwrap().0 as f64 / 10.0;
    let rows = (0..geometry.tracks()).map(|index| geometry.track(index));
    rows.map(|t| (t.first.0, t.sectors, (f64::from(t.angle) / sector).round())).collect()
}

/// How many sectors behind its track's first an address passes.
fn behind(spec: &DriveSpec, lba: u64) -> f64 {
    let model = Model::new(spec).unwrap();
    let (track, place) = (model.geometry().unwrap().track_of(Lba(lba)), model.place(Lba(lba)));
    ((f64::from(place.angle) - f64::from(track.angle)) / track.sector_ns).rem_euclid(10.0).round()
}

#[test]
fn each_track_is_turned_by_the_track_skew_and_each_cylinder_by_the_cylinder_skew() {
    assert_eq!(tracks(&small("none", "")), [(0, 10, 0.0), (10, 10, 2.0), (20, 10, 5.0), (30, 10, 7.0)]);
}

#[test]
fn a_slipped_sector_is_passed_over_and_addresses_move_up_to_the_spares() {
    let spec = small("per_zone", "spares = 2\nslips = [3, 12]");
    let firsts: Vec<_> = tracks(&spec).into_iter().map(|(first, sectors, _)| (first, sectors)).collect();
    assert_eq!(firsts, [(0, 9), (9, 9), (18, 10), (28, 10)]);
    assert_eq!([behind(&spec, 2), behind(&spec, 3), behind(&spec, 8)], [2.0, 4.0, 9.0]);
    assert_eq!([behind(&spec, 10), behind(&spec, 11)], [1.0, 3.0]);
}

#[test]
fn spares_of_a_cylinder_a_track_a_range_stay_at_its_end() {
    let counts = |spec: &DriveSpec| tracks(spec).iter().map(|(_, sectors, _)| *sectors).collect::<Vec<_>>();
    assert_eq!(counts(&small("per_cylinder", "spares = 2")), [10, 8, 10, 8]);
    assert_eq!(counts(&small("per_cylinder", "spares = 2\nslips = [4]")), [9, 9, 10, 8]);
    assert_eq!(counts(&small("per_track", "spares = 2")), [8, 8, 8, 8]);
    assert_eq!(counts(&small("per_range", "spares = 2")), [10, 8, 10, 8]);
    assert_eq!(counts(&small("at_end", "slips = [1, 2]")), [8, 10, 10, 10]);
}

#[test]
fn a_bad_track_is_left_out_whole() {
    let rows = tracks(&small("track", "spares = 1\nslips = [1]"));
    assert_eq!(rows, [(0, 10, 0.0), (10, 10, 5.0), (20, 10, 7.0)]);
}

#[test]
fn more_addresses_than_the_zones_hold_and_slips_beyond_a_zone_are_refused() {
    let mut spec = small("none", "");
    let iojoule_disk::DriveKind::HardDisk(disk) = &mut spec.kind else { unreachable!() };
    disk.sectors = 41;
    assert_eq!(Model::new(&spec).unwrap_err().to_string(), "drive `small`: disk.sectors = 41: the zones hold only 40");
    let refused = |sparing, zone| Model::new(&small(sparing, zone)).unwrap_err().to_string();
    let beyond = "drive `small`: disk.zones[0].slips = 40: beyond the end of the zone";
    assert_eq!(refused("per_zone", "spares = 2\nslips = [3, 40]"), beyond);
    // Where whole tracks are spared, slips are counted in tracks: there are four.
    assert!(refused("track", "spares = 1\nslips = [4]").contains("slips = 4"));
}

#[test]
fn more_cylinders_or_tracks_than_any_disk_has_are_refused_before_a_table_is_made_of_them() {
    let refused = |cylinders: u32, last: u32| {
        let mut spec = small("none", "");
        let iojoule_disk::DriveKind::HardDisk(disk) = &mut spec.kind else { unreachable!() };
        (disk.cylinders, disk.surfaces, disk.zones[0].last_cylinder) = (cylinders, 1000, last);
        Model::new(&spec).unwrap_err().to_string()
    };
    assert!(refused(u32::MAX, 1).contains("disk.cylinders"));
    assert!(refused(100_000, 99_999).contains("disk.zones[0].last_cylinder"));
}

#[test]
fn a_remapped_sector_is_taken_to_be_in_its_first_place() {
    let (with, without) =
        (small("per_zone", "spares = 2\ndefects = [{ bad = 1, instead = 39 }]"), small("per_zone", "spares = 2"));
    assert_eq!(tracks(&with), tracks(&without));
}

#[test]
fn a_seek_table_is_linear_between_its_points_and_goes_on_behind_them() {
    let table = Seek::Table(vec![(1, 1.245), (2, 1.157), (4, 1.377), (100, 3.0)]);
    assert_eq!([table.ms(1, 1000), table.ms(2, 1000), table.ms(4, 1000)], [1.245, 1.157, 1.377]);
    assert!((table.ms(3, 1000) - 1.267).abs() < 1e-12);
    assert!((table.ms(196, 1000) - 4.623).abs() < 1e-12);
}

/// Ruemmler & Wilkes 1994: the HP C2200A takes 3.45 + 0.597 √d ms below 616 cylinders, 10.8 + 0.012 d from there.
#[test]
fn the_formula_has_a_root_for_short_seeks_and_a_line_for_long_ones() {
    let formula = RuemmlerWilkes { divide: 616, a: 3.45, b: 0.597, c: 10.8, e: 0.012 };
    assert!((formula.ms(100) - 9.42).abs() < 1e-9);
    assert!((formula.ms(1000) - 22.8).abs() < 1e-9);
    let first = Seek::FirstThenFormula { first: vec![2.89, 3.68], formula };
    assert_eq!([first.ms(1, 2000), first.ms(2, 2000)], [2.89, 3.68]);
    assert_eq!(first.ms(3, 2000), formula.ms(3));
}
