//! Maps are bijections; a plan covers its request once; copies are on distinct places.

use std::collections::HashSet;

use iojoule_disk::Op;
use iojoule_units::Lba;
use proptest::prelude::*;

use super::super::concat::Concat;
use super::super::paraid::Paraid;
use super::super::paraid::space::Flavour;
use super::super::raid0::Raid0;
use super::super::raid1::Raid1;
use super::super::raid5::Raid5;
use super::super::raid10::Raid10;
use super::super::rotation::Rotation;
use super::super::single::Single;
use super::super::sr::{Shape, SrArray};
use super::{Layout, failed, places, planned};
use crate::{Health, Need, Plan};

/// A layout, its drives, the sectors of each, and the copies of each sector.
type Case = (Box<dyn Layout>, u16, u64, usize);

fn any_layout() -> impl Strategy<Value = (usize, u16, u32, u64)> {
    (0_usize..9, 2_u16..7, 1_u32..9, 20_u64..90)
}

fn build((kind, n, unit, sectors): (usize, u16, u32, u64)) -> Case {
    let sr = |ds, dm| SrArray::new(Shape { ds, dr: 1, dm }, unit, sectors, None);
    match kind {
        0 => (Box::new(Single { sectors }), 1, sectors, 1),
        1 => (Box::new(Concat { drives: n, drive_sectors: sectors }), n, sectors, 1),
        2 => (Box::new(Raid0::new(n, unit, sectors)), n, sectors, 1),
        3 => (Box::new(Raid1 { drives: n, drive_sectors: sectors }), n, sectors, usize::from(n)),
        4 => (Box::new(Raid10::new(2 * n, 2, unit, sectors)), 2 * n, sectors, 2),
        5 => (Box::new(sr(n, 2)), 2 * n, sectors, 2),
        6 => (Box::new(Raid5::new(n + 1, unit, sectors, Rotation::LeftSymmetric, 0.5)), n + 1, sectors, 1),
        7 => (Box::new(Raid5::new(n + 1, unit, sectors, Rotation::Last, 0.5)), n + 1, sectors, 1),
        _ => {
            let gears = [2, n + 2];
            let paraid = Paraid::new(&gears, Flavour::Raid0, unit, sectors * 4, None, 0.5);
            (Box::new(paraid.unwrap()), n + 2, sectors * 4, 1)
        }
    }
}

fn sectors_of(plan: &Plan, copy: usize) -> Vec<(u16, u64)> {
    let mut found: Vec<_> = plan.pieces.iter().flat_map(|piece| places(&plan.copies(piece)[copy])).collect();
    found.sort_unstable();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_sector_has_its_copies_on_distinct_places_of_distinct_drives(case in any_layout()) {
        let (mut layout, drives, size, copies) = build(case);
        let health = Health::good(usize::from(drives));
        let mut seen = HashSet::new();
        for lba in 0..layout.capacity() {
            let plan = planned(&mut *layout, Op::Read, lba, 1, &health);
            prop_assert_eq!(plan.pieces.len(), 1);
            prop_assert_eq!(plan.extents.len(), copies);
            let on: HashSet<_> = plan.extents.iter().map(|extent| extent.drive).collect();
            prop_assert_eq!(on.len(), copies);
            for extent in &plan.extents {
                prop_assert!(extent.drive < drives && extent.lba.0 < size);
                prop_assert!(seen.insert((extent.drive, extent.lba.0)), "two sectors share {extent:?}");
            }
        }
    }

    #[test]
    fn a_read_is_the_sum_of_its_sectors(case in any_layout(), at in 0.0_f64..1.0, length in 0.0_f64..1.0) {
        let (mut layout, drives, _, copies) = build(case);
        let health = Health::good(usize::from(drives));
        let capacity = layout.capacity();
        prop_assume!(capacity > 0);
        let lba = (at * capacity as f64) as u64;
        let sectors = 1 + (length * (capacity - lba - 1) as f64) as u32;
        let whole = planned(&mut *layout, Op::Read, lba, sectors, &health);
        for copy in 0..copies {
            let mut parts: Vec<_> = (lba..lba + u64::from(sectors))
                .flat_map(|sector| sectors_of(&planned(&mut *layout, Op::Read, sector, 1, &health), copy))
                .collect();
            parts.sort_unstable();
            prop_assert_eq!(sectors_of(&whole, copy), parts);
        }
    }

    #[test]
    fn a_write_reaches_every_copy_that_a_read_may_choose(case in any_layout(), at in 0.0_f64..1.0, n in 1_u32..30) {
        prop_assume!(!(6..8).contains(&case.0));
        let (mut layout, drives, _, copies) = build(case);
        let health = Health::good(usize::from(drives));
        let lba = (at * layout.capacity() as f64) as u64;
        let sectors = n.min((layout.capacity() - lba) as u32);
        let read = planned(&mut *layout, Op::Read, lba, sectors, &health);
        let write = planned(&mut *layout, Op::Write, lba, sectors, &health);
        prop_assert_eq!(&read.extents, &write.extents);
        let need = if copies > 1 { Need::OneThenRest } else { write.pieces[0].need };
        prop_assert!(write.pieces.iter().all(|piece| piece.stage == 0 && piece.need == need));
    }

    #[test]
    fn mirrors_serve_around_a_failed_drive_and_never_touch_it(case in any_layout(), at in 0.0_f64..1.0, dead in 0_u16..100) {
        prop_assume!((3..6).contains(&case.0));
        let (mut layout, drives, _, copies) = build(case);
        let dead = dead % drives;
        let health = failed(drives, dead);
        let lba = (at * layout.capacity() as f64) as u64;
        for op in [Op::Read, Op::Write] {
            let plan = planned(&mut *layout, op, lba, 1, &health);
            prop_assert!(!plan.lost && plan.extents.len() >= copies - 1);
            prop_assert!(plan.extents.iter().all(|extent| extent.drive != dead));
        }
    }

    #[test]
    fn a_layout_without_copies_loses_what_was_on_a_failed_drive(case in any_layout(), at in 0.0_f64..1.0) {
        prop_assume!(case.0 < 3);
        let (mut layout, drives, ..) = build(case);
        let lba = (at * layout.capacity() as f64) as u64;
        let home = planned(&mut *layout, Op::Read, lba, 1, &Health::good(usize::from(drives))).extents[0].drive;
        for dead in 0..drives {
            let plan = planned(&mut *layout, Op::Read, lba, 1, &failed(drives, dead));
            prop_assert_eq!(plan.lost, dead == home);
        }
        let mut plan = Plan::default();
        prop_assert_eq!(layout.rebuild(home, Lba(0), &failed(drives, home), &mut plan), None);
        prop_assert!(plan.lost);
    }

    #[test]
    fn a_rebuild_writes_every_sector_in_use_once_and_reads_it_elsewhere(case in any_layout(), dead in 0_u16..100) {
        prop_assume!((3..8).contains(&case.0));
        let (mut layout, drives, ..) = build(case);
        let dead = dead % drives;
        let mut used: HashSet<u64> = HashSet::new();
        let good = Health::good(usize::from(drives));
        for lba in 0..layout.capacity() {
            for extent in planned(&mut *layout, Op::Read, lba, 1, &good).extents {
                used.extend((extent.drive == dead).then_some(extent.lba.0));
            }
        }
        let mut health = Health::good(usize::from(drives));
        let mut from = Lba(0);
        let mut written = HashSet::new();
        loop {
            health.rebuilding = Some((dead, from));
            let mut plan = Plan::default();
            let Some(next) = layout.rebuild(dead, from, &health, &mut plan) else { break };
            prop_assert!(!plan.lost && next > from);
            for piece in &plan.pieces {
                for extent in plan.copies(piece) {
                    prop_assert_eq!(extent.drive == dead, piece.op == Op::Write);
                    prop_assert_eq!(piece.stage == 1, piece.op == Op::Write);
                    if piece.op == Op::Write {
                        prop_assert!(places(extent).all(|(_, sector)| written.insert(sector)));
                    }
                }
            }
            from = next;
        }
        prop_assert!(used.is_subset(&written));
        prop_assert!(written.iter().all(|&sector| sector < from.0));
    }
}
