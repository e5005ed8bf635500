//! The server's memory for pages of files: least recently used goes first. A page is in memory from the moment its
//! read has come; two requests for a page that is on its way both read it.
//!
//! Pages are found by leaves of neighbouring blocks: files are read from their start, so the next block's place is
//! mostly where the last one's was. A leaf stays when its pages have gone; there are as many as the files have
//! blocks, over 64.

use std::collections::HashMap;

const NONE: u32 = u32::MAX;
/// Blocks of a leaf.
const LEAF: u64 = 64;

#[derive(Clone, Copy, Debug)]
struct Page {
    block: u64,
    newer: u32,
    older: u32,
}

/// Blocks held in memory, by their number.
#[derive(Clone, Debug)]
pub struct Memory {
    most: usize,
    places: Places,
    /// A list from `newest` to `oldest` through all pages.
    pages: Vec<Page>,
    newest: u32,
    oldest: u32,
}

/// By block: its page, or [`NONE`].
#[derive(Clone, Debug, Default)]
struct Places {
    leaves: HashMap<u64, usize>,
    slots: Vec<[u32; LEAF as usize]>,
    /// The leaf that was asked for last, by its number and its place.
    last: Option<(u64, usize)>,
}

impl Places {
    fn of(&mut self, block: u64) -> &mut u32 {
        let leaf = block / LEAF;
        let at = match self.last {
            Some((number, at)) if number == leaf => at,
            _ => *self.leaves.entry(leaf).or_insert_with(|| {
                self.slots.push([NONE; LEAF as usize]);
                self.slots.len() - 1
            }),
        };
        self.last = Some((leaf, at));
        &mut self.slots[at][(block % LEAF) as usize]
    }
}

impl Memory {
    /// Room for `pages` pages; none where 0.
    pub fn new(pages: u64) -> Self {
        let most = pages.min(u64::from(NONE - 1)) as usize;
        Self { most, places: Places::default(), pages: Vec::new(), newest: NONE, oldest: NONE }
    }

    /// Whether the block is held; it is then the most recently used.
    pub fn touch(&mut self, block: u64) -> bool {
        let at = *self.places.of(block);
        if at == NONE {
            return false;
        }
        self.unlink(at);
        self.link(at);
        true
    }

    /// Holds the block, in the place of the least recently used where memory is full.
    pub fn hold(&mut self, block: u64) {
        if self.most == 0 || self.touch(block) {
            return;
        }
        let at = if self.pages.len() < self.most {
            self.pages.push(Page { block, newer: NONE, older: NONE });
            self.pages.len() as u32 - 1
        } else {
            let at = self.oldest;
            self.unlink(at);
            *self.places.of(self.pages[at as usize].block) = NONE;
            self.pages[at as usize].block = block;
            at
        };
        *self.places.of(block) = at;
        self.link(at);
    }

    fn unlink(&mut self, at: u32) {
        let Page { newer, older, .. } = self.pages[at as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.pages[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.pages[older as usize].newer = newer,
        }
    }

    fn link(&mut self, at: u32) {
        let before = self.newest;
        self.pages[at as usize].newer = NONE;
        self.pages[at as usize].older = before;
        match before {
            NONE => self.oldest = at,
            before => self.pages[before as usize].newer = at,
        }
        self.newest = at;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_least_recently_used_page_goes_first() {
        let mut memory = Memory::new(2);
        memory.hold(1);
        memory.hold(2);
        assert!(memory.touch(1));
        memory.hold(3);
        assert!(memory.touch(1) && memory.touch(3) && !memory.touch(2));
    }

    #[test]
    fn no_memory_holds_nothing() {
        let mut memory = Memory::new(0);
        memory.hold(1);
        assert!(!memory.touch(1));
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_list_holds(
            most in 1_usize..8, uses in prop::collection::vec((0_u64..12, any::<bool>()), 0..200),
        ) {
            let (mut memory, mut list) = (Memory::new(most as u64), Vec::<u64>::new());
            for (number, hold) in uses {
                // Over several leaves.
                let block = number * 40;
                let known = list.iter().position(|b| *b == block);
                if let Some(at) = known {
                    list.remove(at);
                }
                prop_assert!(hold || memory.touch(block) == known.is_some());
                if hold {
                    memory.hold(block);
                }
                if hold || known.is_some() {
                    list.push(block);
                }
                if list.len() > most {
                    list.remove(0);
                }
                prop_assert!(memory.pages.len() <= most);
            }
            let held: Vec<u64> = (0..12 * 40).filter(|block| *memory.places.of(*block) != NONE).collect();
            list.sort_unstable();
            prop_assert_eq!(held, list);
        }
    }
}
