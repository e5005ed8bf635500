//! When the phases of a load begin and end.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use iojoule_record::{Live, Phase};

use crate::control::Control;

/// Shared by all engine threads of a load.
pub(crate) struct Span<'a> {
    pub epoch_ns: i64,
    /// From the epoch; none where the load is to be told.
    pub warmup_ns: Option<i64>,
    /// Length of phase `measure`; none where it lasts as long as there are requests.
    pub duration_ns: Option<i64>,
    /// Requests of phase `measure` that may still be issued.
    pub budget: Option<AtomicI64>,
    pub control: &'a Control,
    pub live: Arc<Live>,
}

impl Span<'_> {
    /// Host times between which a request is of phase `measure`; both far off while nobody has told.
    #[inline]
    pub fn measure(&self) -> (i64, i64) {
        let from = match self.warmup_ns {
            Some(warmup) => self.epoch_ns.saturating_add(warmup),
            None => self.control.measure_from().unwrap_or(i64::MAX),
        };
        (from, self.duration_ns.map_or(i64::MAX, |duration| from.saturating_add(duration)))
    }

    /// Takes one request of the budget; false where none is left.
    #[inline]
    pub fn spend(&self) -> bool {
        self.budget.as_ref().is_none_or(|left| left.fetch_sub(1, Relaxed) > 0)
    }

    /// Shows the phase of this instant.
    pub fn show(&self, now: i64) {
        let phase = if now < self.measure().0 { Phase::Warmup } else { Phase::Measure };
        self.live.phase.store(1 + phase as u64, Relaxed);
    }
}
