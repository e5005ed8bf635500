//! What a drive draws: its power states ([`PowerState`]), how long it was in each ([`Ledger`]), what each costs
//! ([`PowerSpec`]), and when it pays to spin down ([`Standby`]). Energy is exact: Σ power × dwell over states that
//! partition the time.

mod figures;
mod ledger;
mod standby;
mod state;

pub use figures::{PowerSpec, Transition};
pub use ledger::{Ledger, Span};
pub use standby::Standby;
pub use state::PowerState;
