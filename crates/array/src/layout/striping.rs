//! Round-robin striping: unit `u` is on column `u mod columns`, in row `u div columns`. What RAID-0, RAID-10 and the
//! SR-Array have in common; a column is a drive or a set of mirrors.

use super::divide::Divisor;

#[derive(Clone, Copy, Debug)]
pub struct Striping {
    unit: Divisor,
    columns: Divisor,
    rows: u64,
}

impl Striping {
    /// Over `columns` columns of `column_sectors` sectors; what does not fill a unit is left unused. Both sizes must not
    /// be zero.
    pub fn new(columns: u16, unit: u32, column_sectors: u64) -> Self {
        let unit = Divisor::new(u64::from(unit));
        Self { unit, columns: Divisor::new(u64::from(columns)), rows: unit.split(column_sectors).0 }
    }

    /// Sectors in all columns.
    pub fn capacity(&self) -> u64 {
        self.used() * self.columns.get()
    }

    /// Sectors in use on each column.
    pub fn used(&self) -> u64 {
        self.rows * self.unit.get()
    }

    /// Calls `each(column, sector on the column, sectors)` once per column touched: the units of a contiguous request
    /// that fall on one column are contiguous there.
    #[inline]
    pub fn runs(&self, lba: u64, sectors: u32, mut each: impl FnMut(u16, u64, u32)) {
        let (unit, columns) = (self.unit.get(), self.columns.get());
        let (first, offset) = self.unit.split(lba);
        let (row, column) = self.columns.split(first);
        if offset + u64::from(sectors) <= unit {
            return each(column as u16, row * unit + offset, sectors);
        }
        let (last, in_last) = self.unit.split(lba + u64::from(sectors) - 1);
        for u in first..=last.min(first + columns - 1) {
            let (row, column) = self.columns.split(u);
            let rows_more = self.columns.split(last - u).0;
            let start = row * unit + if u == first { offset } else { 0 };
            let end_in_unit = if u + rows_more * columns == last { in_last + 1 } else { unit };
            let end = (row + rows_more) * unit + end_in_unit;
            each(column as u16, start, (end - start) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_sector_of_a_request_is_in_exactly_one_run_at_its_place(
            columns in 1_u16..9, unit in 1_u32..20, lba in 0_u64..2000, sectors in 1_u32..500,
        ) {
            let striping = Striping::new(columns, unit, 10_000);
            let mut found = Vec::new();
            striping.runs(lba, sectors, |column, at, n| found.extend((0..u64::from(n)).map(|i| (column, at + i))));
            let mut expected: Vec<_> = (lba..lba + u64::from(sectors)).map(|sector| {
                let u = sector / u64::from(unit);
                ((u % u64::from(columns)) as u16, u / u64::from(columns) * u64::from(unit) + sector % u64::from(unit))
            }).collect();
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
