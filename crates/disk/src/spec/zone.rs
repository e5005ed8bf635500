//! Where sectors lie on a hard disk, in the terms of DiskSim 4.0's `dm_layout_g1`.

use serde::{Deserialize, Serialize};

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    pub first_cylinder: u32,
    /// The last one is part of the zone.
    pub last_cylinder: u32,
    pub sectors_per_track: u32,
    /// How far the zone's first sector is turned from the index mark, in sectors of this zone; may be a fraction.
    #[serde(default)]
    pub first_sector_offset: f64,
    /// Sectors at the front of the zone that hold no addresses.
    #[serde(default)]
    pub empty_front: u32,
    /// Turn of a track's first sector against the track before it, in sectors; may be a fraction.
    #[serde(default)]
    pub track_skew: f64,
    /// Turn of a cylinder's first sector against the track before it, in sectors; replaces `track_skew` there.
    #[serde(default)]
    pub cylinder_skew: f64,
    /// Spares, counted as [`Sparing`] says: tracks, or sectors of a track, cylinder, range or zone.
    #[serde(default)]
    pub spares: u32,
    /// Sectors skipped over, counted from the zone's start, rising: the addresses behind them move up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slips: Vec<u32>,
    /// Sectors (tracks, in [`Sparing::Track`]) whose addresses live elsewhere. No effect: they are taken to be in their
    /// first places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defects: Vec<Remap>,
}

/// A bad sector and the one that stands in for it, counted from the zone's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remap {
    pub bad: u32,
    pub instead: u32,
}

/// How addresses follow over the surfaces of a cylinder (DiskSim's "LBN-to-PBN mapping scheme").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mapping {
    /// Every cylinder begins at surface 0 (scheme 0).
    #[default]
    Cylinder,
    /// Every second cylinder of a zone, counted from its first, goes the other way: a change of cylinder stays on the
    /// surface (scheme 1).
    SerpentineInZone,
    /// Every odd cylinder of the disk goes the other way (scheme 2).
    Serpentine,
}

/// Where spare sectors are, and what slipping does (DiskSim's "Sparing scheme used", by number).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sparing {
    /// 0: none.
    #[default]
    None,
    /// 1: `spares` whole tracks at the end of the zone.
    Track,
    /// 2: `spares` sectors at the end of each cylinder.
    PerCylinder,
    /// 3: `spares` sectors at the end of each track.
    PerTrack,
    /// 4: as 2; slips move addresses up to the end of the zone.
    PerCylinderSlipToEnd,
    /// 5: `spares` sectors at the front of each cylinder.
    PerCylinderFront,
    /// 6: as 5; slips move addresses up to the end of the zone.
    PerCylinderFrontSlipToEnd,
    /// 7: the sectors at the end of the zone, as many as there are slips.
    AtEnd,
    /// 8: `spares` sectors at the end of each range of `spare_range_cylinders`.
    PerRange,
    /// 9: `spares` sectors at the end of the zone.
    PerZone,
    /// 10: as 9; slips take further sectors at the end.
    PerZoneSlipToEnd,
}
