//! How many distinct sectors of a device were touched: a bitmap in pieces of 2 MiB of addresses, made where something is
//! touched. Memory is at most 1/4096 of the touched address space, and 600 bytes for each piece touched.

use iojoule_units::SECTOR;

use super::recent::BlockMap;

const WORDS: usize = 64;
const SECTORS: u64 = WORDS as u64 * 64;

#[derive(Clone, Debug, Default)]
pub(crate) struct Footprint {
    piece_of: BlockMap<u32>,
    pieces: Vec<[u64; WORDS]>,
    /// The piece touched last and where it is: most requests stay near the one before.
    last: Option<(u64, usize)>,
    sectors: u64,
}

impl Footprint {
    /// A sector counts when any byte of it is touched.
    pub fn touch(&mut self, offset: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let (mut sector, last) = (offset / SECTOR, offset.saturating_add(bytes - 1) / SECTOR);
        while sector <= last {
            let end = last.min(sector | (SECTORS - 1));
            self.touch_in_piece(sector / SECTORS, sector % SECTORS, end % SECTORS);
            match end.checked_add(1) {
                Some(next) => sector = next,
                None => break,
            }
        }
    }

    /// Bytes of the sectors touched.
    pub fn bytes(&self) -> u64 {
        self.sectors * SECTOR
    }

    fn touch_in_piece(&mut self, piece: u64, from: u64, to: u64) {
        let at = match self.last {
            Some((last, at)) if last == piece => at,
            _ => {
                let fresh = self.pieces.len();
                let at = *self.piece_of.entry(piece).or_insert(fresh as u32) as usize;
                if at == fresh {
                    self.pieces.push([0; WORDS]);
                }
                self.last = Some((piece, at));
                at
            }
        };
        let words = &mut self.pieces[at];
        for word in from / 64..=to / 64 {
            let low = if word == from / 64 { from % 64 } else { 0 };
            let high = if word == to / 64 { to % 64 } else { 63 };
            let mask = (u64::MAX >> (63 - high)) & (u64::MAX << low);
            let old = &mut words[word as usize];
            self.sectors += u64::from((mask & !*old).count_ones());
            *old |= mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_footprint_is_the_number_of_distinct_sectors(
            ranges in prop::collection::vec((0u64..9_000_000, 0u64..500_000), 0..12)
        ) {
            let (mut footprint, mut sectors) = (Footprint::default(), BTreeSet::new());
            for (offset, bytes) in ranges {
                footprint.touch(offset, bytes);
                if bytes > 0 {
                    sectors.extend(offset / 512..=(offset + bytes - 1) / 512);
                }
            }
            prop_assert_eq!(footprint.bytes(), sectors.len() as u64 * 512);
        }
    }

    #[test]
    fn the_last_addresses_there_are_do_not_overflow() {
        let mut footprint = Footprint::default();
        footprint.touch(u64::MAX - 100, 4096);
        assert_eq!(footprint.bytes(), 512);
    }
}
