//! PARAID on drives whose contents are kept, in all gears; and its map against the golden vectors.

use std::collections::HashMap;
use std::path::PathBuf;

use iojoule_disk::Op;
use proptest::prelude::*;

use super::super::Geared;
use super::super::paraid::Paraid;
use super::super::paraid::space::{Flavour, Slot, Space};
use super::{Layout, places, planned};
use crate::{Health, Plan};

type Block = (u64, u16);

/// What the units of the drives hold: of each block, which version.
struct Simulated {
    paraid: Paraid,
    space: Space,
    gears: Vec<u16>,
    unit: u64,
    holds: HashMap<(u16, u64), (Block, u32)>,
    newest: HashMap<Block, u32>,
    health: Health,
}

fn key(slot: Slot) -> (u16, u64) {
    (slot.drive, slot.row)
}

impl Simulated {
    fn new(gears: &[u16], flavour: Flavour, unit: u64, rows: u64) -> Option<Self> {
        let paraid = Paraid::new(gears, flavour, unit as u32, rows * unit, None, 0.5)?;
        let space = Space::new(gears, flavour, rows, None)?;
        let drives = *gears.last()?;
        let health = Health::good(usize::from(drives));
        let (holds, newest) = (HashMap::new(), HashMap::new());
        let mut this = Self { paraid, space, gears: gears.to_vec(), unit, holds, newest, health };
        for block in (0..this.space.home_rows).flat_map(|row| (0..drives).map(move |drive| (row, drive))) {
            for slot in this.copies(block) {
                assert!(slot.row < rows && slot.drive < drives);
                assert!(this.holds.insert(key(slot), (block, 0)).is_none(), "two blocks share {slot:?}");
            }
        }
        Some(this)
    }

    /// The home and the replicas of a block.
    fn copies(&self, (row, drive): Block) -> Vec<Slot> {
        let home = Slot { drive, row, parity: self.space.home_parity(row) };
        let regions = self.space.regions.iter().filter(|region| drive >= region.active);
        [home].into_iter().chain(regions.map(|region| region.replica(row, drive))).collect()
    }

    fn version(&self, block: Block) -> u32 {
        self.newest.get(&block).copied().unwrap_or(0)
    }

    fn slots(&self, plan: &Plan, op: Op) -> Vec<(u16, u64)> {
        let pieces = plan.pieces.iter().filter(|piece| piece.op == op);
        let mut slots: Vec<_> =
            pieces.flat_map(|piece| places(&plan.copies(piece)[0])).map(|(d, at)| (d, at / self.unit)).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Puts new contents of `block` into the one of its copies that the plan writes, with the parities this must change;
    /// takes what it accounts for out of `written`.
    fn put(&mut self, block: Block, whole: bool, written: &mut Vec<(u16, u64)>) {
        let copies = self.copies(block);
        let hit: Vec<_> = copies.iter().filter(|&&slot| written.contains(&key(slot))).copied().collect();
        assert_eq!(hit.len(), 1, "one copy of {block:?} is written");
        let old = self.holds[&key(hit[0])];
        assert!(whole || old == (block, self.version(block)), "part of a stale copy is overwritten");
        let version = self.version(block) + 1;
        self.newest.insert(block, version);
        self.store(block, hit[0], written);
    }

    /// `slot` now holds the newest contents of `block`.
    fn store(&mut self, block: Block, slot: Slot, written: &mut Vec<(u16, u64)>) {
        let version = self.version(block);
        self.holds.insert(key(slot), (block, version));
        written.retain(|&w| w != key(slot));
        let home = slot.row < self.space.home_rows;
        match (home, slot.parity) {
            (true, Some(parity)) if parity != block.1 => self.put((block.0, parity), false, written),
            (false, Some(parity)) => {
                let before = written.len();
                written.retain(|&w| w != (parity, slot.row));
                assert_eq!(written.len() + 1, before, "the parity of a region follows its replicas");
            }
            _ => {}
        }
    }

    fn home(&self, unit: u64) -> Block {
        let slot = self.space.home(unit);
        (slot.row, slot.drive)
    }

    fn request(&mut self, op: Op, unit: u64, part: (u64, u64)) {
        let plan = planned(&mut self.paraid, op, unit * self.unit + part.0, (part.1 - part.0) as u32, &self.health);
        assert!(!plan.lost);
        let active = self.gears[self.paraid.gear()];
        assert!(plan.extents.iter().all(|extent| extent.drive < active), "a sleeping drive is touched");
        let block = self.home(unit);
        match op {
            Op::Read => {
                let read = self.slots(&plan, Op::Read);
                assert_eq!(read.len(), 1);
                assert_eq!(self.holds[&read[0]], (block, self.version(block)));
            }
            Op::Write => {
                let mut written = self.slots(&plan, Op::Write);
                self.put(block, part == (0, self.unit), &mut written);
                assert!(written.is_empty(), "{written:?} is written for nothing");
            }
        }
    }

    fn sync(&mut self, gear: usize) {
        let before = self.paraid.gear();
        while {
            let mut plan = Plan::default();
            let more = self.paraid.next_sync(gear, &self.health, &mut plan);
            assert!(!plan.lost);
            let active = self.gears[gear.max(before)];
            assert!(plan.extents.iter().all(|extent| extent.drive < active));
            let (read, mut written) = (self.slots(&plan, Op::Read), self.slots(&plan, Op::Write));
            // A data block brings its row's parity along; then the parity is not what is synced.
            let mut targets: Vec<_> = written.iter().filter_map(|w| Some((*w, self.holds.get(w)?.0))).collect();
            let parity = |space: &Space, block: Block| space.home_parity(block.0) == Some(block.1);
            if targets.iter().any(|(_, block)| !parity(&self.space, *block)) {
                targets.retain(|(_, block)| !parity(&self.space, *block));
            }
            for (target, block) in targets {
                let source = read.iter().any(|r| self.holds.get(r) == Some(&(block, self.version(block))));
                assert!(source, "the newest contents of {block:?} are read");
                let slot = self.copies(block).into_iter().find(|&slot| key(slot) == target).unwrap();
                self.store(block, slot, &mut written);
            }
            assert!(written.is_empty(), "{written:?} is written for nothing");
            more
        } {}
        assert_eq!(self.paraid.stale(gear), 0);
        self.check(gear);
    }

    /// Everything a gear serves is new.
    fn check(&self, gear: usize) {
        let blocks = (0..self.space.home_rows).flat_map(|row| (0..self.space.drives).map(move |drive| (row, drive)));
        for block in blocks {
            let slot = match self.space.regions.get(gear).filter(|region| block.1 >= region.active) {
                Some(region) => region.replica(block.0, block.1),
                None => self.copies(block)[0],
            };
            assert_eq!(self.holds[&key(slot)], (block, self.version(block)));
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Request { write: bool, unit: f64, part: Option<(f64, f64)> },
    Sync,
    Shift(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<bool>(), 0.0_f64..1.0, proptest::option::of((0.0_f64..1.0, 0.0_f64..1.0)))
            .prop_map(|(write, unit, part)| Step::Request { write, unit, part }),
        1 => Just(Step::Sync),
        2 => (0_usize..3).prop_map(Step::Shift),
    ]
}

fn gears() -> impl Strategy<Value = (Vec<u16>, Flavour)> {
    let raid0 = prop_oneof![Just(vec![2, 4]), Just(vec![1, 2, 5]), Just(vec![2, 3, 4]), Just(vec![3])];
    let raid5 = prop_oneof![Just(vec![3, 5]), Just(vec![3, 4, 6]), Just(vec![3, 4])];
    prop_oneof![raid0.prop_map(|g| (g, Flavour::Raid0)), raid5.prop_map(|g| (g, Flavour::Raid5))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_gear_serves_the_newest_contents_from_its_own_drives(
        (gears, flavour) in gears(), unit in 1_u64..5, rows in 12_u64..40,
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let array = Simulated::new(&gears, flavour, unit, rows);
        prop_assume!(array.is_some());
        let mut array = array.unwrap();
        let units = array.space.home_rows * array.space.row_units();
        for step in steps {
            match step {
                Step::Request { write, unit: at, part } => {
                    let part = part.map_or((0, unit), |(a, b)| {
                        let from = (a * unit as f64) as u64;
                        (from, from + 1 + (b * (unit - from - 1) as f64) as u64)
                    });
                    array.request(if write { Op::Write } else { Op::Read }, (at * units as f64) as u64, part);
                }
                Step::Sync => array.sync(array.paraid.gear()),
                Step::Shift(gear) => {
                    let gear = gear.min(gears.len() - 1);
                    if gear < array.paraid.gear() {
                        prop_assert_eq!(array.paraid.stale(gear) == 0, array.paraid.shift_to(gear));
                        array.sync(gear);
                    }
                    prop_assert!(array.paraid.shift_to(gear));
                }
            }
        }
        let top = gears.len() - 1;
        array.paraid.shift_to(top);
        array.sync(top);
    }

    #[test]
    fn a_request_over_many_units_does_what_its_units_do((gears, flavour) in gears(), unit in 1_u64..5, low in any::<bool>(),
        at in 0.0_f64..1.0, length in 1_u64..30, write in any::<bool>())
    {
        let array = Simulated::new(&gears, flavour, unit, 40);
        prop_assume!(array.is_some());
        let mut array = array.unwrap();
        if low { array.paraid.shift_to(0); }
        let op = if write { Op::Write } else { Op::Read };
        let capacity = array.paraid.capacity();
        let lba = (at * capacity as f64) as u64;
        let length = length.min(capacity - lba);
        let whole = planned(&mut array.paraid, op, lba, length as u32, &array.health);
        let mut twin = Simulated::new(&gears, flavour, unit, 40).unwrap();
        if low { twin.paraid.shift_to(0); }
        let mut together = std::collections::HashSet::new();
        for lba in lba..lba + length {
            let plan = planned(&mut twin.paraid, op, lba, 1, &twin.health);
            together.extend(plan.pieces.iter().filter(|p| p.op == op).flat_map(|p| places(&plan.copies(p)[0])));
        }
        let mut once = Vec::new();
        once.extend(whole.pieces.iter().filter(|p| p.op == op).flat_map(|p| places(&whole.copies(p)[0])));
        let distinct: std::collections::HashSet<_> = once.iter().copied().collect();
        prop_assert_eq!(distinct.len(), once.len());
        prop_assert_eq!(distinct, together);
    }
}

/// Rows of a golden file; none where the reference data are not here and need not be.
fn golden(name: &str) -> Vec<Vec<String>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect(),
        Err(error) => {
            assert!(std::env::var("IOJOULE_REQUIRE_ALL").as_deref() != Ok("1"), "{}: {error}", path.display());
            Vec::new()
        }
    }
}

#[test]
fn homes_and_replicas_are_where_the_golden_layout_puts_them() {
    for row in golden("000_paraid_layout.csv") {
        let number = |column: usize| row[column].parse::<u64>().unwrap();
        let (disks, active) = (number(0) as u16, number(1) as u16);
        let space = Space::new(&[active, disks], Flavour::Raid0, 1000, None).unwrap();
        let home = space.home(number(2));
        assert_eq!((u64::from(home.drive), home.row), (number(3), number(4)), "{row:?}");
        assert_eq!(home.drive >= active, number(5) == 1, "{row:?}");
        if number(5) == 1 {
            let replica = space.regions[0].replica(home.row, home.drive);
            let base = space.home_rows;
            assert_eq!((u64::from(replica.drive), replica.row - base), (number(7), number(8)), "{row:?}");
        }
    }
}

#[test]
fn a_gear_needs_the_extra_space_of_the_golden_table() {
    for row in golden("000_paraid_gears.csv") {
        let (disks, active): (u16, u16) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        let (extra, total): (f64, f64) = (row[2].parse().unwrap(), row[3].parse().unwrap());
        let space = Space::new(&[active, disks], Flavour::Raid0, 1_000_000, None).unwrap();
        let home = space.home_rows as f64;
        assert!((space.regions[0].rows as f64 / home - extra).abs() < 1e-4, "{row:?}");
        assert!((space.used_rows(0) as f64 / home - total).abs() < 1e-4, "{row:?}");
        assert!((1_000_000.0 - space.used_rows(0) as f64) / home < 1e-4, "room is left unused: {row:?}");
    }
}

/// Sources of a block's contents when a drive is gone: read, or the exclusive or of what is read.
#[test]
fn a_raid5_in_gears_serves_around_a_failed_drive_in_its_highest_gear_dirty_blocks_included() {
    let mut array = Simulated::new(&[3, 5], Flavour::Raid5, 4, 60).unwrap();
    let units = array.space.home_rows * array.space.row_units();
    assert!(array.paraid.shift_to(0));
    for unit in (0..units).step_by(3) {
        array.request(Op::Write, unit, (0, 4));
    }
    assert!(array.paraid.stale(1) > 0);
    assert!(array.paraid.shift_to(1));
    for dead in 0..5 {
        let health = super::failed(5, dead);
        for unit in 0..units {
            for op in [Op::Read, Op::Write] {
                // A write would move blocks: plan it on a twin.
                let mut twin = Simulated::new(&[3, 5], Flavour::Raid5, 4, 60).unwrap();
                let paraid = if op == Op::Read { &mut array.paraid } else { &mut twin.paraid };
                let plan = planned(paraid, op, unit * 4, 4, &health);
                assert!(!plan.lost, "{op:?} of unit {unit} without drive {dead}");
                assert!(plan.extents.iter().all(|extent| extent.drive != dead));
            }
        }
    }
}

#[test]
fn a_drive_of_a_raid5_in_gears_is_rebuilt_homes_and_replicas() {
    let mut paraid = Paraid::new(&[3, 4, 5], Flavour::Raid5, 4, 4 * 100, None, 0.5).unwrap();
    let space = Space::new(&[3, 4, 5], Flavour::Raid5, 100, None).unwrap();
    for drive in 0..5 {
        let mut health = Health::good(5);
        let (mut from, mut written) = (iojoule_units::Lba(0), 0);
        loop {
            health.rebuilding = Some((drive, from));
            let mut plan = Plan::default();
            let Some(next) = paraid.rebuild(drive, from, &health, &mut plan) else { break };
            let sectors = |op| -> u64 {
                let pieces = plan.pieces.iter().filter(|piece| piece.op == op);
                pieces.map(|piece| u64::from(plan.copies(piece)[0].sectors)).sum()
            };
            written += sectors(Op::Write);
            assert_eq!(sectors(Op::Write), next.0 - from.0);
            from = next;
        }
        assert_eq!(written, space.used_rows(drive) * 4);
    }
}
