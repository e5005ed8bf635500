//! First come, first served.

use super::Sight;

pub(super) fn pick(sight: &Sight<'_>) -> Option<usize> {
    sight.queue.oldest()
}
