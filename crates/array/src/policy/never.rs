//! Drives spin for ever and the gear stays: what any other policy is compared with.

use super::{Orders, Policy, View, Wants};

#[derive(Clone, Copy, Debug, Default)]
pub struct Never;

impl Policy for Never {
    fn wants(&self) -> Wants {
        Wants::default()
    }

    fn idle(&mut self, _: u16, _: &dyn View, _: &mut Orders) {}
    fn timer(&mut self, _: u16, _: &dyn View, _: &mut Orders) {}
    fn arrived(&mut self, _: u16, _: &dyn View, _: &mut Orders) {}
    fn window(&mut self, _: &[f64], _: &dyn View, _: &mut Orders) {}
}
