//! Drives spin for ever and the gear stays: what any other policy is compared with.

use super::{Policy, Wants};

/// No drive ever rests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Never;

impl Policy for Never {
    fn wants(&self) -> Wants {
        Wants::default()
    }
}
