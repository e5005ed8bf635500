//! Any text is a DiskSim configuration or refused with a reason, never a panic; includes reach only the files of the
//! input. A drive that was imported is the same after it was written as TOML and read back.

#![no_main]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iojoule_disk::spec::DriveKind;
use iojoule_disk::{DriveSpec, Model, import};
use libfuzzer_sys::fuzz_target;

/// Tables of a model grow with its tracks; larger ones only cost time here.
const TRACKS: u32 = 200_000;

fuzz_target!(|text: &str| {
    // Files follow each other, each after a line `--- name`; what stands first is the file that is read.
    let mut files = BTreeMap::new();
    for (i, part) in text.split("\n--- ").enumerate() {
        let (name, content) = if i == 0 { ("main", part) } else { part.split_once('\n').unwrap_or((part, "")) };
        files.insert(PathBuf::from(name), content.to_owned());
    }
    let Ok(system) = import::system_from(&files, Path::new("main"), &[]) else { return };
    for drive in system.drives.iter().take(4) {
        let toml = drive.spec.to_toml().expect("every figure has a form");
        assert_eq!(DriveSpec::from_toml(&toml).as_ref(), Ok(&drive.spec));
        if let DriveKind::HardDisk(disk) = &drive.spec.kind
            && disk.surfaces.saturating_mul(disk.cylinders) < TRACKS
        {
            let _ = Model::new(&drive.spec);
        }
    }
});
