//! LOOK in the dimension of seeks; at the cylinder it comes to, the rotationally closest replica (RLOOK).
//! Yu et al., OSDI 2000, §2.4.

use super::{Sight, Sweep, look, nearest_of_same};

pub(super) fn pick(sight: &Sight<'_>, sweep: &mut Sweep) -> Option<usize> {
    let next = look::pick(sight, sweep)?;
    let cylinder = sight.queue.targets()[next].place.cylinder;
    // Replicas may lie a cylinder further on; other requests of this cylinder may be closer.
    let replica = nearest_of_same(sight, next);
    let here = sight.least(|place, op| (place.cylinder == cylinder).then(|| sight.time(place, op)))?;
    let time = |row: usize| sight.time(sight.queue.targets()[row].place, sight.queue.targets()[row].op);
    Some(if time(here) <= time(replica) { here } else { replica })
}
