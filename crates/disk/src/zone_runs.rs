//! Which slots of a zone's tracks hold addresses, and how far its tracks are turned: spares, slips, empty fronts and
//! skews, as in DiskSim 4.0's `dm_layout_g1`. The order of addresses over tracks is the same in all mapping schemes; they
//! only tell which head reads a track.

use crate::spec::{HardDiskSpec, Sparing, Zone};

/// How a disk keeps spares, and the surfaces they are counted over.
#[derive(Clone, Copy)]
pub(crate) struct Spares {
    pub surfaces: u32,
    pub scheme: Sparing,
    /// Cylinders of a spare range.
    pub range: u32,
}

impl Spares {
    pub fn of(disk: &HardDiskSpec) -> Self {
        Self { surfaces: disk.surfaces, scheme: disk.sparing, range: disk.spare_range_cylinders.max(1) }
    }

    /// Tracks of a zone.
    pub fn tracks(self, zone: &Zone) -> u64 {
        (u64::from(zone.last_cylinder - zone.first_cylinder) + 1) * u64::from(self.surfaces)
    }

    /// What slips are counted in, as many as the zone has: tracks where whole tracks are spared, or sectors.
    pub fn slippable(self, zone: &Zone) -> u64 {
        match self.scheme {
            Sparing::Track => self.tracks(zone),
            _ => self.tracks(zone) * u64::from(zone.sectors_per_track),
        }
    }

    /// Sectors of a zone that have an address.
    pub fn addresses(self, zone: &Zone) -> u64 {
        runs(self, zone).iter().map(|run| u64::from(run.sectors)).sum()
    }
}

/// More than any disk has by a factor of ten; keeps the tables of an impossible one out of memory.
pub(crate) const MOST_TRACKS: u64 = 1 << 25;

/// Addresses on one physical track: they begin at `slot`, and skip `holes`.
pub(crate) struct Run {
    /// Counted from the zone's start in the order of addresses.
    pub track: u32,
    pub slot: u32,
    pub sectors: u32,
    pub holes: Vec<u32>,
}

/// The tracks of a zone that hold addresses.
pub(crate) fn runs(how: Spares, zone: &Zone) -> Vec<Run> {
    let per_track = zone.sectors_per_track;
    let tracks = how.tracks(zone).min(MOST_TRACKS) as u32;
    let bad_tracks = matches!(how.scheme, Sparing::Track);
    let mut slips = zone.slips.clone();
    slips.sort_unstable();
    slips.dedup();
    let (mut dead, mut left) = (u64::from(zone.empty_front), limit(how, zone, tracks, slips.len() as u64));
    let group = match how.scheme {
        Sparing::PerTrack => 1,
        Sparing::PerRange => how.range.saturating_mul(how.surfaces),
        Sparing::None | Sparing::Track | Sparing::AtEnd | Sparing::PerZone | Sparing::PerZoneSlipToEnd => tracks,
        _ => how.surfaces,
    };
    let (mut made, mut track) = (Vec::new(), 0);
    while track < tracks && left > 0 {
        let end = track.saturating_add(group).min(tracks);
        let slots = u64::from(end - track) * u64::from(per_track);
        // What a group may hold: everything where the zone's total is what limits it.
        let (from, mut room) = match how.scheme {
            Sparing::PerTrack | Sparing::PerCylinder | Sparing::PerRange => {
                (0, slots.saturating_sub(u64::from(zone.spares)))
            }
            Sparing::PerCylinderSlipToEnd => (0, slots.saturating_sub(u64::from(zone.spares))),
            Sparing::PerCylinderFront | Sparing::PerCylinderFrontSlipToEnd => {
                (u64::from(zone.spares), slots.saturating_sub(u64::from(zone.spares)))
            }
            _ => (0, slots),
        };
        let slips_take_room = matches!(how.scheme, Sparing::PerCylinderSlipToEnd | Sparing::PerCylinderFrontSlipToEnd);
        let start = u64::from(track) * u64::from(per_track);
        for t in track..end {
            if bad_tracks && slips.binary_search(&t).is_ok() {
                continue;
            }
            let base = u64::from(t) * u64::from(per_track);
            let low = (from.saturating_sub(base - start)).min(u64::from(per_track)) as u32;
            let begin = slips.partition_point(|slip| u64::from(*slip) < base);
            let slipped =
                !bad_tracks && slips.get(begin).is_some_and(|slip| u64::from(*slip) < base + u64::from(per_track));
            let mut run = Run { track: t, slot: low, sectors: 0, holes: Vec::new() };
            if !slipped {
                let usable = u64::from(per_track - low).min(room);
                room -= usable;
                let skipped = usable.min(dead);
                dead -= skipped;
                run.slot += skipped as u32;
                run.sectors = (usable - skipped).min(left) as u32;
                left -= u64::from(run.sectors);
            } else {
                for slot in low..per_track {
                    if room == 0 || left == 0 {
                        break;
                    }
                    if slips.binary_search(&((base + u64::from(slot)) as u32)).is_ok() {
                        if run.sectors > 0 {
                            run.holes.push(slot);
                        }
                        room -= u64::from(slips_take_room);
                        continue;
                    }
                    room -= 1;
                    if dead > 0 {
                        dead -= 1;
                        continue;
                    }
                    if run.sectors == 0 {
                        run.slot = slot;
                    }
                    run.sectors += 1;
                    left -= 1;
                }
            }
            if run.sectors > 0 {
                made.push(run);
            }
        }
        track = end;
    }
    made
}

/// How many addresses a zone of `tracks` tracks holds at most: fewer where slips outnumber the spares they move up to.
fn limit(how: Spares, zone: &Zone, tracks: u32, slips: u64) -> u64 {
    let (tracks, spares, per_track) = (u64::from(tracks), u64::from(zone.spares), u64::from(zone.sectors_per_track));
    let cylinders = tracks / u64::from(how.surfaces);
    let kept = match how.scheme {
        Sparing::None => 0,
        Sparing::Track => spares * per_track,
        Sparing::PerTrack => spares * tracks,
        Sparing::PerCylinder | Sparing::PerCylinderFront => spares * cylinders,
        Sparing::PerCylinderSlipToEnd | Sparing::PerCylinderFrontSlipToEnd => spares * cylinders + slips,
        Sparing::AtEnd => slips,
        Sparing::PerRange => spares * (cylinders / u64::from(how.range)),
        Sparing::PerZone => spares,
        Sparing::PerZoneSlipToEnd => spares + slips,
    };
    (tracks * per_track).saturating_sub(kept + u64::from(zone.empty_front))
}

/// How far slot 0 of a zone's track is turned from the index mark, in sectors of that zone; `slips` are the zone's, rising.
pub(crate) fn turn(disk: &HardDiskSpec, zone: &Zone, slips: &[u32], track: u32) -> f64 {
    let (cylinder, surface) = (track / disk.surfaces, track % disk.surfaces);
    let switches = surface + (disk.surfaces - 1) * cylinder;
    // In these schemes a slip moves everything behind it, skews included.
    let behind = match disk.sparing {
        Sparing::PerTrack => Some(track),
        Sparing::PerCylinder
        | Sparing::PerCylinderFront
        | Sparing::PerCylinderSlipToEnd
        | Sparing::PerCylinderFrontSlipToEnd => Some(cylinder * disk.surfaces),
        _ => None,
    };
    let pushed = behind.map_or(0, |tracks| {
        let cut = u64::from(tracks) * u64::from(zone.sectors_per_track);
        slips.partition_point(|slip| u64::from(*slip) < cut)
    });
    zone.first_sector_offset
        + f64::from(switches) * zone.track_skew
        + f64::from(cylinder) * zone.cylinder_skew
        + pushed as f64
}
