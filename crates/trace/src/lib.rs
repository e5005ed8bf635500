//! What was asked of a storage system, and when: readers of foreign logs, one canonical table, statistics,
//! synthesis.
//!
//! 1. [`weblog`]: access logs of web servers, from the foreign line to the replay table.
//! 2. [`block`]: block traces.
//!
//! Both sort their errors by who can help ([`Kind`]).

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod block;
mod input;
mod kind;
mod staged;
pub mod weblog;

pub use kind::Kind;
