//! Shortest access time first: the least seek and rotation from where the arm and the platter are now.
//! Jacobson and Wilkes, HPL-CSP-91-7, 1991; Seltzer, Chen and Ousterhout, USENIX 1990.

use super::Sight;

pub(super) fn pick(sight: &Sight<'_>) -> Option<usize> {
    let positioner = sight.drive.positioner(sight.now);
    let mut best = None;
    let mut least = i64::MAX;
    for (row, target) in sight.queue.targets().iter().enumerate() {
        let time = positioner.time(target.place, target.op).0;
        if time < least {
            (least, best) = (time, Some(row));
        } else if time == least && best.is_some_and(|at| sight.queue.came_before(row, at)) {
            best = Some(row);
        }
    }
    best
}
