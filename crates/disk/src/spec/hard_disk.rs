//! The mechanics of a hard disk: how it turns and how long its arm takes. Terms as in DiskSim 4.0's `dm_mech_g1` and in
//! Ruemmler & Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994.

use serde::{Deserialize, Serialize};

use super::{BusSpec, CacheSpec, Mapping, OverheadSpec, Sparing, Zone};

/// A hard disk. Cylinder 0 is the outermost; sectors have 512 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardDiskSpec {
    /// Recording surfaces, which is tracks per cylinder.
    pub surfaces: u32,
    pub cylinders: u32,
    /// Sectors the host can address. Zones may hold more: what sparing keeps back, and what DiskSim's files leave over.
    pub sectors: u64,
    /// Revolutions per minute.
    pub rpm: f64,
    /// How far from `rpm` a drive may be, in per cent. Without effect: all turn at `rpm`.
    #[serde(default)]
    pub rpm_error_percent: f64,
    /// From one surface to another of the same cylinder, in ms. A seek with a switch takes the longer of the two.
    pub head_switch_ms: f64,
    /// Added to every seek or head switch of a write, in ms. Negative for two measured disks.
    #[serde(default)]
    pub write_settle_ms: f64,
    /// How addresses follow over the surfaces.
    #[serde(default)]
    pub mapping: Mapping,
    /// Where spare sectors are.
    #[serde(default)]
    pub sparing: Sparing,
    /// Cylinders of a spare range; used only by [`Sparing::PerRange`].
    #[serde(default = "one")]
    pub spare_range_cylinders: u32,
    /// Time of a read's seek over a distance.
    pub seek: Seek,
    /// Time of a write's seek, before `write_settle_ms`; unset: as a read's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_seek: Option<Seek>,
    /// Requests the drive may hold at once (tagged queueing inside the drive); 1 in all presets. Without effect: it
    /// holds one, and the others wait in the array.
    #[serde(default = "one")]
    pub queue_length: u32,
    /// Mean sectors per cylinder as the drive tells a host's scheduler; not used by the drive itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_sectors_per_cylinder: Option<u32>,
    #[serde(default)]
    pub cache: CacheSpec,
    #[serde(default)]
    pub overhead: OverheadSpec,
    #[serde(default)]
    pub bus: BusSpec,
    /// From the outermost to the innermost. Zones need not touch: some disks skip cylinders between them.
    pub zones: Vec<Zone>,
}

fn one() -> u32 {
    1
}

/// Time from rest to rest over a distance in cylinders, in ms; 0 over distance 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seek {
    /// Points `(distance in cylinders, ms)`, distances rising. Linear between points; measured curves are not monotone.
    Table(Vec<(u32, f64)>),
    /// `first[d − 1]` for the first distances, then the formula: DiskSim's `hplplus10`.
    FirstThenFormula { first: Vec<f64>, formula: RuemmlerWilkes },
    /// The formula for all distances; `single` overrides distance 1.
    Formula {
        formula: RuemmlerWilkes,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        single_ms: Option<f64>,
    },
    /// The same time over every distance.
    Constant { ms: f64 },
    /// DiskSim's three-point line through single-cylinder, average (at a third of the cylinders) and full-stroke time.
    ThreePoint { single_ms: f64, average_ms: f64, full_ms: f64 },
}

/// `a + b √d` below `divide` cylinders, `c + e d` from there, in ms. Ruemmler & Wilkes 1994.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuemmlerWilkes {
    pub divide: u32,
    pub a: f64,
    pub b: f64,
    pub c: f64,
    pub e: f64,
}
