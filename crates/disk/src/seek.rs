//! How long the arm takes: a table over all distances, made once from the curve of the specification. A seek to another
//! cylinder takes the longer of the seek and the head switch, a write then waits for the head to settle (DiskSim 4.0's
//! `dm_mech_g1`; the settling time of two measured disks is negative).

use crate::spec::{DriveSpec, HardDiskSpec, RuemmlerWilkes, Seek};
use crate::{DiskError, Op};

/// Times over a distance in cylinders, in ns and in ns modulo one rotation; index 0 is a head switch on the cylinder.
#[derive(Clone, Debug)]
pub(crate) struct SeekTable {
    read: Vec<Time>,
    write: Vec<Time>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    pub ns: u32,
    /// `ns` modulo one rotation.
    pub turn: u32,
}

impl SeekTable {
    pub(crate) fn new(spec: &DriveSpec, disk: &HardDiskSpec, rotation: u32) -> Result<Self, DiskError> {
        let table = |curve: &Seek, settle: f64| {
            (0..disk.cylinders.max(1))
                .map(|distance| {
                    let seek = if distance == 0 { 0.0 } else { curve.ms(distance, disk.cylinders) };
                    let ms = (seek.max(disk.head_switch_ms) + settle).max(0.0);
                    if !ms.is_finite() || ms > 4000.0 {
                        return Err(DiskError::Value {
                            drive: spec.name.clone(),
                            key: "disk.seek".into(),
                            value: format!("{ms} ms over {distance} cylinders"),
                            why: "a seek takes between 0 and 4000 ms".into(),
                        });
                    }
                    let ns = (ms * 1e6).round() as u32;
                    Ok(Time { ns, turn: ns % rotation })
                })
                .collect::<Result<Vec<_>, _>>()
        };
        let read = table(&disk.seek, 0.0)?;
        let write = table(disk.write_seek.as_ref().unwrap_or(&disk.seek), disk.write_settle_ms)?;
        Ok(Self { read, write })
    }

    /// From one track to another track `distance` cylinders away.
    #[inline]
    pub(crate) fn time(&self, distance: u32, op: Op) -> Time {
        let table = match op {
            Op::Read => &self.read,
            Op::Write => &self.write,
        };
        table[(distance as usize).min(table.len() - 1)]
    }
}

impl Seek {
    /// Time over `distance` cylinders in ms on a disk of `cylinders`.
    pub fn ms(&self, distance: u32, cylinders: u32) -> f64 {
        match self {
            Seek::Table(points) => line(points, distance),
            Seek::FirstThenFormula { first, formula } => match first.get(distance as usize - 1) {
                Some(ms) => *ms,
                None => formula.ms(distance),
            },
            Seek::Formula { formula, single_ms } => match (single_ms, distance) {
                (Some(ms), 1) => *ms,
                _ => formula.ms(distance),
            },
            Seek::Constant { ms } => *ms,
            Seek::ThreePoint { single_ms, average_ms, full_ms } => {
                let third = f64::from(cylinders) / 3.0;
                let (d, full) = (f64::from(distance), f64::from(cylinders - 1));
                if d < third {
                    single_ms + (average_ms - single_ms) * (d - 1.0) / (third - 1.0).max(1.0)
                } else {
                    average_ms + (full_ms - average_ms) * (d - third) / (full - third).max(1.0)
                }
            }
        }
    }
}

impl RuemmlerWilkes {
    /// `a + b √d` below `divide` cylinders, `c + e d` from there.
    pub fn ms(&self, distance: u32) -> f64 {
        let d = f64::from(distance);
        if distance < self.divide { self.a + self.b * d.sqrt() } else { self.c + self.e * d }
    }
}

/// Linear between points; before the first and behind the last as the line through the nearest two.
fn line(points: &[(u32, f64)], distance: u32) -> f64 {
    match points {
        [] => 0.0,
        [(_, ms)] => *ms,
        _ => {
            let right = points.partition_point(|(d, _)| *d < distance).clamp(1, points.len() - 1);
            let ((d0, t0), (d1, t1)) = (points[right - 1], points[right]);
            if d1 == d0 {
                return t1;
            }
            t0 + (t1 - t0) * (f64::from(distance) - f64::from(d0)) / (f64::from(d1) - f64::from(d0))
        }
    }
}
