//! The live figures of one engine thread: what it has added to those of the whole load, brought up to date now and then.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use iojoule_record::ErrorClass;

use crate::block::span::Span;
use crate::block::tally::Tally;

/// Live figures follow at least this often while requests come back.
const SHOWN_NS: i64 = 20_000_000;

pub(crate) struct Shown {
    at_ns: i64,
    /// Issued, done, errors, bytes.
    figures: [u64; 4],
}

impl Shown {
    pub fn new() -> Self {
        Self { at_ns: i64::MIN / 2, figures: [0; 4] }
    }

    /// It is time to show again.
    #[inline]
    pub fn is_due(&self, now: i64) -> bool {
        now - self.at_ns >= SHOWN_NS
    }

    pub fn update(&mut self, now: i64, tally: &Tally, span: &Span<'_>) {
        self.at_ns = now;
        let fine = tally.by_error[ErrorClass::None as usize];
        let figures = [tally.submitted, tally.requests, tally.requests - fine, tally.bytes];
        let live = [&span.live.issued, &span.live.done, &span.live.errors, &span.live.bytes];
        let in_flight = |figures: &[u64; 4]| figures[0].saturating_sub(figures[1]);
        add_change(&span.live.in_flight, in_flight(&self.figures), in_flight(&figures));
        for ((to, shown), now) in live.into_iter().zip(self.figures).zip(figures) {
            add_change(to, shown, now);
        }
        self.figures = figures;
    }
}

/// Adds what has changed since the last time, which may be less than nothing.
fn add_change(to: &AtomicU64, shown: u64, now: u64) {
    to.fetch_add(now.wrapping_sub(shown), Relaxed);
}
