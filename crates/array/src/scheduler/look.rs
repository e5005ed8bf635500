//! LOOK, the elevator: on in the direction of travel to the nearest cylinder with work, and back when there is none.

use super::{Sight, Sweep};

pub(super) fn pick(sight: &Sight<'_>, sweep: &mut Sweep) -> Option<usize> {
    let here = sight.drive.positioner(sight.now).cylinder();
    if let Some(ahead) = next(sight, *sweep, here) {
        return Some(ahead);
    }
    *sweep = match sweep {
        Sweep::Up => Sweep::Down,
        Sweep::Down => Sweep::Up,
    };
    next(sight, *sweep, here)
}

fn next(sight: &Sight<'_>, sweep: Sweep, here: u32) -> Option<usize> {
    match sweep {
        Sweep::Up => sight.least(|place, _| place.cylinder.checked_sub(here)),
        Sweep::Down => sight.least(|place, _| here.checked_sub(place.cylinder)),
    }
}
