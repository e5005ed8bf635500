//! A set of small numbers that knows its size and its smallest member.

/// A bitmap.
pub struct Bits {
    words: Vec<u64>,
    count: u64,
    /// No member is in a word before this one.
    low: usize,
}

impl Bits {
    pub fn new(size: u64) -> Self {
        Self { words: vec![0; size.div_ceil(64) as usize], count: 0, low: 0 }
    }

    pub fn len(&self) -> u64 {
        self.count
    }

    #[inline]
    pub fn contains(&self, bit: u64) -> bool {
        self.count > 0 && self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    pub fn insert(&mut self, bit: u64) {
        let word = (bit / 64) as usize;
        let mask = 1 << (bit % 64);
        self.count += u64::from(self.words[word] & mask == 0);
        self.words[word] |= mask;
        self.low = self.low.min(word);
    }

    pub fn remove(&mut self, bit: u64) {
        if self.contains(bit) {
            self.words[(bit / 64) as usize] &= !(1 << (bit % 64));
            self.count -= 1;
        }
    }

    pub fn first(&mut self) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        while self.words[self.low] == 0 {
            self.low += 1;
        }
        Some(self.low as u64 * 64 + u64::from(self.words[self.low].trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_an_ordered_set(steps in proptest::collection::vec((any::<bool>(), 0_u64..300), 0..400)) {
            let (mut bits, mut set) = (Bits::new(300), BTreeSet::new());
            for (put, bit) in steps {
                if put { bits.insert(bit); set.insert(bit); } else { bits.remove(bit); set.remove(&bit); }
                prop_assert_eq!(bits.len(), set.len() as u64);
                prop_assert_eq!(bits.first(), set.first().copied());
                prop_assert_eq!(bits.contains(bit), set.contains(&bit));
            }
        }
    }
}
