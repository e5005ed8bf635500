//! Which copies of written data are still to be written: the contents of the array's non-volatile list, found by where
//! they go. A copy counts as stale until the last pending write that overlaps it has ended.

use iojoule_disk::Model;

use super::queue::NONE;
use crate::Extent;

/// One or two runs of addresses `[from, to)`: a replica that goes on at its track's first sector is two.
pub(super) type Runs = [(u64, u64); 2];

/// The addresses an extent covers; the second run is empty where there is one only.
pub(super) fn runs(extent: &Extent, model: &Model) -> Runs {
    let (from, to) = (extent.lba.0, extent.lba.0 + u64::from(extent.sectors));
    if let (true, Some(geometry)) = (extent.on_track, model.geometry()) {
        let track = geometry.track_of(extent.lba);
        let end = track.first.0 + u64::from(track.sectors);
        if to > end {
            return [(from, end), (track.first.0, track.first.0 + (to - end))];
        }
    }
    [(from, to), (to, to)]
}

/// Whether `outer` covers every address of `inner`.
pub(super) fn covers(outer: &Runs, inner: &Runs) -> bool {
    inner.iter().filter(|(from, to)| to > from).all(|run| outer.iter().any(|o| o.0 <= run.0 && run.1 <= o.1))
}

/// Sectors of a cell: a hash table knows which cells of which drive have pending writes.
const CELL: u64 = 64;

/// A pending write in one cell.
#[derive(Clone, Copy, Debug)]
struct Node {
    drive: u16,
    cell: u64,
    job: u32,
    runs: Runs,
    /// The next in the same bucket.
    next: u32,
}

#[derive(Debug)]
pub(super) struct Pending {
    buckets: Vec<u32>,
    nodes: Vec<Node>,
    free: Vec<u32>,
    entries: u32,
}

impl Pending {
    /// A list that may hold about `entries` copies.
    pub fn new(entries: u32) -> Self {
        let buckets = entries.clamp(16, 1 << 20).next_power_of_two() as usize;
        Self { buckets: vec![NONE; buckets], nodes: Vec::new(), free: Vec::new(), entries: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    pub fn entries(&self) -> u32 {
        self.entries
    }

    pub fn add(&mut self, drive: u16, runs: &Runs, job: u32) {
        self.entries += 1;
        for cell in cells(runs) {
            let bucket = self.bucket(drive, cell);
            let node = Node { drive, cell, job, runs: *runs, next: self.buckets[bucket] };
            let index = match self.free.pop() {
                Some(index) => {
                    self.nodes[index as usize] = node;
                    index
                }
                None => {
                    self.nodes.push(node);
                    (self.nodes.len() - 1) as u32
                }
            };
            self.buckets[bucket] = index;
        }
    }

    pub fn remove(&mut self, drive: u16, runs: &Runs, job: u32) {
        self.entries -= 1;
        for cell in cells(runs) {
            let bucket = self.bucket(drive, cell);
            let (mut before, mut at) = (NONE, self.buckets[bucket]);
            while at != NONE {
                let node = self.nodes[at as usize];
                if (node.job, node.cell, node.drive) == (job, cell, drive) {
                    match before {
                        NONE => self.buckets[bucket] = node.next,
                        before => self.nodes[before as usize].next = node.next,
                    }
                    self.free.push(at);
                    break;
                }
                (before, at) = (at, node.next);
            }
        }
    }

    /// Jobs whose writes to this drive overlap `runs`; a job may come more than once.
    pub fn overlapping(&self, drive: u16, runs: &Runs) -> impl Iterator<Item = u32> + '_ {
        let wanted = *runs;
        cells(runs).flat_map(move |cell| {
            let mut at = self.buckets[self.bucket(drive, cell)];
            std::iter::from_fn(move || {
                while at != NONE {
                    let node = &self.nodes[at as usize];
                    at = node.next;
                    if node.drive == drive && node.cell == cell && overlap(&node.runs, &wanted) {
                        return Some(node.job);
                    }
                }
                None
            })
        })
    }

    fn bucket(&self, drive: u16, cell: u64) -> usize {
        let key =
            cell.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(drive).wrapping_mul(0xD1B5_4A32_D192_ED03));
        (key >> 40) as usize & (self.buckets.len() - 1)
    }
}

fn overlap(a: &Runs, b: &Runs) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.0.max(y.0) < x.1.min(y.1)))
}

/// The cells of both runs; a cell that both touch comes once.
fn cells(runs: &Runs) -> impl Iterator<Item = u64> + use<> {
    let [(from, to), (again, end)] = *runs;
    let first = from / CELL..to.div_ceil(CELL);
    let second = again / CELL..if end > again { end.div_ceil(CELL) } else { again / CELL };
    first.clone().chain(second.filter(move |cell| !first.contains(cell)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn run(from: u64, to: u64) -> Runs {
        [(from, to), (to, to)]
    }

    #[test]
    fn a_write_that_wraps_its_track_covers_what_lies_in_both_parts() {
        let wrapped = [(90, 100), (50, 60)];
        assert!(covers(&wrapped, &run(92, 98)));
        assert!(covers(&wrapped, &run(50, 60)));
        assert!(!covers(&wrapped, &run(55, 61)));
        assert!(covers(&wrapped, &[(95, 100), (50, 55)]));
    }

    fn any_runs() -> impl Strategy<Value = Runs> {
        (0u64..400, 1u64..200, 0u64..400, prop::option::of(1u64..100))
            .prop_map(|(from, sectors, again, more)| [(from, from + sectors), (again, again + more.unwrap_or(0))])
    }

    proptest! {
        #[test]
        fn a_copy_is_stale_as_long_as_any_pending_write_overlaps_it(
            steps in prop::collection::vec((0u16..3, any_runs(), any::<bool>()), 1..60),
            asked in any_runs(),
        ) {
            let mut pending = Pending::new(16);
            let mut expected: Vec<(u16, Runs, u32)> = Vec::new();
            for (job, (drive, runs, add)) in steps.into_iter().enumerate() {
                if add || expected.is_empty() {
                    pending.add(drive, &runs, job as u32);
                    expected.push((drive, runs, job as u32));
                } else {
                    let (drive, runs, job) = expected.swap_remove(job % expected.len());
                    pending.remove(drive, &runs, job);
                }
                prop_assert_eq!(pending.entries() as usize, expected.len());
                for drive in 0..3 {
                    let mut found: Vec<u32> = pending.overlapping(drive, &asked).collect();
                    found.sort_unstable();
                    found.dedup();
                    let mut wanted: Vec<u32> =
                        expected.iter().filter(|(d, runs, _)| *d == drive && overlap(runs, &asked)).map(|e| e.2).collect();
                    wanted.sort_unstable();
                    prop_assert_eq!(found, wanted);
                }
            }
        }
    }
}
