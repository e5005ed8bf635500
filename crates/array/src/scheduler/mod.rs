//! Which request next: one scheduler per drive, each a file and a line in this table. A queue has a row for each place the
//! drive may go to; a scheduler that knows replicas gets a row for every replica of a request, another one row only.
//! Yu et al., OSDI 2000, §2.4; Worthington, Ganger and Patt, SIGMETRICS 1994.
//!
//! | name | next is | replicas |
//! |---|---|---|
//! | `fcfs` | who came first | |
//! | `sstf` | the nearest cylinder | |
//! | `look` | the nearest cylinder in the direction of travel | |
//! | `clook` | the next sector number upwards, then the lowest | |
//! | `satf` | the shortest seek and rotation | |
//! | `rlook` | as LOOK, then the rotationally closest replica | yes |
//! | `rsatf` | the shortest seek and rotation over all replicas | yes |

mod clook;
mod fcfs;
mod look;
mod reach;
mod rlook;
mod rsatf;
mod satf;
mod sstf;

use std::sync::Arc;

use iojoule_disk::{Drive, Op, Place};
use iojoule_units::{Lba, ModelNs, Nanos};
use serde::{Deserialize, Serialize};

use crate::engine::queue::Queue;
pub(crate) use reach::Reach;

/// A scheduler by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchedulerKind {
    #[default]
    Fcfs,
    Sstf,
    Look,
    Clook,
    Satf,
    Rlook,
    Rsatf,
}

impl SchedulerKind {
    /// Every scheduler, in the order of the table.
    pub const ALL: [Self; 7] = [Self::Fcfs, Self::Sstf, Self::Look, Self::Clook, Self::Satf, Self::Rlook, Self::Rsatf];

    /// Chooses among the replicas of a request, not among requests only.
    pub fn knows_replicas(self) -> bool {
        matches!(self, Self::Rlook | Self::Rsatf)
    }

    /// Needs to know where on the medium a request lies.
    pub(crate) fn needs_places(self) -> bool {
        !matches!(self, Self::Fcfs | Self::Clook)
    }
}

/// The direction of travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sweep {
    #[default]
    Up,
    Down,
}

/// One drive's scheduler and what it remembers.
#[derive(Debug)]
pub(crate) struct Scheduler {
    kind: SchedulerKind,
    age_limit: Option<Nanos>,
    sweep: Sweep,
    /// Where the last command began.
    last: Lba,
    reach: Option<Arc<Reach>>,
}

/// What a scheduler looks at: the queue, which is not empty, and where the arm is.
struct Sight<'a> {
    queue: &'a Queue,
    drive: &'a Drive,
    now: ModelNs,
}

impl Sight<'_> {
    /// Time to reach this place.
    fn time(&self, place: Place, op: Op) -> Nanos {
        self.drive.positioner(self.now).time(place, op)
    }

    /// The row with the least key; of equals the one that came first.
    fn least<K: Ord>(&self, key: impl Fn(Place, Op) -> Option<K>) -> Option<usize> {
        let mut best: Option<(K, usize)> = None;
        for (row, target) in self.queue.targets().iter().enumerate() {
            let Some(this) = key(target.place, target.op) else { continue };
            let better = match &best {
                None => true,
                Some((least, at)) => this < *least || this == *least && self.queue.came_before(row, *at),
            };
            if better {
                best = Some((this, row));
            }
        }
        best.map(|(_, row)| row)
    }
}

impl Scheduler {
    /// `reach` is that of the drive; without it nothing is passed over.
    pub fn new(kind: SchedulerKind, age_limit: Option<Nanos>, reach: Option<Arc<Reach>>) -> Self {
        Self { kind, age_limit, sweep: Sweep::Up, last: Lba(0), reach }
    }

    pub fn kind(&self) -> SchedulerKind {
        self.kind
    }

    /// Where the last command began.
    pub fn last(&self) -> Lba {
        self.last
    }

    /// The drive goes there.
    pub fn went(&mut self, lba: Lba) {
        self.last = lba;
    }

    /// The row to be served next; the queue is not empty. `ages`: the age limit holds, somebody waits for these.
    pub fn pick(&mut self, queue: &Queue, drive: &Drive, now: ModelNs, ages: bool) -> usize {
        let oldest = queue.oldest().unwrap_or(0);
        if queue.len() == 1 {
            return oldest;
        }
        let sight = Sight { queue, drive, now };
        if ages && self.age_limit.is_some_and(|limit| now - queue.row(oldest).since > limit) {
            return nearest_of_same(&sight, oldest);
        }
        let picked = match self.kind {
            SchedulerKind::Fcfs => fcfs::pick(&sight),
            SchedulerKind::Sstf => sstf::pick(&sight),
            SchedulerKind::Look => look::pick(&sight, &mut self.sweep),
            SchedulerKind::Clook => clook::pick(&sight, self.last),
            SchedulerKind::Satf => satf::pick(&sight, self.reach.as_deref()),
            SchedulerKind::Rlook => rlook::pick(&sight, &mut self.sweep),
            SchedulerKind::Rsatf => rsatf::pick(&sight, self.reach.as_deref()),
        };
        picked.unwrap_or(oldest)
    }
}

/// Of the replicas of what stands in `row`, the one reached first.
fn nearest_of_same(sight: &Sight<'_>, row: usize) -> usize {
    let wanted = sight.queue.row(row).owner;
    let mut best = (Nanos(i64::MAX), row);
    for (at, candidate) in sight.queue.rows().iter().enumerate() {
        if candidate.owner.job == wanted.job && candidate.owner.piece == wanted.piece {
            let target = sight.queue.targets()[at];
            best = best.min((sight.time(target.place, target.op), at));
        }
    }
    best.1
}
