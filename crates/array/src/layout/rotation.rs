//! Which drive of a row holds its parity, and which its data.

use super::divide::Divisor;

/// Where parity lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// RAID-4: on the last drive.
    Last,
    /// RAID-5: one drive further to the left in each row; the data begin behind it, so that consecutive units are on
    /// consecutive drives.
    LeftSymmetric,
}

/// The map of stripe units over `drives` drives, one of which holds parity in each row.
#[derive(Clone, Copy, Debug)]
pub struct ParityMap {
    drives: Divisor,
    data: Divisor,
    rotation: Rotation,
}

impl ParityMap {
    /// Over three drives or more (two are a mirror that is slow to write).
    pub fn new(drives: u16, rotation: Rotation) -> Self {
        let n = u64::from(drives);
        Self { drives: Divisor::new(n), data: Divisor::new(n - 1), rotation }
    }

    pub fn drives(&self) -> u16 {
        self.drives.get() as u16
    }

    /// Data units in a row.
    pub fn data(&self) -> u64 {
        self.data.get()
    }

    /// The row of a data unit and its number in the row.
    #[inline]
    pub fn row(&self, unit: u64) -> (u64, u64) {
        self.data.split(unit)
    }

    /// The drive that holds the parity of `row`.
    #[inline]
    pub fn parity_drive(&self, row: u64) -> u16 {
        let last = self.drives.get() - 1;
        match self.rotation {
            Rotation::Last => last as u16,
            Rotation::LeftSymmetric => (last - self.drives.split(row).1) as u16,
        }
    }

    /// The drive that holds data unit `k` of a row whose parity is on `parity`.
    #[inline]
    pub fn data_drive(&self, parity: u16, k: u64) -> u16 {
        let n = self.drives.get();
        let drive = u64::from(parity) + 1 + k;
        (if drive >= n { drive - n } else { drive }) as u16
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The closed form of left-symmetric written differently: going through the drives round and round, the parity of
        /// row r stands at place (r + 1)(n - 1) of an endless walk, and data fill the places between.
        #[test]
        fn left_symmetric_is_a_walk_round_the_drives(n in 3_u16..12, row in 0_u64..1000) {
            let map = ParityMap::new(n, Rotation::LeftSymmetric);
            let walk = |place: u64| (place % u64::from(n)) as u16;
            let parity = map.parity_drive(row);
            prop_assert_eq!(parity, walk((row + 1) * (u64::from(n) - 1)));
            for k in 0..map.data() {
                prop_assert_eq!(map.data_drive(parity, k), walk(row * (u64::from(n) - 1) + k));
            }
        }

        #[test]
        fn a_row_uses_every_drive_once(n in 3_u16..12, row in 0_u64..1000, fixed in any::<bool>()) {
            let map = ParityMap::new(n, if fixed { Rotation::Last } else { Rotation::LeftSymmetric });
            let parity = map.parity_drive(row);
            let mut drives: Vec<_> = (0..map.data()).map(|k| map.data_drive(parity, k)).chain([parity]).collect();
            drives.sort_unstable();
            prop_assert_eq!(drives, (0..n).collect::<Vec<_>>());
        }
    }
}
