//! The places a drive may go to next: a structure of arrays without holes, so that a scheduler's loop runs over
//! consecutive memory, threaded by a list in the order of arrival, so that the oldest is known at once.

use iojoule_disk::{Op, Place};
use iojoule_units::{Lba, ModelNs};

/// No row; no neighbour.
pub(crate) const NONE: u32 = u32::MAX;

/// Where a row leads: what a scheduler's loop looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub place: Place,
    pub op: Op,
}

/// Whose row it is: one of the extents of one of the pieces of a job's plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub job: u32,
    pub piece: u32,
    pub extent: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub owner: Owner,
    pub since: ModelNs,
    pub lba: Lba,
    older: u32,
    newer: u32,
    sequence: u64,
}

#[derive(Debug)]
pub(crate) struct Queue {
    targets: Vec<Target>,
    rows: Vec<Row>,
    oldest: u32,
    newest: u32,
    sequence: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self { targets: Vec::new(), rows: Vec::new(), oldest: NONE, newest: NONE, sequence: 0 }
    }
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    pub fn row(&self, row: usize) -> &Row {
        &self.rows[row]
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row that has waited longest.
    pub fn oldest(&self) -> Option<usize> {
        (self.oldest != NONE).then_some(self.oldest as usize)
    }

    /// Whether row `a` came before row `b`.
    pub fn came_before(&self, a: usize, b: usize) -> bool {
        self.rows[a].sequence < self.rows[b].sequence
    }

    /// Adds a row and says where it is.
    pub fn push(&mut self, owner: Owner, since: ModelNs, lba: Lba, target: Target) -> u32 {
        let at = self.rows.len() as u32;
        self.sequence += 1;
        self.rows.push(Row { owner, since, lba, older: self.newest, newer: NONE, sequence: self.sequence });
        self.targets.push(target);
        match self.newest {
            NONE => self.oldest = at,
            newest => self.rows[newest as usize].newer = at,
        }
        self.newest = at;
        at
    }

    /// Takes a row out. The last row moves into its place: its owner is returned, to be told.
    pub fn remove(&mut self, at: u32) -> (Owner, Option<Owner>) {
        let removed = self.rows[at as usize];
        self.link(removed.older, removed.newer);
        self.rows.swap_remove(at as usize);
        self.targets.swap_remove(at as usize);
        let Some(moved) = self.rows.get(at as usize).copied() else { return (removed.owner, None) };
        match moved.older {
            NONE => self.oldest = at,
            older => self.rows[older as usize].newer = at,
        }
        match moved.newer {
            NONE => self.newest = at,
            newer => self.rows[newer as usize].older = at,
        }
        (removed.owner, Some(moved.owner))
    }

    fn link(&mut self, older: u32, newer: u32) {
        match older {
            NONE => self.oldest = newer,
            older => self.rows[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.rows[newer as usize].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn owner(job: u32) -> Owner {
        Owner { job, piece: 0, extent: 0 }
    }

    proptest! {
        #[test]
        fn whatever_leaves_from_the_middle_the_oldest_is_who_came_first(steps in prop::collection::vec(0u32..50, 1..200)) {
            let mut queue = Queue::default();
            let mut expected: Vec<u32> = Vec::new();
            for (job, step) in steps.iter().enumerate() {
                if step % 3 == 0 && !expected.is_empty() {
                    let victim = *step as usize % queue.len();
                    let (gone, _) = queue.remove(victim as u32);
                    expected.retain(|j| *j != gone.job);
                } else {
                    let target = Target { place: Place::default(), op: Op::Read };
                    queue.push(owner(job as u32), ModelNs(0), Lba(0), target);
                    expected.push(job as u32);
                }
                prop_assert_eq!(queue.len(), expected.len());
                prop_assert_eq!(queue.oldest().map(|row| queue.row(row).owner.job), expected.first().copied());
            }
            for job in expected {
                let oldest = queue.oldest().unwrap();
                prop_assert_eq!(queue.remove(oldest as u32).0.job, job);
            }
            prop_assert!(queue.is_empty());
        }
    }
}
