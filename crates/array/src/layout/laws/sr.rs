//! Rotational replicas keep their angles, their tracks and their disk.

use std::collections::HashSet;

use iojoule_disk::Op;
use proptest::prelude::*;

use super::super::replicas::{Replicas, TrackShape};
use super::super::sr::{Shape, SrArray};
use super::{Layout, planned};
use crate::{Extent, Health};
use iojoule_units::Lba;

const ROTATION: f64 = 6e6;

/// Zones of `(tracks, sectors per track)`, skewed by `skew` of a rotation per track.
fn tracks(zones: &[(u32, u32)], skew: f64) -> Vec<TrackShape> {
    let (mut first, mut turned, mut out) = (0, 0.0_f64, Vec::new());
    for &(count, sectors) in zones {
        for _ in 0..count {
            let sector_ns = ROTATION / f64::from(sectors);
            out.push(TrackShape { first: Lba(first), sectors, angle: (turned * ROTATION) as u32, sector_ns });
            first += u64::from(sectors);
            turned = (turned + skew).fract();
        }
    }
    out
}

fn track_of(tracks: &[TrackShape], lba: u64) -> usize {
    tracks.partition_point(|track| track.first.0 <= lba) - 1
}

/// The sectors of an extent that stays on its track.
fn sectors(tracks: &[TrackShape], extent: &Extent) -> Vec<u64> {
    let track = tracks[track_of(tracks, extent.lba.0)];
    let offset = extent.lba.0 - track.first.0;
    (0..u64::from(extent.sectors)).map(|i| track.first.0 + (offset + i) % u64::from(track.sectors)).collect()
}

fn angle(tracks: &[TrackShape], lba: u64) -> f64 {
    let track = tracks[track_of(tracks, lba)];
    (f64::from(track.angle) + (lba - track.first.0) as f64 * track.sector_ns) % ROTATION
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn replicas_are_an_even_part_of_a_rotation_apart_on_different_tracks_and_every_place_is_used_once(
        dr in 2_u16..7, zones in proptest::collection::vec((1_u32..20, 5_u32..40), 1..4), skew in 0.0_f64..1.0,
        unit in 1_u32..30, ds in 1_u16..4, dm in 1_u16..3, at in 0.0_f64..1.0, length in 1_u32..200,
    ) {
        let tracks = tracks(&zones, skew);
        let disk: u64 = tracks.iter().map(|track| u64::from(track.sectors)).sum();
        let replicas = Replicas::new(tracks.iter().copied(), ROTATION, usize::from(dr));
        prop_assume!(replicas.sectors() >= u64::from(unit));
        let shape = Shape { ds, dr, dm };
        let mut layout = SrArray::new(shape, unit, disk, Some(replicas));
        let health = Health::good(usize::from(ds * dr * dm));
        let mut seen = HashSet::new();
        let mut expected = HashSet::new();
        let lba = (at * layout.capacity() as f64) as u64;
        let asked = lba..(lba + u64::from(length)).min(layout.capacity());
        for lba in 0..layout.capacity() {
            let plan = planned(&mut layout, Op::Read, lba, 1, &health);
            prop_assert_eq!(plan.extents.len(), usize::from(dr * dm));
            let first = plan.extents[0];
            for extent in &plan.extents {
                prop_assert!(extent.on_track && extent.drive < ds * dr * dm);
                prop_assert!(seen.insert((extent.drive, extent.lba.0)));
                if asked.contains(&lba) {
                    expected.insert((extent.drive, extent.lba.0));
                }
                prop_assert_eq!(extent.drive / dm, first.drive / dm);
            }
            for drive in first.drive..first.drive + dm {
                let on: Vec<_> = plan.extents.iter().filter(|extent| extent.drive == drive).collect();
                let different: HashSet<_> = on.iter().map(|extent| track_of(&tracks, extent.lba.0)).collect();
                prop_assert_eq!(different.len(), usize::from(dr));
                for (r, extent) in on.iter().enumerate() {
                    let apart = angle(&tracks, extent.lba.0) - angle(&tracks, on[0].lba.0);
                    let error = (apart - ROTATION * r as f64 / f64::from(dr)).rem_euclid(ROTATION);
                    let half_sector = tracks[track_of(&tracks, extent.lba.0)].sector_ns / 2.0;
                    prop_assert!(error.min(ROTATION - error) <= half_sector + 1.0);
                }
            }
        }
        // A longer request is the sum of its sectors, and leaves no track within an extent.
        let plan = planned(&mut layout, Op::Write, asked.start, (asked.end - asked.start) as u32, &health);
        let mut found = HashSet::new();
        for extent in &plan.extents {
            for sector in sectors(&tracks, extent) {
                prop_assert!(found.insert((extent.drive, sector)));
            }
        }
        prop_assert_eq!(found, expected);
    }
}
