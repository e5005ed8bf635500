//! DiskSim's parameter files: every one of the reference data is understood, and says what its provenance table says.

#![allow(clippy::unwrap_used)]

mod reference;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iojoule_disk::import::{self, CopyChoice, ParityRotation, Redundancy, Scheduling, System};
use iojoule_disk::spec::{Caching, FastWrite, HardDiskSpec, Mapping, Prefetch, Seek, Sparing};
use iojoule_disk::{DiskError, DriveSpec};
use reference::reference_data;

/// Name, rpm, cylinders, surfaces, sectors, zones, points of the seek curve.
type Row = (&'static str, f64, u32, u32, u64, usize, Option<usize>);

/// `shared/data/disksim/SOURCE.md`, "Disks".
const DISKS: [Row; 8] = [
    ("atlas10k", 10025.0, 10042, 6, 17_938_986, 24, Some(138)),
    ("cheetah9LP", 10045.0, 6962, 12, 17_783_240, 11, Some(106)),
    ("barracuda", 7200.0, 5172, 5, 4_110_000, 11, Some(87)),
    ("atlas_III", 7200.0, 8057, 10, 17_783_250, 9, Some(117)),
    ("hp_c2247a", 5400.0, 2051, 13, 2_054_864, 8, None),
    ("hp_c2490a", 6398.0, 2629, 18, 4_165_272, 11, Some(64)),
    ("dec_rz26", 5360.0, 2599, 14, 2_050_860, 1, Some(64)),
    ("hp_c2249a", 5400.0, 2051, 17, 2_687_632, 8, None),
];

fn folder() -> Option<PathBuf> {
    reference_data("data/disksim")
}

fn disk(name: &str) -> Option<HardDiskSpec> {
    let spec = import::disksim(&folder()?.join(format!("{name}.diskspecs")), None).unwrap();
    Some(spec.hard_disk().unwrap().clone())
}

/// A system from memory.
fn of(files: &[(&str, &str)]) -> Result<System, DiskError> {
    let files: BTreeMap<PathBuf, String> = files.iter().map(|(n, t)| (PathBuf::from(n), t.to_string())).collect();
    import::system_from(&files, Path::new("main.parv"), &[])
}

fn refusal(text: &str) -> String {
    of(&[("main.parv", text)]).unwrap_err().to_string()
}

#[test]
fn every_disk_has_the_rotation_cylinders_surfaces_sectors_zones_and_seek_points_of_its_provenance_table() {
    if folder().is_none() {
        return;
    }
    for (name, rpm, cylinders, surfaces, sectors, zones, points) in DISKS {
        let disk = disk(name).unwrap();
        assert_eq!((disk.rpm, disk.cylinders, disk.surfaces), (rpm, cylinders, surfaces), "{name}");
        assert_eq!((disk.sectors, disk.zones.len()), (sectors, zones), "{name}");
        match (&disk.seek, points) {
            (Seek::Table(table), Some(points)) => assert_eq!(table.len(), points, "{name}"),
            (Seek::FirstThenFormula { first, formula }, None) => {
                assert_eq!((first.len(), formula.divide), (10, 300), "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn every_parv_of_the_reference_data_is_understood() {
    let Some(folder) = folder() else { return };
    let mut count = 0;
    for sub in [folder.clone(), folder.join("arrays")] {
        for entry in std::fs::read_dir(sub).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "parv") {
                let system = import::system(&path).unwrap_or_else(|error| panic!("{error}"));
                assert!(!system.drives.is_empty() && !system.organisations.is_empty(), "{}", path.display());
                count += 1;
            }
        }
    }
    assert_eq!(count, 11 + 11);
}

#[test]
fn the_atlas_10k_is_read_to_the_last_figure() {
    let Some(disk) = disk("atlas10k") else { return };
    let Seek::Table(points) = &disk.seek else { panic!() };
    assert_eq!(points[..2], [(1, 1.245), (2, 1.157)], "measured curves are not monotone");
    assert_eq!((disk.head_switch_ms, disk.write_settle_ms), (0.176, 0.487));
    assert_eq!((disk.mapping, disk.sparing), (Mapping::SerpentineInZone, Sparing::PerZone));
    let zone = &disk.zones[0];
    assert_eq!((zone.first_cylinder, zone.last_cylinder, zone.sectors_per_track), (0, 432, 334));
    assert_eq!((zone.track_skew, zone.cylinder_skew, zone.spares), (63.0, 113.0, 89));
    assert_eq!(zone.slips, [55_017, 358_148, 394_564, 420_533, 483_742]);
    assert_eq!((disk.cache.segments, disk.cache.segment_sectors), (10, 374));
    assert_eq!((disk.cache.caching, disk.cache.prefetch), (Caching::On, Prefetch::NextTrack));
    assert_eq!((disk.cache.fast_write, disk.cache.read_free_sectors), (FastWrite::Always, true));
    assert_eq!(disk.overhead.write_miss_after_write_ms, 0.49673);
    assert_eq!(disk.bus.drive_sector_ms, 0.099);
}

#[test]
fn settling_is_negative_for_two_disks_and_offsets_are_not_zero_for_hps() {
    let (Some(dec), Some(hp), Some(old)) = (disk("dec_rz26"), disk("hp_c2490a"), disk("hp_c2247a")) else { return };
    assert_eq!((dec.write_settle_ms, hp.write_settle_ms), (-0.483, -0.642));
    assert!(old.zones.iter().any(|zone| zone.first_sector_offset == 73.0));
    assert_eq!(old.zones[0].empty_front, 1632);
}

#[test]
fn some_zones_of_the_cheetah_and_the_barracuda_do_not_touch() {
    for name in ["cheetah9LP", "barracuda"] {
        let Some(disk) = disk(name) else { return };
        let gaps = disk.zones.windows(2).filter(|z| z[0].last_cylinder + 1 != z[1].first_cylinder).count();
        assert!(gaps > 0, "{name}");
    }
}

#[test]
fn placeholders_and_ignored_figures_are_listed_as_unused() {
    let Some(folder) = folder() else { return };
    let system = import::system(&folder.join("dec_rz26.parv")).unwrap();
    let unused = |key: &str| system.unused.iter().any(|u| u.key == key && u.file.ends_with("_validate.model"));
    assert!(unused("HPL seek equation values") && unused("Full strobe seek time"));
    let of_driver = system.unused.iter().any(|u| u.key == "Maximum concat size" && u.file.ends_with(".parv"));
    assert!(of_driver);
}

#[test]
fn the_bus_of_a_parv_belongs_to_its_drives() {
    let Some(folder) = folder() else { return };
    let spec = import::disksim(&folder.join("hp_c2247a.parv"), None).unwrap();
    let bus = &spec.hard_disk().unwrap().bus;
    assert_eq!((bus.read_sector_ms, bus.write_sector_ms, bus.hold_for_read), (0.1701, 0.18686, true));
}

#[test]
fn a_drive_alone_takes_the_bus_of_the_system_beside_it_and_says_so() {
    let Some(folder) = folder() else { return };
    let spec = import::disksim(&folder.join("hp_c2247a.diskspecs"), None).unwrap();
    assert_eq!(spec.hard_disk().unwrap().bus.read_sector_ms, 0.1701);
    assert!(spec.source["disk.bus"].ends_with("hp_c2247a.parv, beside it"));
    let alone = import::disksim(&folder.join("hp_c2249a.diskspecs"), None).unwrap();
    assert_eq!(alone.hard_disk().unwrap().bus.read_sector_ms, 0.0);
    assert!(alone.source["disk.bus"].starts_with("none"));
}

#[test]
fn eighteen_devices_of_the_ascii_trace_have_their_drives() {
    let Some(folder) = folder() else { return };
    let system = import::system(&folder.join("ascii.parv")).unwrap();
    assert_eq!((system.drives.len(), system.devices.len()), (18, 18));
    let drive = |device: u32| system.devices.iter().find(|m| m.device == device).unwrap().drive.clone();
    assert_eq!((drive(0x0e).as_str(), drive(0x67).as_str(), drive(0x02).as_str()), ("disk0", "disk15", "disk17"));
    assert_eq!(system.driver.unwrap().scheduling, Scheduling::CycleLbn);
}

#[test]
fn three_disks_hang_on_one_bus_under_their_own_names() {
    let Some(folder) = folder() else { return };
    let path = folder.join("3disks_b.parv");
    let system = import::system(&path).unwrap();
    let drives: Vec<_> = system.drives.iter().map(|d| (d.name.as_str(), d.bus.as_deref())).collect();
    assert_eq!(drives, [("quantum", Some("bus1")), ("ibm", Some("bus1")), ("seagate", Some("bus1"))]);
    assert!(import::disksim(&path, None).unwrap_err().to_string().contains("SEAGATE_ST32171W"));
    assert_eq!(import::disksim(&path, Some("seagate")).unwrap().hard_disk().unwrap().cylinders, 6962);
}

#[test]
fn arrays_are_read_with_their_layouts() {
    let Some(folder) = folder() else { return };
    let array = |name: &str| {
        let system = import::system(&folder.join(format!("arrays/{name}.parv"))).unwrap();
        assert_eq!(system.organisations.len(), 1);
        (system.organisations[0].clone(), system.driver.unwrap())
    };
    let (raid5, driver) = array("raid5_8_full");
    assert_eq!(raid5.redundancy, Redundancy::RotatedParity(ParityRotation::LeftSymmetric));
    assert_eq!((raid5.drives.len(), raid5.stripe_unit, raid5.rmw_share), (8, 128, 0.5));
    assert!(raid5.drives[7] == "disk7" && raid5.striped && !driver.queueing_in_drives);
    assert_eq!(array("raid4_5_bare").0.redundancy, Redundancy::ParityDisk);
    let mirror = |choice| Redundancy::Mirrored { copies: 2, choice };
    assert_eq!(array("mirror2_sq_bare").0.redundancy, mirror(CopyChoice::ShortestQueueThenSeek));
    assert_eq!(array("raid10_4_rr_bare").0.redundancy, mirror(CopyChoice::RoundRobin));
    assert_eq!(array("stripe4_clook_bare").1.scheduling, Scheduling::CycleLbn);
    assert_eq!(array("stripe4_bare").1.scheduling, Scheduling::Fcfs);
    assert_eq!(array("single_bare").0.redundancy, Redundancy::None);
}

#[test]
fn what_is_imported_survives_as_toml() {
    let Some(folder) = folder() else { return };
    for (name, ..) in DISKS {
        let spec = import::disksim(&folder.join(format!("{name}.diskspecs")), None).unwrap();
        assert_eq!(DriveSpec::from_toml(&spec.to_toml().unwrap()).unwrap(), spec, "{name}");
    }
}

#[test]
fn a_model_alone_is_refused_with_a_hint() {
    let Some(folder) = folder() else { return };
    let error = import::system(&folder.join("atlas10k.model")).unwrap_err().to_string();
    assert!(error.contains("atlas10k.model:1:") && error.contains(".diskspecs"), "{error}");
}

#[test]
fn a_changed_disk_is_refused_at_the_line_of_the_change() {
    let Some(folder) = folder() else { return };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let specs = read("cheetah9LP.diskspecs");
    let (model, seek) = (read("cheetah9LP.model"), read("cheetah9LP.seek"));
    let with = |specs: &str, model: &str, seek: &str| {
        of(&[("main.parv", specs), ("cheetah9LP.model", model), ("cheetah9LP.seek", seek)])
    };
    assert!(with(&specs, &model, &seek).is_ok());
    let refused = |specs: &str, model: &str, seek: &str, parts: &[&str]| {
        let error = with(specs, model, seek).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    let edit = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let changed = edit(&specs, "Preseeking level = 0", "Preseeking level = 7");
    refused(&changed, &model, &seek, &["main.parv:14", "Preseeking level", "7", "from 0 to 2"]);
    let changed = edit(&specs, "Preseeking level", "Guessing level");
    refused(&changed, &model, &seek, &["main.parv", "Preseeking level"]);
    let changed = edit(&specs, "Preseeking level = 0,", "Preseeking level = 0,\n Guessing level = 1,");
    refused(&changed, &model, &seek, &["main.parv:15", "`Guessing level` is not a key of disksim_disk"]);
    let changed = edit(&model, "dm_mech_g1", "dm_mech_g9");
    refused(&specs, &changed, &seek, &["cheetah9LP.model:", "Mechanical Model", "dm_mech_g1"]);
    let changed = edit(&model, "Number of cylinders = 6962", "Number of cylinders = 6900");
    refused(&specs, &changed, &seek, &["cheetah9LP.model:", "leaves the disk's 6900"]);
    refused(&specs, &model, &edit(&seek, "2,", "1,"), &["cheetah9LP.seek:3", "distances rise"]);
    refused(&specs, &model, &edit(&seek, "106", "107"), &["cheetah9LP.seek:1", "107"]);
}

#[test]
fn what_is_asked_for_and_not_modelled_is_listed_with_its_line() {
    let Some(folder) = folder() else { return };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (model, seek) = (read("cheetah9LP.model"), read("cheetah9LP.seek"));
    let missed = |specs: &str, model: &str| -> Vec<String> {
        let files = [("main.parv", specs), ("cheetah9LP.model", model), ("cheetah9LP.seek", &seek)];
        let unused = of(&files).unwrap().unused.into_iter().filter(|u| u.matters);
        unused.map(|u| format!("{}:{} {}", u.file, u.line, u.key)).collect()
    };
    let specs = read("cheetah9LP.diskspecs");
    // It reports writes as done before they are, and holds three of them.
    assert_eq!(missed(&specs, &model), ["main.parv:35 Maximum number of write segments"]);
    let specs = specs.replacen("write segments = 3", "write segments = 1", 1);
    assert_eq!(missed(&specs, &model), [""; 0]);
    for (key, plain, asked, line) in [
        ("Allow almost read hits", "0", "1", 8),
        ("Preseeking level", "0", "1", 14),
        ("Max queue length", "1", "2", 18),
        ("Hold bus entire read xfer", "0", "1", 6),
        ("Write hit stop prefetch", "1", "0", 55),
    ] {
        let changed = specs.replacen(&format!("{key} = {plain}"), &format!("{key} = {asked}"), 1);
        assert_eq!(missed(&changed, &model), [format!("main.parv:{line} {key}")]);
    }
    let turning = model.replacen("Percent error in rpms = 0", "Percent error in rpms = 2", 1);
    assert!(missed(&specs, &turning)[0].ends_with("Percent error in rpms"));
}

#[test]
fn a_block_count_beyond_what_the_zones_hold_is_what_the_zones_hold() {
    let Some(folder) = folder() else { return };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let model = read("cheetah9LP.model").replacen("17783240", "27783240", 1);
    let files = [("main.parv", read("cheetah9LP.diskspecs")), ("cheetah9LP.model", model)];
    let seek = ("cheetah9LP.seek", read("cheetah9LP.seek"));
    let files: Vec<(&str, &str)> = files.iter().chain([&seek]).map(|(n, t)| (*n, t.as_str())).collect();
    let system = of(&files).unwrap();
    assert!(system.unused.iter().any(|u| u.key == "Block count"));
    let spec = &system.drives[0].spec;
    let sectors = spec.hard_disk().unwrap().sectors;
    assert!((17_783_240..18_000_000).contains(&sectors), "{sectors}");
    assert_eq!(iojoule_disk::Model::new(spec).unwrap().sectors(), sectors);
}

#[test]
fn includes_that_are_missing_or_turn_in_circles_are_refused() {
    let error = refusal("# a\nsource gone.diskspecs\n");
    assert!(error.starts_with("main.parv:2: `gone.diskspecs`"), "{error}");
    let error = of(&[("main.parv", "source a"), ("a", "\nsource b"), ("b", "source ./a")]).unwrap_err().to_string();
    assert_eq!(error, "b:1: `./a` includes itself");
    assert!(refusal("source").contains("needs a file name"));
    assert!(refusal("source { }").contains("needs a file name"));
}

#[test]
fn an_included_file_is_looked_for_beside_the_including_one_first() {
    let org = "disksim_logorg o { }";
    let files = [("main.parv", "source sub/a"), ("sub/a", "source b"), ("sub/b", "mistake x {}"), ("b", org)];
    assert!(of(&files).unwrap_err().to_string().starts_with("sub/b:1: a block of kind `mistake`"));
}

#[test]
fn brackets_that_do_not_match_are_refused() {
    assert!(refusal("disksim_logorg o {\n devices = [ a, b \n}").starts_with("main.parv:3: expected `,` or `]`"));
    assert!(refusal("disksim_logorg o { type = 1").contains("the file ends"));
    assert!(refusal("}").contains("expected a name"));
    assert!(refusal("disksim_bus b { a = 1 b = 2 }").contains("expected `,` or `}`"));
    assert!(refusal(&"a b { c = ".repeat(1000)).contains("nested deeper"));
}

#[test]
fn blocks_keys_and_names_that_are_not_known_are_refused() {
    assert!(refusal("disksim_simpledisk s { }").contains("`disksim_simpledisk` is not understood"));
    assert!(refusal("\ninstantiate [ a ] as B").starts_with("main.parv:2: there is no block `B`"));
    assert!(
        refusal("disksim_bus B { Read block transfer time = 0.1, Read block transfer time = 0.1 }").contains("twice")
    );
    assert!(refusal("instantiate [ a0 .. b3 ] as B").contains("is not a range"));
    assert!(refusal("instantiate [ a0 .. a9999999 ] as B").contains("is not a range"));
}
