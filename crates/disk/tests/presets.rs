//! The drives that come with the program: all readable, equal to what they were made from, honest about what they lack.

#![allow(clippy::unwrap_used)]

mod reference;

use iojoule_disk::power::{PowerState, Transition};
use iojoule_disk::spec::Seek;
use iojoule_disk::{DiskError, DriveKind, DriveSpec, Model, import};
use reference::{golden, reference_data};

#[test]
fn every_preset_is_readable_named_as_its_file_and_names_its_sources() {
    for name in DriveSpec::presets() {
        let spec = DriveSpec::preset(name).unwrap();
        assert_eq!(spec.name, name);
        assert!(spec.source.contains_key("drive") && spec.source.contains_key("power"), "{name}");
        let inside = match spec.kind {
            DriveKind::HardDisk(_) => "disk",
            DriveKind::Flash(_) => "flash",
            DriveKind::Datasheet(_) => "datasheet",
        };
        assert!(spec.source.keys().any(|key| key.starts_with(inside)), "{name}: where is [{inside}] from?");
        assert_eq!(DriveSpec::from_toml(&spec.to_toml().unwrap()).unwrap(), spec);
    }
    let names: Vec<_> = DriveSpec::presets().collect();
    assert!(names.is_sorted() && names.len() >= 28);
}

#[test]
fn presets_of_disksims_disks_are_what_their_files_say() {
    let Some(folder) = reference_data("data/disksim") else { return };
    for name in ["atlas10k", "cheetah9LP", "barracuda", "atlas_III", "hp_c2247a", "hp_c2490a", "dec_rz26", "hp_c2249a"]
    {
        // The C2249A has no measured trace and so no system of its own.
        let file = if name == "hp_c2249a" { "hplajw" } else { name };
        let imported = import::disksim(&folder.join(format!("{file}.parv")), None).unwrap();
        let preset = DriveSpec::preset(name).unwrap();
        assert_eq!(preset.kind, imported.kind, "{name}");
        assert_eq!(preset.power, imported.power, "{name}");
        assert!(preset.source["disk"].contains("Carnegie Mellon University"), "{name}");
    }
}

#[test]
fn a_wrong_name_is_answered_with_near_ones() {
    let near = |name| match DriveSpec::preset(name) {
        Err(DiskError::NoPreset { near, .. }) => near,
        other => panic!("{other:?}"),
    };
    assert_eq!(near("36Z15"), ["ultrastar-36z15"]);
    assert_eq!(near("cheeta9lp"), ["cheetah9LP"]);
    assert!(near("nothing like it").is_empty());
    let error = DriveSpec::preset("atlas").unwrap_err().to_string();
    assert_eq!(error, "no preset `atlas`; did you mean atlas10k, atlas_III?");
    assert_eq!(DriveSpec::preset("Cheetah_9LP").unwrap().name, "cheetah9LP", "case and signs do not matter");
}

#[test]
fn the_36z15_has_the_power_figures_of_the_reference() {
    let Some(rows) = golden("000_drive_36z15.csv") else { return };
    let value = |name: &str| rows.iter().find(|r| r["parameter"] == name).unwrap()["value"].parse::<f64>().unwrap();
    let power = DriveSpec::preset("ultrastar-36z15").unwrap().power;
    assert_eq!(power.active_w, Some(value("p_active")));
    assert_eq!((power.idle_w, power.standby_w), (Some(value("p_idle")), Some(value("p_standby"))));
    let transition =
        |t: &str| Transition { time_s: value(&format!("t_{t}")), energy_j: Some(value(&format!("e_{t}"))), w: None };
    assert_eq!(power.spin_up, Some(transition("spin_up")));
    assert_eq!(power.spin_down, Some(transition("spin_down")));
}

#[test]
fn the_36z15_reads_55_megabytes_a_second_and_seeks_for_4_1_ms_in_the_mean() {
    let spec = DriveSpec::preset("ultrastar-36z15").unwrap();
    let disk = spec.hard_disk().unwrap();
    let rotation_s = 60.0 / disk.rpm;
    let rate = f64::from(disk.zones[0].sectors_per_track) * 512.0 / rotation_s / 1e6;
    assert!((rate - 55.0).abs() < 0.1, "{rate}");
    assert!((mean_seek(&disk.seek, disk.cylinders) - 4.1).abs() < 0.001);
}

#[test]
fn the_sr_array_disk_seeks_at_most_10_ms_and_turns_in_6() {
    for name in ["seeds-002", "seeds-002-linear"] {
        let spec = DriveSpec::preset(name).unwrap();
        let disk = spec.hard_disk().unwrap();
        assert!((disk.seek.ms(disk.cylinders - 1, disk.cylinders) - 10.0).abs() < 1e-4, "{name}");
        assert_eq!((disk.rpm, disk.head_switch_ms), (10_000.0, 0.9));
        assert!(disk.sectors * 512 >= 9_099_000_000);
    }
    let linear = DriveSpec::preset("seeds-002-linear").unwrap();
    let disk = linear.hard_disk().unwrap();
    assert!((mean_seek(&disk.seek, disk.cylinders) - 10.0 / 3.0).abs() < 0.002, "a third of the maximum in the mean");
}

/// Over random pairs of cylinders, equal ones included.
fn mean_seek(seek: &Seek, cylinders: u32) -> f64 {
    let c = f64::from(cylinders);
    (1..cylinders).map(|d| 2.0 * (c - f64::from(d)) * seek.ms(d, cylinders)).sum::<f64>() / (c * c)
}

#[test]
fn drives_of_the_flash_study_have_its_figures_and_no_more() {
    let same = |golden_name: &str, presets: &[(&str, &str)], read: &str, write: &str| {
        let Some(rows) = golden(golden_name) else { return };
        assert_eq!(rows.len(), presets.len());
        for ((model, preset), row) in presets.iter().zip(&rows) {
            assert!(row["model"].starts_with(model), "{row:?}");
            let spec = DriveSpec::preset(preset).unwrap();
            let number = |key: &str| Some(row[key].parse::<f64>().unwrap());
            assert_eq!(spec.power.idle_w, number("idle_w"), "{preset}");
            assert_eq!((spec.power.read_w, spec.power.write_w), (number(read), number(write)), "{preset}");
            assert_eq!((spec.power.standby_w, spec.power.spin_up), (None, None), "{preset}");
            let DriveKind::Datasheet(sheet) = &spec.kind else { panic!("{preset}") };
            assert_eq!(sheet.capacity_gb, number("capacity_gb"), "{preset}");
            let rate = if row.contains_key("read_mb_per_s") { "read_mb_per_s" } else { "throughput_mb_per_s" };
            assert_eq!(sheet.read_mb_per_s, number(rate), "{preset}");
        }
    };
    let hdd = [
        ("Western Digital RE2", "wd4000yr"),
        ("Seagate ST3450856SS", "cheetah-15k6"),
        ("Western Digital WD1001FALS", "wd1001fals"),
        ("Samsung HD103UI", "hd103ui"),
        ("Seagate ST9250421AS", "st9250421as"),
        ("Hitachi Travelstar", "travelstar-5k500"),
    ];
    same("004_hdd.csv", &hdd, "transfer_w", "transfer_w");
    let ssd = [
        ("Samsung MCBQE32G5", "mcbqe32g5mpp"),
        ("Samsung MCCOE64G5", "mccoe64g5mpp"),
        ("Mtron", "mtron-saa7535032"),
        ("Crucial", "crucial-ct64gbfaa0"),
        ("Hama", "hama-00090853"),
    ];
    same("004_ssd.csv", &ssd, "transfer_w", "transfer_w");
    let usb = [
        ("Samsung Flash Drive", "samsung-usb-8gb"),
        ("SanDisk Cruzer Mini", "cruzer-mini-1gb"),
        ("Super Talent", "super-talent-stu1gsmbl"),
        ("CmMemory", "cmmemory-core"),
        ("SanDisk Cruzer Mini", "cruzer-mini-512mb"),
    ];
    same("004_usb.csv", &usb, "read_w", "write_w");
    let Some(access) = golden("004_access_time.csv") else { return };
    let mean = access.iter().find(|row| row["statistic"] == "Average").unwrap();
    let drives =
        [("hdd", "wd4000yr"), ("ssd", "mcbqe32g5mpp"), ("cf", "extreme-ducati-8gb"), ("usb", "samsung-usb-8gb")];
    for (device, preset) in drives {
        let DriveKind::Datasheet(sheet) = DriveSpec::preset(preset).unwrap().kind else { panic!("{preset}") };
        assert_eq!(sheet.access_ms, Some(mean[&format!("{device}_ms")].parse().unwrap()), "{preset}");
    }
}

#[test]
fn a_data_sheet_is_no_model() {
    let spec = DriveSpec::preset("wd4000yr").unwrap();
    let error = Model::new(&spec).unwrap_err().to_string();
    assert!(error.contains("`wd4000yr` cannot be simulated") && error.contains("[disk]"), "{error}");
    assert!(spec.power.watts(PowerState::Idle).is_ok() && spec.power.watts(PowerState::Standby).is_err());
}
