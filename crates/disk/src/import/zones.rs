//! `dm_layout_g1`: mapping, sparing and zones.

use super::fields::{Fields, Unused};
use super::syntax::{Block, Value};
use super::token::Text;
use crate::DiskError;
use crate::spec::{Mapping, Remap, Sparing, Zone};
use crate::zone_runs::{MOST_TRACKS, Spares};

pub(super) struct Layout {
    pub mapping: Mapping,
    pub sparing: Sparing,
    pub spare_range_cylinders: u32,
    pub zones: Vec<Zone>,
}

impl Layout {
    /// Sectors that have an address: what sparing keeps back is left out. More than the "Block count" for most disks.
    pub fn sectors(&self, surfaces: u32) -> u64 {
        let spares = Spares { surfaces, scheme: self.sparing, range: self.spare_range_cylinders };
        self.zones.iter().map(|zone| spares.addresses(zone)).sum()
    }
}

/// In the order of DiskSim's numbers.
const MAPPINGS: [Mapping; 3] = [Mapping::Cylinder, Mapping::SerpentineInZone, Mapping::Serpentine];
const SPARINGS: [Sparing; 11] = [
    Sparing::None,
    Sparing::Track,
    Sparing::PerCylinder,
    Sparing::PerTrack,
    Sparing::PerCylinderSlipToEnd,
    Sparing::PerCylinderFront,
    Sparing::PerCylinderFrontSlipToEnd,
    Sparing::AtEnd,
    Sparing::PerRange,
    Sparing::PerZone,
    Sparing::PerZoneSlipToEnd,
];

/// Sectors a disk of DiskSim's can have: its block numbers are 31 bits.
const MOST: u32 = i32::MAX as u32;

pub(super) fn layout(
    text: &Text,
    block: &Block,
    (cylinders, surfaces): (u32, u32),
    unused: &mut Vec<Unused>,
) -> Result<Layout, DiskError> {
    let mut fields = Fields::new(text, block)?;
    let mapping = fields.choice("LBN-to-PBN mapping scheme", &MAPPINGS)?;
    let sparing = fields.choice("Sparing scheme used", &SPARINGS)?;
    let spare_range_cylinders = fields.whole("Rangesize for sparing", 1, MOST)?;
    let skews = skew_units(&mut fields)?;
    let spares = Spares { surfaces, scheme: sparing, range: spare_range_cylinders };
    if u64::from(cylinders) * u64::from(surfaces) > MOST_TRACKS {
        return Err(
            text.error(block.at, format!("{cylinders} cylinders of {surfaces} tracks are more than any disk has"))
        );
    }
    let mut zones: Vec<Zone> = Vec::new();
    for (value, at) in fields.list("Zones")? {
        let block = match value {
            Value::Block(block) if block.kind == "dm_layout_g1_zone" => block,
            _ => return Err(text.error(*at, "a zone is a `dm_layout_g1_zone` block")),
        };
        let mut fields = Fields::new(text, block)?;
        let zone = zone(&mut fields, skews)?;
        // A zone may end one cylinder too far: the measured HP C2490A's last one does.
        let after = zones.last().is_none_or(|last| last.last_cylinder < zone.first_cylinder);
        if !after || zone.last_cylinder < zone.first_cylinder || zone.last_cylinder > cylinders {
            return Err(text.error(
                block.at,
                format!(
                    "a zone of cylinders {} to {} does not follow the one before it, or leaves the disk's {cylinders}",
                    zone.first_cylinder, zone.last_cylinder
                ),
            ));
        }
        let key = fields.need("slips")?;
        if let Some(slip) = zone.slips.iter().find(|slip| u64::from(**slip) >= spares.slippable(&zone)) {
            return Err(text.error(key.at, format!("slip {slip} is beyond the end of its zone")));
        }
        if !zone.defects.is_empty() {
            let why = "remapped sectors are taken to be in their first places";
            let key = fields.need("defects")?;
            unused.push(Unused { matters: true, ..fields.unused(key, why) });
        }
        fields.finish()?;
        zones.push(zone);
    }
    if zones.is_empty() {
        return Err(text.error(block.at, "a disk has at least one zone"));
    }
    fields.finish()?;
    Ok(Layout { mapping, sparing, spare_range_cylinders, zones })
}

/// What offsets and skews are counted in: sectors, unless the file says revolutions.
#[derive(Clone, Copy)]
enum SkewUnit {
    Sectors,
    Revolutions,
}

fn skew_units(fields: &mut Fields) -> Result<SkewUnit, DiskError> {
    if fields.maybe("Skew units").is_none() {
        return Ok(SkewUnit::Sectors);
    }
    fields.one_of("Skew units", &[("sectors", SkewUnit::Sectors), ("revolutions", SkewUnit::Revolutions)])
}

fn zone(fields: &mut Fields, skews: SkewUnit) -> Result<Zone, DiskError> {
    let own = if fields.maybe("Skew units").is_some() { skew_units(fields)? } else { skews };
    let sectors_per_track = fields.whole("Blocks per track", 1, 1 << 20)?;
    let unit = match own {
        SkewUnit::Sectors => 1.0,
        SkewUnit::Revolutions => f64::from(sectors_per_track),
    };
    let most = f64::from(sectors_per_track) / unit;
    // Negative skews asked old versions of DiskSim to compute them; version 4.0 refuses them as well.
    Ok(Zone {
        first_cylinder: fields.whole("First cylinder number", 0, MOST)?,
        last_cylinder: fields.whole("Last cylinder number", 0, MOST)?,
        sectors_per_track,
        first_sector_offset: unit * fields.number("Offset of first block", 0.0, most)?,
        empty_front: fields.whole("Empty space at zone front", 0, MOST)?,
        track_skew: unit * fields.maybe_number("Skew for track switch", 0.0, most)?.unwrap_or(0.0),
        cylinder_skew: unit * fields.maybe_number("Skew for cylinder switch", 0.0, most)?.unwrap_or(0.0),
        spares: fields.whole("Number of spares", 0, MOST)?,
        slips: sectors(fields, "slips")?,
        defects: remaps(fields)?,
    })
}

fn sectors(fields: &mut Fields, name: &str) -> Result<Vec<u32>, DiskError> {
    let numbers = fields.numbers(name)?;
    let whole = |n: f64| (n.fract() == 0.0 && n >= 0.0 && n <= f64::from(MOST)).then_some(n as u32);
    let sectors: Option<Vec<u32>> = numbers.into_iter().map(whole).collect();
    let key = fields.need(name)?;
    sectors.ok_or_else(|| fields.refuse(key, "must be sector numbers"))
}

/// Pairs in one list: the bad sector, the one instead.
fn remaps(fields: &mut Fields) -> Result<Vec<Remap>, DiskError> {
    let sectors = sectors(fields, "defects")?;
    let key = fields.need("defects")?;
    if !sectors.len().is_multiple_of(2) {
        return Err(fields.refuse(key, "must be pairs of sector numbers"));
    }
    Ok(sectors.chunks_exact(2).map(|pair| Remap { bad: pair[0], instead: pair[1] }).collect())
}
