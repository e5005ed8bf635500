//! The array on the simulated clock, as fast as it can go; sweeps over cores.

#![cfg_attr(test, allow(clippy::unwrap_used))]
