//! Which copies of written data are still to be written: the contents of the array's non-volatile list, found by where
//! they go. A copy counts as stale until the last pending write that overlaps it has ended.

use std::collections::BTreeMap;

use iojoule_disk::Model;

use crate::Extent;

/// One or two runs of addresses: a replica that goes on at its track's first sector is two.
pub(super) type Runs = [(u64, u64); 2];

/// The addresses `[from, to)` an extent covers; an empty run where there is one only.
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

#[derive(Debug, Default)]
pub(super) struct Pending {
    /// `(drive, from, job)` to `to`.
    by_place: BTreeMap<(u16, u64, u32), u64>,
    /// The longest run ever held: how far before an address a run that covers it may begin.
    longest: u64,
    entries: u32,
}

impl Pending {
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    pub fn entries(&self) -> u32 {
        self.entries
    }

    pub fn add(&mut self, drive: u16, runs: &Runs, job: u32) {
        self.entries += 1;
        for (from, to) in runs.iter().filter(|(from, to)| to > from) {
            self.longest = self.longest.max(to - from);
            self.by_place.insert((drive, *from, job), *to);
        }
    }

    pub fn remove(&mut self, drive: u16, runs: &Runs, job: u32) {
        self.entries -= 1;
        for (from, to) in runs.iter().filter(|(from, to)| to > from) {
            debug_assert!(self.by_place.contains_key(&(drive, *from, job)), "{from}..{to} was pending");
            self.by_place.remove(&(drive, *from, job));
        }
    }

    /// Jobs whose writes to this drive overlap `runs`; a job may come twice.
    pub fn overlapping(&self, drive: u16, runs: &Runs) -> impl Iterator<Item = u32> + '_ {
        let runs = *runs;
        runs.into_iter().filter(|(from, to)| to > from).flat_map(move |(from, to)| {
            self.by_place
                .range((drive, from.saturating_sub(self.longest), 0)..(drive, to, 0))
                .filter(move |(_, end)| **end > from)
                .map(|((_, _, job), _)| *job)
        })
    }
}

/// Whether `outer` covers every address of `inner`.
pub(super) fn covers(outer: &Runs, inner: &Runs) -> bool {
    inner.iter().filter(|(from, to)| to > from).all(|run| outer.iter().any(|o| o.0 <= run.0 && run.1 <= o.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn run(from: u64, to: u64) -> Runs {
        [(from, to), (to, to)]
    }

    #[test]
    fn a_copy_is_stale_as_long_as_any_pending_write_overlaps_it() {
        let mut pending = Pending::default();
        pending.add(0, &run(10, 20), 1);
        pending.add(0, &run(15, 18), 2);
        pending.add(1, &run(10, 20), 3);
        let found = |pending: &Pending, at| pending.overlapping(0, &run(at, at + 1)).collect::<Vec<_>>();
        assert_eq!(found(&pending, 9), []);
        assert_eq!(found(&pending, 10), [1]);
        assert_eq!(found(&pending, 16), [1, 2]);
        pending.remove(0, &run(10, 20), 1);
        assert_eq!(found(&pending, 10), []);
        assert_eq!(found(&pending, 16), [2]);
        assert_eq!(pending.entries(), 2);
    }

    #[test]
    fn a_write_that_wraps_its_track_covers_what_lies_in_both_parts() {
        let wrapped = [(90, 100), (50, 60)];
        assert!(covers(&wrapped, &run(92, 98)));
        assert!(covers(&wrapped, &run(50, 60)));
        assert!(!covers(&wrapped, &run(55, 61)));
        assert!(covers(&wrapped, &[(95, 100), (50, 55)]));
    }
}
