//! A whole DiskSim 4.0 system as an array of ours: what its driver and logical organisations say, in our words. What has
//! no counterpart is refused; what is close is taken and said in a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use iojoule_array::layout::LayoutConfig;
use iojoule_array::{ArrayConfig, Phase, Propagation, ReadChoice, SchedulerKind};
use iojoule_disk::import::{
    self, Addressing, CopyChoice, Organisation, ParityRotation, Redundancy, Scheduling, System, SystemDrive, Unused,
};
use iojoule_disk::{DriveSpec, Model};

use crate::{Load, Sharing, SimError};

/// What a `.parv` says.
pub struct Imported {
    pub drive: DriveSpec,
    pub array: ArrayConfig,
    /// The load with the system's device map and time scale.
    pub load: Load,
    pub warnings: Vec<String>,
}

/// What a file asks for and is not modelled.
pub(crate) fn unmodelled(unused: &[Unused]) -> Vec<String> {
    let said =
        |Unused { file, line, key, why, .. }: &Unused| format!("{file}:{line}: `{key}` has no effect here: {why}");
    unused.iter().filter(|unused| unused.matters).map(said).collect()
}

/// Reads the system at `path`; the trace of `load` is looked through where only it can say which drives are meant.
pub fn system(path: &Path, load: &Load) -> Result<Imported, SimError> {
    let system = import::system(path).map_err(SimError::config)?;
    let refuse = |why: String| SimError::Config(format!("{}: {why}", path.display()));
    let mut warnings = unmodelled(&system.unused);
    let mut load = load.clone();
    if system.time_scale > 0.0 {
        load.speed /= system.time_scale;
    }
    let scheduler = scheduler(&system, &mut warnings);
    let arrayed: Vec<&Organisation> =
        system.organisations.iter().filter(|o| o.addressing == Addressing::Array).collect();
    let (drives, layout, stripe_unit, read_choice) = match arrayed[..] {
        [] => {
            let drives = apart(&system, &mut load).map_err(refuse)?;
            (drives, LayoutConfig::Concat {}, 1, ReadChoice::default())
        }
        [one] if system.organisations.len() == 1 => {
            let of = |name: &String| system.drives.iter().find(|d| d.name == *name);
            let drives: Vec<&SystemDrive> = one.drives.iter().filter_map(of).collect();
            let (layout, choice) = layout(one, drives.len(), &mut warnings).map_err(refuse)?;
            let unit = u32::try_from(one.stripe_unit).map_err(|_| refuse("the stripe unit is too large".into()))?;
            (drives, layout, unit, choice)
        }
        _ => return Err(refuse("one organisation addressed as an array is understood, not several".into())),
    };
    let first = drives.first().ok_or_else(|| refuse("holds no drive".into()))?;
    if drives.iter().any(|d| d.spec != first.spec) {
        return Err(refuse("its drives are of different kinds; an array has equal drives".into()));
    }
    let count = u16::try_from(drives.len()).map_err(|_| refuse("has too many drives".into()))?;
    let array = ArrayConfig {
        stripe_unit,
        scheduler,
        read_choice,
        // DiskSim answers a write when every copy is written, and turns all spindles in phase.
        propagation: Propagation::Foreground,
        phase: Phase::Same,
        ..plain(count, layout)?
    };
    Ok(Imported { drive: first.spec.clone(), array, load, warnings })
}

/// Drives addressed as themselves, one behind the other; of different kinds only those the trace asks for.
fn apart<'a>(system: &'a System, load: &mut Load) -> Result<Vec<&'a SystemDrive>, String> {
    let mut devices: BTreeMap<u32, (&SystemDrive, u64)> = BTreeMap::new();
    if system.devices.is_empty() {
        devices.extend((0..).zip(system.drives.iter().map(|drive| (drive, 0))));
    }
    for map in &system.devices {
        if map.address_bytes != 512 || map.size_sectors != 1 {
            return Err(format!("device {}: only addresses and sizes in sectors of 512 B are understood", map.device));
        }
        let drive = system.drives.iter().find(|d| d.name == map.drive);
        let drive =
            drive.ok_or_else(|| format!("device {} is mapped to `{}`, which is no drive", map.device, map.drive))?;
        devices.insert(map.device, (drive, map.offset));
    }
    let equal = devices.values().all(|(drive, _)| devices.values().all(|(other, _)| drive.spec == other.spec));
    if !equal {
        let asked = load.devices_asked().map_err(|e| e.to_string())?;
        devices.retain(|device, _| asked.contains(device));
    }
    let mut drives: Vec<&SystemDrive> = Vec::new();
    let mut places = BTreeMap::new();
    let names: BTreeSet<&str> = devices.values().map(|(drive, _)| drive.name.as_str()).collect();
    for drive in system.drives.iter().filter(|d| names.contains(d.name.as_str())) {
        let sectors = Model::new(&drive.spec).map_err(|e| e.to_string())?.sectors();
        let base = drives.len() as u64 * sectors;
        for (device, (_, offset)) in devices.iter().filter(|(_, (of, _))| of.name == drive.name) {
            places.insert(*device, (base + offset, sectors.saturating_sub(*offset)));
        }
        drives.push(drive);
    }
    load.devices = Sharing::At(places);
    Ok(drives)
}

fn layout(one: &Organisation, drives: usize, warnings: &mut Vec<String>) -> Result<(LayoutConfig, ReadChoice), String> {
    let rmw_fraction = one.rmw_share;
    let mut choice = ReadChoice::default();
    let layout = match (&one.redundancy, one.striped) {
        (Redundancy::None, _) if drives == 1 => LayoutConfig::Single {},
        (Redundancy::None, true) => LayoutConfig::Raid0 {},
        (Redundancy::None, false) => LayoutConfig::Concat {},
        (Redundancy::Mirrored { copies, choice: read }, striped) => {
            choice = read_choice(*read, warnings)?;
            match u16::try_from(*copies) {
                Ok(copies) if usize::from(copies) == drives => LayoutConfig::Raid1 {},
                Ok(copies) if striped => LayoutConfig::Raid10 { copies },
                _ => return Err("mirrored sets one behind the other are not understood".into()),
            }
        }
        (Redundancy::ParityDisk, true) => LayoutConfig::Raid4 { rmw_fraction },
        (Redundancy::RotatedParity(ParityRotation::LeftSymmetric), true) => LayoutConfig::Raid5 { rmw_fraction },
        (Redundancy::RotatedParity(_), _) => return Err("of parity rotations only left-symmetric is understood".into()),
        (Redundancy::ParityDisk, false) => return Err("parity needs striping".into()),
    };
    let parity = matches!(layout, LayoutConfig::Raid4 { .. } | LayoutConfig::Raid5 { .. });
    if parity && one.parity_unit != one.stripe_unit {
        return Err("a parity unit other than the stripe unit is not understood".into());
    }
    Ok((layout, choice))
}

fn read_choice(choice: CopyChoice, warnings: &mut Vec<String>) -> Result<ReadChoice, String> {
    match choice {
        CopyChoice::RoundRobin => Ok(ReadChoice::RoundRobin),
        CopyChoice::ShortestQueueThenSeek => Ok(ReadChoice::ShortestQueue),
        CopyChoice::ShortestQueue => {
            warnings.push("of equal queues DiskSim draws one; here the nearest sector number is read".into());
            Ok(ReadChoice::ShortestQueue)
        }
        CopyChoice::ShortestSeek => {
            warnings.push("DiskSim reads the copy with the shortest seek; here the one that is served first".into());
            Ok(ReadChoice::FirstServed)
        }
        CopyChoice::First | CopyChoice::Random => Err(format!("the copy choice {choice:?} is not understood")),
    }
}

fn scheduler(system: &System, warnings: &mut Vec<String>) -> SchedulerKind {
    let Some(driver) = system.driver else { return SchedulerKind::Fcfs };
    let several = |drive: &SystemDrive| drive.spec.hard_disk().is_ok_and(|disk| disk.queue_length > 1);
    if driver.queueing_in_drives && system.drives.iter().any(several) {
        warnings.push("the drives' own queues are not modelled; all queueing is the driver's".into());
    }
    let mut near = |kind, said: &str| {
        warnings
            .push(format!("DiskSim schedules by {said}; here {kind:?} does, by cylinder or address as it always does"));
        kind
    };
    match driver.scheduling {
        Scheduling::Fcfs => SchedulerKind::Fcfs,
        Scheduling::CycleLbn => SchedulerKind::Clook,
        Scheduling::ElevatorCyl => SchedulerKind::Look,
        Scheduling::SstfCyl => SchedulerKind::Sstf,
        Scheduling::Sptf | Scheduling::Satf => SchedulerKind::Satf,
        Scheduling::ElevatorLbn => near(SchedulerKind::Look, "LOOK over sector numbers"),
        Scheduling::SstfLbn => near(SchedulerKind::Sstf, "shortest distance of sector numbers"),
        Scheduling::CycleCyl => near(SchedulerKind::Clook, "C-LOOK over cylinders"),
    }
}

/// An array with every key at its default.
fn plain(drives: u16, layout: LayoutConfig) -> Result<ArrayConfig, SimError> {
    let config = serde_json::json!({ "drives": drives, "layout": layout });
    serde_json::from_value(config).map_err(|e| SimError::Internal(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_drives_of_a_system_do_and_ours_do_not_is_warned_of() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/disksim");
        if !folder.is_dir() {
            assert_ne!(std::env::var("IOJOULE_REQUIRE_ALL").as_deref(), Ok("1"), "the reference data are absent");
            return;
        }
        let load: Load = serde_json::from_value(serde_json::json!({})).unwrap();
        let without_effect = |name: &str| -> Vec<String> {
            let said = system(&folder.join(name), &load).unwrap().warnings;
            said.into_iter().filter(|warning| warning.contains("has no effect here")).collect()
        };
        assert_eq!(without_effect("atlas10k.parv"), [""; 0]);
        let held = without_effect("dec_rz26.parv");
        assert!(held.iter().any(|w| w.contains("dec_rz26.diskspecs:6: `Hold bus entire read xfer`")), "{held:?}");
    }
}
