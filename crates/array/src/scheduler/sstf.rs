//! Shortest seek time first: the nearest cylinder, either way.

use super::Sight;

pub(super) fn pick(sight: &Sight<'_>) -> Option<usize> {
    let here = sight.drive.positioner(sight.now).cylinder();
    sight.least(|place, _| Some(place.cylinder.abs_diff(here)))
}
