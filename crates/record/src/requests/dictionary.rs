//! The few values a column has in a row group, numbered as they come: at most 256, in a table small enough for the
//! first-level cache.

const SLOTS: usize = 1024;
/// Entries at most; a key is one byte.
const ENTRIES: usize = 256;
const FREE: u16 = u16::MAX;

pub struct Dictionary {
    values: Vec<i64>,
    slots: [u16; SLOTS],
    /// More values came than there is room for: the rest of the row group does without.
    overflown: bool,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self { values: Vec::new(), slots: [FREE; SLOTS], overflown: false }
    }
}

impl Dictionary {
    /// The keys of `numbers`; false where they have more values than fit, and `keys` is then of no use.
    pub fn keys(&mut self, numbers: &[i64], keys: &mut Vec<u8>) -> bool {
        keys.clear();
        let Some(&first) = numbers.first() else { return true };
        if self.overflown {
            return false;
        }
        if numbers.iter().all(|n| *n == first) {
            let key = self.key(first);
            keys.resize(numbers.len(), key.unwrap_or(0));
            self.overflown = key.is_none();
        } else {
            for number in numbers {
                let Some(key) = self.key(*number) else {
                    self.overflown = true;
                    break;
                };
                keys.push(key);
            }
        }
        !self.overflown
    }

    fn key(&mut self, number: i64) -> Option<u8> {
        // Fibonacci hashing: the upper bits of a product by 2^64 / golden ratio.
        let mut slot = ((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        loop {
            let entry = self.slots[slot];
            if entry == FREE {
                if self.values.len() == ENTRIES {
                    return None;
                }
                self.slots[slot] = self.values.len() as u16;
                self.values.push(number);
                return Some((self.values.len() - 1) as u8);
            }
            if self.values[entry as usize] == number {
                return Some(entry as u8);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// Bits a key takes now; one at least, as not every reader likes none.
    pub fn width(&self) -> u8 {
        (self.values.len() as u32).next_power_of_two().trailing_zeros().max(1) as u8
    }

    pub fn clear(&mut self) {
        if !self.values.is_empty() {
            self.values.clear();
            self.slots = [FREE; SLOTS];
        }
        self.overflown = false;
    }
}
