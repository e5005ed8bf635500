//! Shortest access time first: the least seek and rotation from where the arm and the platter are now.
//! Jacobson and Wilkes, HPL-CSP-91-7, 1991; Seltzer, Chen and Ousterhout, USENIX 1990.

use super::Sight;
use super::reach::Reach;

/// From this length on it pays to pass over what is too far away.
const LONG: usize = 48;

pub(super) fn pick(sight: &Sight<'_>, reach: Option<&Reach>) -> Option<usize> {
    let reach = reach.filter(|_| sight.queue.len() >= LONG);
    let positioner = sight.drive.positioner(sight.now);
    let here = positioner.cylinder();
    let mut best = None;
    let mut least = i64::MAX;
    let mut farthest = u32::MAX;
    for (row, target) in sight.queue.targets().iter().enumerate() {
        if target.place.cylinder.abs_diff(here) > farthest {
            continue;
        }
        let time = positioner.time(target.place, target.op).0;
        if time < least {
            (least, best) = (time, Some(row));
            if let Some(reach) = reach {
                farthest = reach.within(time);
            }
        } else if time == least && best.is_some_and(|at| sight.queue.came_before(row, at)) {
            best = Some(row);
        }
    }
    best
}
