//! Figures that cannot be, told by their key before anything is made of them. What only the whole geometry shows (zones
//! that overlap or hold too little) is told by [`crate::Model::new`].

use super::{DriveKind, DriveSpec, HardDiskSpec, Seek};
use crate::DiskError;

/// Longest time of a seek, a settling or an overhead, in ms.
const LONGEST_MS: f64 = 1e5;

impl DriveSpec {
    /// Whether every figure is possible by itself.
    ///
    /// # Errors
    /// [`DiskError::Value`] with the key, the value and what would be possible.
    pub fn check(&self) -> Result<(), DiskError> {
        self.power.check(&self.name)?;
        let DriveKind::HardDisk(disk) = &self.kind else { return Ok(()) };
        let impossible = first_impossible(disk);
        impossible.map_or(Ok(()), |(key, value, why)| {
            Err(DiskError::Value { drive: self.name.clone(), key: format!("disk.{key}"), value, why: why.into() })
        })
    }
}

type Impossible = (String, String, &'static str);

fn first_impossible(disk: &HardDiskSpec) -> Option<Impossible> {
    let plain = [
        ("rpm_error_percent", disk.rpm_error_percent, 0.0, 50.0, "must be from 0 to 50"),
        ("head_switch_ms", disk.head_switch_ms, 0.0, LONGEST_MS, "must be from 0 to 100 s, in ms"),
        ("write_settle_ms", disk.write_settle_ms, -100.0, LONGEST_MS, "must be from -100 ms to 100 s, in ms"),
        ("cache.write_watermark", disk.cache.write_watermark, 0.0, 1.0, "is a share, from 0 to 1"),
        ("cache.read_watermark", disk.cache.read_watermark, 0.0, 1.0, "is a share, from 0 to 1"),
        ("overhead.scale", disk.overhead.scale, 0.0, 1e5, "must be from 0 to 100000"),
        ("bus.drive_sector_ms", disk.bus.drive_sector_ms, 0.0, LONGEST_MS, "must be from 0 to 100 s, in ms"),
        ("bus.read_sector_ms", disk.bus.read_sector_ms, 0.0, LONGEST_MS, "must be from 0 to 100 s, in ms"),
        ("bus.write_sector_ms", disk.bus.write_sector_ms, 0.0, LONGEST_MS, "must be from 0 to 100 s, in ms"),
    ];
    let figure = plain.iter().find(|(_, value, least, most, _)| !(least..=most).contains(&value));
    if let Some((key, value, _, _, why)) = figure {
        return Some(((*key).into(), value.to_string(), why));
    }
    for (key, curve) in [("seek", Some(&disk.seek)), ("write_seek", disk.write_seek.as_ref())] {
        if let Some((value, why)) = curve.and_then(impossible_curve) {
            return Some((key.into(), value, why));
        }
    }
    for (number, zone) in disk.zones.iter().enumerate() {
        for (key, value) in [
            ("first_sector_offset", zone.first_sector_offset),
            ("track_skew", zone.track_skew),
            ("cylinder_skew", zone.cylinder_skew),
        ] {
            if !(0.0..=f64::from(zone.sectors_per_track)).contains(&value) {
                let key = format!("zones[{number}].{key}");
                return Some((key, value.to_string(), "must be from 0 to the sectors of a track"));
            }
        }
    }
    None
}

fn impossible_curve(curve: &Seek) -> Option<(String, &'static str)> {
    let time = |ms: &f64| (0.0..=LONGEST_MS).contains(ms);
    let times: &[f64] = match curve {
        Seek::Table(points) => {
            if points.len() < 2 {
                return Some((format!("{} points", points.len()), "a table has at least two"));
            }
            if points[0].0 == 0 || points.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
                return Some((format!("{:?} …", points[0]), "distances rise, from 1 cylinder on"));
            }
            if let Some((_, ms)) = points.iter().find(|(_, ms)| !time(ms)) {
                return Some((ms.to_string(), "a seek takes from 0 to 100 s, in ms"));
            }
            &[]
        }
        Seek::FirstThenFormula { first, .. } => first,
        Seek::Formula { single_ms, .. } => single_ms.as_slice(),
        Seek::Constant { ms } => std::slice::from_ref(ms),
        Seek::ThreePoint { single_ms, average_ms, full_ms } => &[*single_ms, *average_ms, *full_ms],
    };
    times.iter().find(|ms| !time(ms)).map(|ms| (ms.to_string(), "a seek takes from 0 to 100 s, in ms"))
}
