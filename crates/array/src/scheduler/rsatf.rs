//! SATF over all replicas of all queued requests (RSATF): every replica has its row, so the loop is SATF's.
//! Yu et al., OSDI 2000, §2.4.

use super::reach::Reach;
use super::{Sight, satf};

pub(super) fn pick(sight: &Sight<'_>, reach: Option<&Reach>) -> Option<usize> {
    satf::pick(sight, reach)
}
