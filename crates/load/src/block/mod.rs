//! Block load: reads, writes and trims against block devices and files, timed exactly.
//!
//! 1. [`BlockConfig`] says what to do; [`block`] does it and returns a [`BlockSummary`].
//! 2. What comes next is said by a `source`: synthetic (`synthetic`: `pattern`, `mix`, `arrivals`) or a trace
//!    (`replay`: read ahead by a thread of its own, `remap`ped onto the target).
//! 3. An `engine` thread takes each request from its source when it is due and hands it to a `backend`: the kernel's
//!    ring (`ring`), threads (`threads`) or nothing (`null`).
//! 4. What is written comes from `content`; what must be read again unharmed is stamped and checked by `verify`.

mod arrivals;
mod backend;
mod buffers;
mod claims;
mod config;
mod content;
mod data;
mod engine;
mod launch;
mod lead;
mod mix;
mod null;
mod pattern;
mod remap;
mod replay;
mod replay_rows;
mod replay_survey;
#[cfg(test)]
mod replay_tables;
mod ring;
mod shown;
mod source;
mod span;
mod stock;
mod summary;
mod synthetic;
mod tally;
mod target;
mod threads;
mod verify;

pub use config::{
    Align, Arrivals, AtCap, Band, BlockConfig, Content, Engine, FileSpec, Flush, Mix, Pattern, Region, Remap,
    ReplayLoad, SizeShare, SyntheticLoad, TargetSpec, VerifySpec, Work,
};
pub use launch::block;
pub use replay_survey::ReplayFacts;
pub use summary::BlockSummary;
