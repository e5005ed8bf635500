//! The moving parts of a hard disk: an arm over turning platters. Rotation is a function of time, so nothing is stored
//! but where the arm is; all times are whole nanoseconds.

use iojoule_units::{ModelNs, Nanos};

use crate::geometry::{Geometry, Spot};
use crate::seek::SeekTable;
use crate::spec::{DriveSpec, HardDiskSpec};
use crate::{DiskError, Op, Place};

/// Geometry, seek times and rotation of one kind of disk.
#[derive(Clone, Debug)]
pub(crate) struct Mechanics {
    pub geometry: Geometry,
    pub seek: SeekTable,
    /// One rotation in ns.
    pub rotation: u32,
}

/// Where the heads are. `turn` is the spindle's angle at time 0, in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arm {
    pub cylinder: u32,
    pub track: u32,
    pub turn: u32,
}

/// Keeps the table of seek times of an impossible disk out of memory.
const MOST_CYLINDERS: u32 = 1 << 24;

impl Mechanics {
    pub(crate) fn new(spec: &DriveSpec, disk: &HardDiskSpec) -> Result<Self, DiskError> {
        let refuse = |key: &str, value: String, why: &str| {
            let (drive, key, why) = (spec.name.clone(), format!("disk.{key}"), why.into());
            Err(DiskError::Value { drive, key, value, why })
        };
        if !(disk.rpm >= 20.0 && disk.rpm <= 1e6) {
            return refuse("rpm", disk.rpm.to_string(), "between 20 and 1000000 revolutions per minute");
        }
        if disk.surfaces == 0 || disk.cylinders == 0 || disk.sectors == 0 {
            return refuse("surfaces", disk.surfaces.to_string(), "a disk has surfaces, cylinders and sectors");
        }
        if disk.cylinders > MOST_CYLINDERS {
            return refuse("cylinders", disk.cylinders.to_string(), "more than any disk has");
        }
        let rotation = (60e9 / disk.rpm).round() as u32;
        let geometry = Geometry::new(spec, disk, rotation)?;
        Ok(Self { geometry, seek: SeekTable::new(spec, disk, rotation)?, rotation })
    }

    /// The angle under the heads.
    #[inline]
    pub(crate) fn angle(&self, arm: &Arm, at: ModelNs) -> u32 {
        ((at.0 as u64 + u64::from(arm.turn)) % u64::from(self.rotation)) as u32
    }

    /// Moves the arm to a track; when it is there.
    #[inline]
    pub(crate) fn reach(&self, arm: &mut Arm, at: ModelNs, spot: &Spot, op: Op) -> ModelNs {
        if spot.track == arm.track {
            return at;
        }
        let time = self.seek.time(spot.cylinder.abs_diff(arm.cylinder), op);
        arm.cylinder = spot.cylinder;
        arm.track = spot.track;
        at + Nanos(i64::from(time.ns))
    }

    /// When `angle` next passes under the heads.
    #[inline]
    pub(crate) fn next_pass(&self, arm: &Arm, at: ModelNs, angle: u32) -> ModelNs {
        let here = self.angle(arm, at);
        at + Nanos(i64::from(wait(self.rotation, here, angle)))
    }

    /// Time for `slots` sectors of this track to pass.
    #[inline]
    pub(crate) fn pass(spot: &Spot, slots: u64) -> Nanos {
        Nanos(((slots * spot.sector_q) >> 32) as i64)
    }
}

/// Angles are rounded down to whole nanoseconds: a sector that seems to have begun to pass so few of them ago is just
/// beginning to.
const ROUNDING: u32 = 16;

/// Rotation from one angle to another, in ns.
#[inline]
fn wait(rotation: u32, here: u32, angle: u32) -> u32 {
    let wait = if angle >= here { angle - here } else { angle + rotation - here };
    if wait >= rotation - ROUNDING { 0 } else { wait }
}

/// From where the arm is at one instant to any place: what shortest-access-time schedulers ask, many times for one
/// decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Positioner<'a> {
    pub(crate) seek: Option<&'a SeekTable>,
    pub(crate) cylinder: u32,
    pub(crate) track: u32,
    pub(crate) rotation: u32,
    /// The angle under the heads when a read's, a write's seek could begin.
    pub(crate) angle: [u32; 2],
    /// Command overhead before that, in ns.
    pub(crate) lead: [u32; 2],
}

impl Positioner<'_> {
    /// Until the first sector at `place` begins to pass under the head: overhead, seek or head switch, settling,
    /// rotation. 0 on a drive without moving parts.
    #[inline]
    pub fn time(&self, place: Place, op: Op) -> Nanos {
        let Some(seek) = self.seek else { return Nanos::ZERO };
        let (ns, turn) = if place.track == self.track {
            (0, 0)
        } else {
            let time = seek.time(place.cylinder.abs_diff(self.cylinder), op);
            (time.ns, time.turn)
        };
        let mut arrival = self.angle[op as usize] + turn;
        if arrival >= self.rotation {
            arrival -= self.rotation;
        }
        let wait = wait(self.rotation, arrival, place.angle);
        Nanos(i64::from(self.lead[op as usize]) + i64::from(ns) + i64::from(wait))
    }

    /// The cylinder the arm is over.
    pub fn cylinder(&self) -> u32 {
        self.cylinder
    }
}
