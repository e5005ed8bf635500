//! Where PARAID keeps a block: at home, as the highest gear stripes it, and, for each lower gear in which its drive
//! sleeps, once more in a region of that gear striped over the drives that stay up.
//!
//! A block is a stripe unit of one drive, `(row, drive)`; in the RAID-5 flavour parity units are blocks as well. In a gear
//! of `n` of `N` drives the blocks of drives `n..N` are numbered row by row; rank `r` lies on drive `r mod n`, row
//! `base + r div n`, or where a RAID-5 of `n` drives puts unit `r`.

use serde::{Deserialize, Serialize};

use crate::layout::divide::Divisor;
use crate::layout::rotation::{ParityMap, Rotation};

/// How each gear stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    Raid0,
    Raid5,
}

/// A unit of a drive; `parity` is the drive that protects it in the same row, where one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub drive: u16,
    pub row: u64,
    pub parity: Option<u16>,
}

/// The replicas of one lower gear.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    pub active: u16,
    /// Drives that sleep in this gear: blocks of a row that have a replica.
    asleep: u64,
    base: u64,
    pub rows: u64,
    stripe: Divisor,
    parity: Option<ParityMap>,
}

impl Region {
    fn new(drives: u16, active: u16, flavour: Flavour) -> Self {
        let parity = (flavour == Flavour::Raid5).then(|| ParityMap::new(active, Rotation::LeftSymmetric));
        let stripe = Divisor::new(u64::from(active));
        Self { active, asleep: u64::from(drives - active), base: 0, rows: 0, stripe, parity }
    }

    /// Rows needed for the replicas of `home_rows` rows.
    fn rows_for(&self, home_rows: u64) -> u64 {
        let row = self.parity.map_or(u64::from(self.active), |map| map.data());
        (home_rows * self.asleep).div_ceil(row)
    }

    /// The replica of a block whose home sleeps in this gear.
    pub fn replica(&self, row: u64, home: u16) -> Slot {
        let rank = row * self.asleep + u64::from(home - self.active);
        match self.parity {
            None => {
                let (row, drive) = self.stripe.split(rank);
                Slot { drive: drive as u16, row: self.base + row, parity: None }
            }
            Some(map) => {
                let (row, k) = map.row(rank);
                let parity = map.parity_drive(row);
                Slot { drive: map.data_drive(parity, k), row: self.base + row, parity: Some(parity) }
            }
        }
    }

    /// The row after the last.
    pub fn end(&self) -> u64 {
        self.base + self.rows
    }

    /// Whether a row of a drive is one of the region's.
    pub fn contains_row(&self, row: u64) -> bool {
        (self.base..self.end()).contains(&row)
    }
}

/// The home rows and the regions behind them, on every drive.
#[derive(Clone, Debug)]
pub struct Space {
    pub drives: u16,
    pub home_rows: u64,
    /// Of the gears below the highest, lowest first.
    pub regions: Vec<Region>,
    stripe: Divisor,
    parity: Option<ParityMap>,
}

impl Space {
    /// For `gears`, rising, on drives of `drive_rows` rows, of which `home_rows` are asked for or as many as fit. `None`
    /// where they do not fit.
    pub fn new(gears: &[u16], flavour: Flavour, drive_rows: u64, home_rows: Option<u64>) -> Option<Self> {
        let (&drives, lower) = gears.split_last()?;
        let mut regions: Vec<_> = lower.iter().map(|&n| Region::new(drives, n, flavour)).collect();
        let needed = |rows: u64| rows + regions.iter().map(|region| region.rows_for(rows)).sum::<u64>();
        let rows = home_rows.unwrap_or_else(|| {
            // Bisection: `fits` fits, `too_many` does not.
            let (mut fits, mut too_many) = (0, drive_rows + 1);
            while fits + 1 < too_many {
                let middle = fits + (too_many - fits) / 2;
                if needed(middle) <= drive_rows { fits = middle } else { too_many = middle }
            }
            fits
        });
        if rows == 0 || needed(rows) > drive_rows {
            return None;
        }
        // The region of the second highest gear first: every drive then uses its rows without a hole.
        let mut base = rows;
        for region in regions.iter_mut().rev() {
            region.base = base;
            region.rows = region.rows_for(rows);
            base += region.rows;
        }
        let parity = (flavour == Flavour::Raid5).then(|| ParityMap::new(drives, Rotation::LeftSymmetric));
        Some(Self { drives, home_rows: rows, regions, stripe: Divisor::new(u64::from(drives)), parity })
    }

    /// Data units of a home row.
    pub fn row_units(&self) -> u64 {
        self.parity.map_or(self.stripe.get(), |map| map.data())
    }

    /// The home of a data unit.
    #[inline]
    pub fn home(&self, unit: u64) -> Slot {
        match self.parity {
            None => {
                let (row, drive) = self.stripe.split(unit);
                Slot { drive: drive as u16, row, parity: None }
            }
            Some(map) => {
                let (row, k) = map.row(unit);
                let parity = map.parity_drive(row);
                Slot { drive: map.data_drive(parity, k), row, parity: Some(parity) }
            }
        }
    }

    /// The drive that holds the parity of a home row.
    pub fn home_parity(&self, row: u64) -> Option<u16> {
        self.parity.map(|map| map.parity_drive(row))
    }

    /// Rows in use on a drive.
    pub fn used_rows(&self, drive: u16) -> u64 {
        self.home_rows + self.regions.iter().filter(|r| drive < r.active).map(|r| r.rows).sum::<u64>()
    }
}
