//! Real load, timed exactly, one record per request.
//!
//! 1. [`ReplayConfig`] and [`ClosedConfig`] say what to do; [`replay`] and [`closed`] do it and return a
//!    [`Summary`]. [`Control`] ends them early.
//! 2. A replay is read ahead (`trace`), planned against one epoch (`schedule`), put on connections (`assign`); the
//!    closed loop (`closed`) does without the three.
//! 3. Each engine thread turns one event loop (`engine`) over its `connections`: sockets (`socket`, `tls`, `epoll`)
//!    and the answers that come in on them (`response`, `chunked`).
//! 4. [`build_content`] makes the files a replay asks for; [`Server`] serves them where no other server is.
//! 5. [`block`](mod@block) is the load on block devices and files.
//! 6. A `crew` of threads records through [`iojoule_record`]; every request is one row, whatever became of it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod assign;
pub mod block;
mod chunked;
mod closed;
mod columns;
mod config;
mod connection;
mod connections;
mod content;
mod control;
mod crew;
mod engine;
mod epoll;
mod error;
mod replay;
mod response;
mod schedule;
mod server;
mod socket;
mod summary;
mod tally;
mod timing;
mod tls;
mod trace;
mod url;
mod wire;

pub use closed::closed;
pub use config::{AtCap, ClosedConfig, ConnectionMode, Order, ReplayConfig, TlsConfig, Waiting};
pub use content::{ContentSummary, Noise, build_content};
pub use control::{Control, Wish};
pub use error::LoadError;
pub use replay::replay;
pub use server::Server;
pub use summary::{PhaseSpan, Summary};
pub use timing::Lateness;
