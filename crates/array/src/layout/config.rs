//! The layouts by name: what a configuration says and what is built from it. A new layout is a file and a line here.

use std::sync::Arc;

use iojoule_disk::{DriveKind, Model};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Layout;
use super::concat::Concat;
use super::paraid::Paraid;
use super::paraid::space::Flavour;
use super::raid0::Raid0;
use super::raid1::Raid1;
use super::raid5::Raid5;
use super::raid10::Raid10;
use super::replicas::{Replicas, TrackShape};
use super::rotation::Rotation;
use super::single::Single;
use super::sr::{Shape, SrArray};

/// A layout, named by `kind`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum LayoutConfig {
    /// One drive as it is.
    Single {},
    /// Drives one after another.
    Concat {},
    /// Striping.
    Raid0 {},
    /// Every drive holds everything.
    Raid1 {},
    /// Striping over sets of mirrors.
    Raid10 {
        #[serde(default = "two")]
        copies: u16,
    },
    /// Striping with a parity drive.
    Raid4 {
        #[serde(default = "half")]
        rmw_fraction: f64,
    },
    /// Striping with parity on all drives in turn.
    Raid5 {
        #[serde(default = "half")]
        rmw_fraction: f64,
    },
    /// Ds × Dr × Dm of Yu et al.
    Sr {
        ds: u16,
        #[serde(default = "one")]
        dr: u16,
        #[serde(default = "one")]
        dm: u16,
    },
    /// Gears: numbers of drives, rising, the last all of them.
    Paraid {
        gears: Vec<u16>,
        #[serde(default = "raid0")]
        flavour: Flavour,
        /// Sectors of data to make room for; as many as fit where it is absent. The less, the closer replicas lie to homes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data_sectors: Option<u64>,
        #[serde(default = "half")]
        rmw_fraction: f64,
    },
}

fn one() -> u16 {
    1
}

fn two() -> u16 {
    2
}

fn half() -> f64 {
    0.5
}

fn raid0() -> Flavour {
    Flavour::Raid0
}

/// Why a layout cannot be built over these drives.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LayoutError {
    #[error("{layout} needs {needed}, not {drives} drives")]
    Drives { layout: &'static str, needed: String, drives: u16 },
    #[error("a stripe unit of {unit} sectors does not fit on a drive of {sectors}")]
    Unit { unit: u32, sectors: u64 },
    #[error("rmw_fraction is between 0 and 1")]
    Fraction,
    #[error("an SR-Array with dr above 1 needs a disk whose tracks are known")]
    NoTracks,
    #[error("dr is at most {most} on this disk: {most} track switches are all that fit in a rotation")]
    TooManyReplicas { most: u16 },
    #[error("gears rise from {least} drives or more and end with all {drives}")]
    Gears { least: u16, drives: u16 },
    #[error("the replicas of these gears do not fit beside {data_sectors} sectors of data")]
    NoRoom { data_sectors: u64 },
}

impl LayoutConfig {
    /// The name in configurations.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Single {} => "single",
            Self::Concat {} => "concat",
            Self::Raid0 {} => "raid0",
            Self::Raid1 {} => "raid1",
            Self::Raid10 { .. } => "raid10",
            Self::Raid4 { .. } => "raid4",
            Self::Raid5 { .. } => "raid5",
            Self::Sr { .. } => "sr",
            Self::Paraid { .. } => "paraid",
        }
    }

    /// The layout over `drives` drives of this model; `stripe_unit` in sectors.
    ///
    /// # Errors
    /// Where the drives are too few, too small or of the wrong kind.
    pub fn build(&self, drives: u16, stripe_unit: u32, model: &Arc<Model>) -> Result<Box<dyn Layout>, LayoutError> {
        let sectors = model.sectors();
        if stripe_unit == 0 || u64::from(stripe_unit) > sectors {
            return Err(LayoutError::Unit { unit: stripe_unit, sectors });
        }
        let need = |layout, fits: bool, needed: &dyn std::fmt::Display| {
            if fits { Ok(()) } else { Err(LayoutError::Drives { layout, needed: needed.to_string(), drives }) }
        };
        need("an array", drives > 0, &"1 or more")?;
        Ok(match *self {
            Self::Single {} => {
                need("single", drives == 1, &"1")?;
                Box::new(Single { sectors })
            }
            Self::Concat {} => Box::new(Concat { drives, drive_sectors: sectors }),
            Self::Raid0 {} => Box::new(Raid0::new(drives, stripe_unit, sectors)),
            Self::Raid1 {} => {
                need("raid1", drives > 1, &"2 or more")?;
                Box::new(Raid1 { drives, drive_sectors: sectors })
            }
            Self::Raid10 { copies } => {
                let fits = copies > 1 && drives.is_multiple_of(copies);
                need("raid10", fits, &format_args!("a multiple of its copies ({copies}, 2 or more)"))?;
                Box::new(Raid10::new(drives, copies, stripe_unit, sectors))
            }
            Self::Raid4 { rmw_fraction } | Self::Raid5 { rmw_fraction } => {
                let rotation =
                    if matches!(self, Self::Raid4 { .. }) { Rotation::Last } else { Rotation::LeftSymmetric };
                need("a parity layout", drives > 2, &"3 or more")?;
                fraction(rmw_fraction)?;
                Box::new(Raid5::new(drives, stripe_unit, sectors, rotation, rmw_fraction))
            }
            Self::Sr { ds, dr, dm } => {
                let shape = Shape { ds, dr, dm };
                let product = u64::from(ds) * u64::from(dr) * u64::from(dm);
                let fits = product == u64::from(drives) && product > 0;
                need("sr", fits, &format_args!("{ds} x {dr} x {dm}"))?;
                Box::new(sr(shape, stripe_unit, model)?)
            }
            Self::Paraid { ref gears, flavour, data_sectors, rmw_fraction } => {
                fraction(rmw_fraction)?;
                let least = if flavour == Flavour::Raid5 { 3 } else { 1 };
                let rising = gears.windows(2).all(|pair| pair[0] < pair[1]);
                if gears.first().is_none_or(|&n| n < least) || gears.last() != Some(&drives) || !rising {
                    return Err(LayoutError::Gears { least, drives });
                }
                let layout = Paraid::new(gears, flavour, stripe_unit, sectors, data_sectors, rmw_fraction);
                let no_room = LayoutError::NoRoom { data_sectors: data_sectors.unwrap_or(0) };
                Box::new(layout.ok_or(no_room)?)
            }
        })
    }
}

fn fraction(fraction: f64) -> Result<(), LayoutError> {
    if (0.0..=1.0).contains(&fraction) { Ok(()) } else { Err(LayoutError::Fraction) }
}

/// The tracks in the first 1/Ds of the cylinders, and the groups of Dr among them.
fn sr(shape: Shape, unit: u32, model: &Model) -> Result<SrArray, LayoutError> {
    let Some(geometry) = model.geometry() else {
        if shape.dr > 1 {
            return Err(LayoutError::NoTracks);
        }
        return Ok(SrArray::new(shape, unit, model.sectors() / u64::from(shape.ds), None));
    };
    let tracks = || (0..geometry.tracks()).map(|index| geometry.track(index));
    let cylinders = 1 + tracks().map(|track| track.cylinder).max().unwrap_or(0);
    let used = cylinders.div_ceil(u32::from(shape.ds));
    let used_tracks = || tracks().take_while(move |track| track.cylinder < used);
    let disk_sectors: u64 = used_tracks().map(|track| u64::from(track.sectors)).sum();
    let mut replicas = None;
    if shape.dr > 1 {
        let rotation = model.rotation().ok_or(LayoutError::NoTracks)?.0 as f64;
        if let DriveKind::HardDisk(disk) = &model.spec().kind {
            let most = (rotation / (disk.head_switch_ms * 1e6)).min(f64::from(u16::MAX)) as u16;
            if shape.dr > most {
                return Err(LayoutError::TooManyReplicas { most });
            }
        }
        let shapes = used_tracks().map(|track| TrackShape {
            first: track.first,
            sectors: track.sectors,
            angle: track.angle,
            sector_ns: track.sector_ns,
        });
        replicas = Some(Replicas::new(shapes, rotation, usize::from(shape.dr)));
    }
    let stored = replicas.as_ref().map_or(disk_sectors, Replicas::sectors);
    if stored < u64::from(unit) {
        return Err(LayoutError::Unit { unit, sectors: stored });
    }
    Ok(SrArray::new(shape, unit, disk_sectors, replicas))
}
