//! Many drives as one: layouts, schedulers, policies, write propagation, a memory cache, faults. The array is a state
//! machine that is told the time and asked what happens next: it never sleeps, spawns or reads a clock, and knows
//! nothing of requests that have not come.
//!
//! 1. [`layout`]: what each drive must do for a request, as a [`Plan`].
//! 2. [`policy`]: when drives rest, and which gear the array runs in.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod layout;
mod plan;
pub mod policy;
mod request;

pub use plan::{Extent, Health, Need, Piece, Plan, Wait};
pub use request::{Completion, Request};
