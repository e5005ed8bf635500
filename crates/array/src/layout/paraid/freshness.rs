//! Which of a block's places hold its newest contents.

use super::space::Space;
use crate::layout::bits::Bits;

/// A place of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    Home,
    /// In the region of this gear.
    Replica(usize),
}

/// The stale copies. A replica is soft state: nothing is lost when it goes stale, it is made again before its gear is used.
pub struct Freshness {
    drives: u64,
    /// Drives of each gear, rising.
    gears: Vec<u16>,
    /// Stale homes by the lowest gear that uses their drive.
    homes: Vec<Bits>,
    /// Stale replicas by gear.
    replicas: Vec<Bits>,
}

impl Freshness {
    pub fn new(space: &Space, gears: &[u16]) -> Self {
        let blocks = space.home_rows * u64::from(space.drives);
        let sets = |n| (0..n).map(|_| Bits::new(blocks)).collect();
        Self {
            drives: u64::from(space.drives),
            gears: gears.to_vec(),
            homes: sets(gears.len()),
            replicas: sets(gears.len() - 1),
        }
    }

    fn block(&self, row: u64, drive: u16) -> u64 {
        row * self.drives + u64::from(drive)
    }

    fn set(&self, drive: u16, copy: Copy) -> &Bits {
        match copy {
            Copy::Home => &self.homes[self.lowest_gear(drive)],
            Copy::Replica(gear) => &self.replicas[gear],
        }
    }

    fn set_mut(&mut self, drive: u16, copy: Copy) -> &mut Bits {
        match copy {
            Copy::Home => {
                let gear = self.lowest_gear(drive);
                &mut self.homes[gear]
            }
            Copy::Replica(gear) => &mut self.replicas[gear],
        }
    }

    /// The lowest gear in which a drive is up.
    fn lowest_gear(&self, drive: u16) -> usize {
        self.gears.iter().take_while(|&&n| n <= drive).count()
    }

    /// Where `gear` serves a block from when all is fresh.
    #[inline]
    pub fn wanted(&self, gear: usize, drive: u16) -> Copy {
        if drive < self.gears[gear] { Copy::Home } else { Copy::Replica(gear) }
    }

    #[inline]
    pub fn is_fresh(&self, row: u64, drive: u16, copy: Copy) -> bool {
        !self.set(drive, copy).contains(self.block(row, drive))
    }

    /// A fresh copy on the drives of `gear`: where the gear wants it, else a replica of a lower gear.
    pub fn current(&self, gear: usize, row: u64, drive: u16) -> Copy {
        let wanted = self.wanted(gear, drive);
        if self.is_fresh(row, drive, wanted) {
            return wanted;
        }
        let lower = (0..gear).rev().filter(|&g| drive >= self.gears[g]).map(Copy::Replica);
        lower.into_iter().find(|&copy| self.is_fresh(row, drive, copy)).unwrap_or(wanted)
    }

    /// The block was written at `copy`: its other places are stale.
    pub fn written(&mut self, row: u64, drive: u16, copy: Copy) {
        let block = self.block(row, drive);
        for gear in 0..self.lowest_gear(drive) {
            if copy != Copy::Replica(gear) {
                self.replicas[gear].insert(block);
            }
        }
        if copy == Copy::Home {
            self.refreshed(row, drive, copy);
        } else {
            self.set_mut(drive, Copy::Home).insert(block);
            self.refreshed(row, drive, copy);
        }
    }

    /// `copy` holds the newest contents now.
    pub fn refreshed(&mut self, row: u64, drive: u16, copy: Copy) {
        let block = self.block(row, drive);
        self.set_mut(drive, copy).remove(block);
    }

    /// Blocks that `gear` would serve from a stale place.
    pub fn stale(&self, gear: usize) -> u64 {
        let homes: u64 = self.homes[..=gear].iter().map(Bits::len).sum();
        homes + self.replicas.get(gear).map_or(0, Bits::len)
    }

    /// One of them, as `(row, drive)`: homes before replicas, in the order of rows.
    pub fn next_stale(&mut self, gear: usize) -> Option<(u64, u16)> {
        let drives = self.drives;
        let home = self.homes[..=gear].iter_mut().find_map(Bits::first);
        let block = home.or_else(|| self.replicas.get_mut(gear).and_then(Bits::first))?;
        Some((block / drives, (block % drives) as u16))
    }
}
