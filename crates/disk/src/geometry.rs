//! Where every sector of a hard disk lies: a table of tracks in the order of addresses. Zones, skews, slips, spares and
//! mapping schemes as in DiskSim 4.0's `dm_layout_g1`; here they are resolved once, when the model is built.

use iojoule_units::Lba;

use crate::spec::{DriveSpec, HardDiskSpec, Zone};
use crate::zone_runs::{MOST_TRACKS, Spares, runs, turn};
use crate::{DiskError, Place};

/// A run of addresses on one track. Runs follow each other in the order of addresses without gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    pub index: u32,
    pub cylinder: u32,
    pub first: Lba,
    pub sectors: u32,
    /// The angle at which `first` begins to pass under the head, as ns after the index mark, below one rotation.
    pub angle: u32,
    /// Time a sector takes to pass, in ns.
    pub sector_ns: f64,
}

/// All tracks of a disk.
#[derive(Clone, Debug)]
pub struct Geometry {
    rotation: u32,
    sectors: u64,
    zones: Vec<ZoneIndex>,
    /// First addresses of the zones.
    zone_firsts: Vec<u64>,
    /// One entry more than there are tracks: the last holds the address behind the end.
    tracks: Vec<Entry>,
    /// `(track, slot)` of slipped sectors within tracks, rising; a slot counts from the track's first address.
    holes: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    first: u64,
    angle: u32,
    cylinder: u32,
    zone: u16,
    holed: bool,
}

#[derive(Clone, Copy, Debug)]
struct ZoneIndex {
    first: u64,
    first_track: u32,
    /// Tracks per address, 32 binary places: where to begin to look for an address.
    density: u64,
    /// Time of a sector in ns, 32 binary places.
    sector_q: u64,
    sectors_per_track: u32,
}

/// What [`Geometry::track_of`] finds on the way, for the hot path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub track: u32,
    pub cylinder: u32,
    pub angle: u32,
    /// Addresses from this one to the end of its track, itself included.
    pub left: u32,
    pub sector_q: u64,
    pub holed: bool,
}

impl Geometry {
    /// Resolves the zones of `disk`; `rotation` in ns.
    pub(crate) fn new(spec: &DriveSpec, disk: &HardDiskSpec, rotation: u32) -> Result<Self, DiskError> {
        let (zones, zone_firsts, tracks, holes) = Default::default();
        let mut built = Self { rotation, sectors: 0, zones, zone_firsts, tracks, holes };
        let mut tracks = 0;
        for (number, zone) in disk.zones.iter().enumerate() {
            let refuse = |key: &str, value: String, why: &str| DiskError::Value {
                drive: spec.name.clone(),
                key: format!("disk.zones[{number}].{key}"),
                value,
                why: why.into(),
            };
            if zone.sectors_per_track == 0 {
                return Err(refuse("sectors_per_track", "0".into(), "a track has at least one sector"));
            }
            if zone.last_cylinder < zone.first_cylinder || zone.last_cylinder > disk.cylinders {
                return Err(refuse("last_cylinder", zone.last_cylinder.to_string(), "outside the disk"));
            }
            let spares = Spares::of(disk);
            tracks += spares.tracks(zone);
            if tracks > MOST_TRACKS {
                let why = "the zones up to here have more than 33 million tracks";
                return Err(refuse("last_cylinder", zone.last_cylinder.to_string(), why));
            }
            if let Some(slip) = zone.slips.iter().find(|slip| u64::from(**slip) >= spares.slippable(zone)) {
                return Err(refuse("slips", slip.to_string(), "beyond the end of the zone"));
            }
            if number > 0 && disk.zones[number - 1].last_cylinder >= zone.first_cylinder {
                return Err(refuse("first_cylinder", zone.first_cylinder.to_string(), "inside the zone before it"));
            }
            built.add_zone(disk, zone, number as u16);
        }
        if built.sectors < disk.sectors {
            return Err(DiskError::Value {
                drive: spec.name.clone(),
                key: "disk.sectors".into(),
                value: disk.sectors.to_string(),
                why: format!("the zones hold only {}", built.sectors),
            });
        }
        built.cut(disk.sectors);
        Ok(built)
    }

    fn add_zone(&mut self, disk: &HardDiskSpec, zone: &Zone, number: u16) {
        let per_track = zone.sectors_per_track;
        let (first, first_track) = (self.sectors, self.tracks.len() as u32);
        let runs = runs(Spares::of(disk), zone);
        let mut slips = zone.slips.clone();
        slips.sort_unstable();
        for run in &runs {
            let slot = f64::from(run.slot) + turn(disk, zone, &slips, run.track);
            let angle = (slot / f64::from(per_track)).rem_euclid(1.0) * f64::from(self.rotation);
            let index = self.tracks.len() as u32;
            self.tracks.push(Entry {
                first: self.sectors,
                angle: (angle as u32).min(self.rotation - 1),
                cylinder: zone.first_cylinder + run.track / disk.surfaces,
                zone: number,
                holed: !run.holes.is_empty(),
            });
            self.holes.extend(run.holes.iter().map(|hole| (index, hole - run.slot)));
            self.sectors += u64::from(run.sectors);
        }
        let held = (self.sectors - first).max(1);
        self.zones.push(ZoneIndex {
            first,
            first_track,
            density: ((runs.len() as u64) << 32) / held,
            sector_q: (u64::from(self.rotation) << 32) / u64::from(per_track),
            sectors_per_track: per_track,
        });
    }

    /// Leaves out what lies behind `sectors`, and closes the table.
    fn cut(&mut self, sectors: u64) {
        self.sectors = sectors;
        while self.tracks.last().is_some_and(|track| track.first >= sectors) {
            self.tracks.pop();
        }
        while self.zones.last().is_some_and(|zone| zone.first >= sectors) {
            self.zones.pop();
        }
        self.zone_firsts = self.zones.iter().map(|zone| zone.first).collect();
        let tracks = self.tracks.len() as u32;
        self.holes.retain(|(track, _)| *track < tracks);
        self.tracks.push(Entry { first: sectors, angle: 0, cylinder: 0, zone: 0, holed: false });
    }

    /// Addresses of the disk.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Number of tracks that hold addresses.
    pub fn tracks(&self) -> u32 {
        self.tracks.len() as u32 - 1
    }

    /// The track with this index, counted in the order of addresses; the last one for an index beyond it.
    pub fn track(&self, index: u32) -> Track {
        let index = index.min(self.tracks() - 1);
        let (entry, next) = (self.tracks[index as usize], self.tracks[index as usize + 1]);
        Track {
            index,
            cylinder: entry.cylinder,
            first: Lba(entry.first),
            sectors: (next.first - entry.first) as u32,
            angle: entry.angle,
            sector_ns: f64::from(self.rotation) / f64::from(self.zones[usize::from(entry.zone)].sectors_per_track),
        }
    }

    /// The track on which an address lies; the last one for an address beyond the end.
    pub fn track_of(&self, lba: Lba) -> Track {
        self.track(self.index_of(lba.0))
    }

    /// Cylinder, track and angle of an address.
    pub fn place(&self, lba: Lba) -> Place {
        let spot = self.spot(lba.0);
        Place { cylinder: spot.cylinder, track: spot.track, angle: spot.angle }
    }

    /// The first address of the track on which `lba` lies, the first behind it, and its sectors, used or not; `hint` as
    /// in [`Geometry::spot_near`].
    #[inline]
    pub(crate) fn bounds(&self, hint: u32, lba: u64) -> (u64, u64, u32) {
        let track = self.index_near(hint, lba) as usize;
        let slots = self.zones[usize::from(self.tracks[track].zone)].sectors_per_track;
        (self.tracks[track].first, self.tracks[track + 1].first, slots)
    }

    /// The first address of a track.
    #[inline]
    pub(crate) fn first_of(&self, track: u32) -> u64 {
        self.tracks[track as usize].first
    }

    /// Angle of a track's first address.
    #[inline]
    pub(crate) fn angle_of(&self, track: u32) -> u32 {
        self.tracks[track as usize].angle
    }

    #[inline]
    fn index_of(&self, lba: u64) -> u32 {
        let lba = lba.min(self.sectors - 1);
        // Counting all of a few zones is quicker than a search whose branches nothing predicts.
        let zones: usize = self.zone_firsts.iter().map(|first| usize::from(*first <= lba)).sum();
        let zone = &self.zones[zones - 1];
        // Slips are few: the guess is right or a neighbour is.
        let guess = zone.first_track + (((lba - zone.first) * zone.density) >> 32) as u32;
        let mut index = guess as usize;
        while self.tracks[index].first > lba {
            index -= 1;
        }
        while self.tracks[index + 1].first <= lba {
            index += 1;
        }
        index as u32
    }

    #[inline]
    pub(crate) fn spot(&self, lba: u64) -> Spot {
        self.spot_on(self.index_of(lba), lba)
    }

    /// As [`Geometry::spot`] for an address likely to lie on track `hint` or on the next one.
    #[inline]
    pub(crate) fn spot_near(&self, hint: u32, lba: u64) -> Spot {
        self.spot_on(self.index_near(hint, lba), lba)
    }

    #[inline]
    fn index_near(&self, hint: u32, lba: u64) -> u32 {
        let hint = hint as usize;
        if lba >= self.tracks[hint].first && lba < self.sectors {
            if lba < self.tracks[hint + 1].first {
                return hint as u32;
            }
            if hint + 2 < self.tracks.len() && lba < self.tracks[hint + 2].first {
                return hint as u32 + 1;
            }
        }
        self.index_of(lba)
    }

    /// As [`Geometry::spot`] for an address known to lie on `track`.
    #[inline]
    pub(crate) fn spot_on(&self, track: u32, lba: u64) -> Spot {
        let (entry, next) = (&self.tracks[track as usize], &self.tracks[track as usize + 1]);
        let sector_q = self.zones[usize::from(entry.zone)].sector_q;
        let mut slot = lba.min(self.sectors - 1) - entry.first;
        if entry.holed {
            slot += self.holes_before(track, slot);
        }
        let mut angle = entry.angle + ((slot * sector_q) >> 32) as u32;
        if angle >= self.rotation {
            angle -= self.rotation;
        }
        let left = (next.first - lba.min(self.sectors - 1)) as u32;
        Spot { track, cylinder: entry.cylinder, angle, left, sector_q, holed: entry.holed }
    }

    /// Slots from the one of `lba` on `spot`'s track that `sectors` addresses take: more than those where some slipped.
    #[inline]
    pub(crate) fn slots(&self, spot: &Spot, lba: u64, sectors: u64) -> u64 {
        if !spot.holed || sectors == 0 {
            return sectors;
        }
        let from = lba - self.first_of(spot.track);
        let to = from + sectors - 1;
        sectors + self.holes_before(spot.track, to) - self.holes_before(spot.track, from)
    }

    /// Whole addresses from `lba` on in so many slots.
    #[inline]
    pub(crate) fn sectors_in(&self, spot: &Spot, lba: u64, slots: u64) -> u64 {
        let mut sectors = slots;
        while spot.holed && sectors > 0 && self.slots(spot, lba, sectors) > slots {
            sectors -= 1;
        }
        sectors
    }

    /// Slipped sectors in front of the `nth` address of a track.
    #[cold]
    fn holes_before(&self, track: u32, nth: u64) -> u64 {
        let begin = self.holes.partition_point(|(t, _)| *t < track);
        let mut passed = 0;
        for (_, slot) in self.holes[begin..].iter().take_while(|(t, _)| *t == track) {
            if u64::from(*slot) > nth + passed {
                break;
            }
            passed += 1;
        }
        passed
    }
}
