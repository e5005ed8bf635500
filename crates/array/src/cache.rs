//! A least-recently-used set of blocks in the host's memory: a slab threaded by the order of use and by hash chains, all
//! allocated at the start.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    block: u64,
    /// Towards the more recently used.
    newer: u32,
    older: u32,
    /// The next in the same bucket.
    chain: u32,
    /// Newer than what the drives hold.
    dirty: bool,
}

#[derive(Debug)]
pub(crate) struct Lru {
    nodes: Vec<Node>,
    capacity: usize,
    buckets: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl Lru {
    pub fn new(capacity: u32) -> Self {
        let buckets = (capacity as usize).max(1).next_power_of_two();
        Self {
            nodes: Vec::with_capacity(capacity as usize),
            capacity: capacity as usize,
            buckets: vec![NONE; buckets],
            newest: NONE,
            oldest: NONE,
        }
    }

    pub fn is_dirty(&self, block: u64) -> bool {
        let node = self.find(block);
        node != NONE && self.nodes[node as usize].dirty
    }

    /// Uses a block that may be there; whether it is.
    pub fn touch(&mut self, block: u64) -> bool {
        let node = self.find(block);
        if node != NONE {
            self.unthread(node);
            self.thread(node);
        }
        node != NONE
    }

    /// Says that the drives hold the block's newest contents, or that they do not.
    pub fn mark(&mut self, block: u64, dirty: bool) {
        let node = self.find(block);
        if node != NONE {
            self.nodes[node as usize].dirty = dirty;
        }
    }

    /// Puts a block in as the most recently used. The least recently used one makes room; it is returned where it is dirty
    /// and must be written.
    pub fn insert(&mut self, block: u64, dirty: bool) -> Option<u64> {
        if self.capacity == 0 {
            return dirty.then_some(block);
        }
        let found = self.find(block);
        if found != NONE {
            self.nodes[found as usize].dirty |= dirty;
            self.unthread(found);
            self.thread(found);
            return None;
        }
        let mut evicted = None;
        let node = if self.nodes.len() < self.capacity {
            self.nodes.push(Node { block, newer: NONE, older: NONE, chain: NONE, dirty });
            (self.nodes.len() - 1) as u32
        } else {
            let victim = self.oldest;
            let old = self.nodes[victim as usize];
            evicted = old.dirty.then_some(old.block);
            self.unthread(victim);
            self.unchain(victim);
            self.nodes[victim as usize] = Node { block, newer: NONE, older: NONE, chain: NONE, dirty };
            victim
        };
        let bucket = self.bucket(block);
        self.nodes[node as usize].chain = self.buckets[bucket];
        self.buckets[bucket] = node;
        self.thread(node);
        evicted
    }

    fn bucket(&self, block: u64) -> usize {
        // Fibonacci hashing: consecutive blocks spread over all buckets.
        let spread = block.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (spread >> 32) as usize & (self.buckets.len() - 1)
    }

    fn find(&self, block: u64) -> u32 {
        let mut node = self.buckets[self.bucket(block)];
        while node != NONE && self.nodes[node as usize].block != block {
            node = self.nodes[node as usize].chain;
        }
        node
    }

    fn thread(&mut self, node: u32) {
        let newest = std::mem::replace(&mut self.newest, node);
        self.nodes[node as usize].older = newest;
        self.nodes[node as usize].newer = NONE;
        match newest {
            NONE => self.oldest = node,
            newest => self.nodes[newest as usize].newer = node,
        }
    }

    fn unthread(&mut self, node: u32) {
        let Node { newer, older, .. } = self.nodes[node as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
    }

    fn unchain(&mut self, node: u32) {
        let next = self.nodes[node as usize].chain;
        let bucket = self.bucket(self.nodes[node as usize].block);
        let mut at = self.buckets[bucket];
        if at == node {
            self.buckets[bucket] = next;
            return;
        }
        while at != NONE {
            let chain = self.nodes[at as usize].chain;
            if chain == node {
                self.nodes[at as usize].chain = next;
                return;
            }
            at = chain;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_what_was_used_last(uses in prop::collection::vec((0u64..40, any::<bool>()), 0..400), capacity in 1u32..20) {
            let mut lru = Lru::new(capacity);
            let mut expected: VecDeque<(u64, bool)> = VecDeque::new();
            for (block, dirty) in uses {
                let before = expected.iter().position(|(b, _)| *b == block).and_then(|at| expected.remove(at));
                expected.push_front((block, dirty || before.is_some_and(|(_, d)| d)));
                let gone = if expected.len() > capacity as usize { expected.pop_back() } else { None };
                prop_assert_eq!(lru.insert(block, dirty), gone.filter(|(_, d)| *d).map(|(b, _)| b));
                for other in 0..40 {
                    let held = expected.iter().find(|(b, _)| *b == other);
                    prop_assert_eq!(lru.find(other) != NONE, held.is_some());
                    prop_assert_eq!(lru.is_dirty(other), held.is_some_and(|(_, d)| *d));
                }
            }
        }
    }
}
