//! What was asked of a storage system, and when: readers of foreign logs, one canonical table, statistics,
//! synthesis.
//!
//! [`weblog`]: access logs of web servers, from the foreign line to the replay table.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod weblog;
