//! How long a drive was in each state. Bookings follow each other without gap or overlap, so the states partition the
//! time by construction.

use iojoule_units::{Joules, ModelNs, Nanos};

use super::{PowerSpec, PowerState};
use crate::DiskError;

/// A drive's time by state, in whole nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    since: ModelNs,
    until: ModelNs,
    dwell: [i64; PowerState::COUNT],
    spin_ups: u64,
    spin_downs: u64,
    spans: Option<Vec<Span>>,
}

/// A time a drive was in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: ModelNs,
    pub to: ModelNs,
    pub state: PowerState,
}

impl Ledger {
    /// A ledger that begins at `since`.
    pub fn since(since: ModelNs) -> Self {
        Self { since, until: since, ..Self::default() }
    }

    /// Books `state` from the end of the last booking to `to`; nothing where `to` is not later.
    #[inline]
    pub fn book(&mut self, state: PowerState, to: ModelNs) {
        if to <= self.until {
            return;
        }
        self.dwell[state as usize] += to.0 - self.until.0;
        if let Some(spans) = &mut self.spans {
            remember(spans, Span { from: self.until, to, state });
        }
        self.until = to;
    }

    /// Counts a spin-up; its time is booked as any other.
    pub fn count_spin_up(&mut self) {
        self.spin_ups += 1;
    }

    /// Counts a spin-down; its time is booked as any other.
    pub fn count_spin_down(&mut self) {
        self.spin_downs += 1;
    }

    /// The instant up to which time is booked.
    #[inline]
    pub fn until(&self) -> ModelNs {
        self.until
    }

    /// All time booked: the sum of the dwells.
    pub fn total(&self) -> Nanos {
        self.until - self.since
    }

    /// Time booked in `state`.
    #[inline]
    pub fn dwell(&self, state: PowerState) -> Nanos {
        Nanos(self.dwell[state as usize])
    }

    /// Time in the four active states.
    pub fn busy(&self) -> Nanos {
        let active = PowerState::ALL.into_iter().filter(|s| s.is_active());
        active.fold(Nanos::ZERO, |sum, s| sum + self.dwell(s))
    }

    /// Spin-ups begun.
    pub fn spin_ups(&self) -> u64 {
        self.spin_ups
    }

    /// Spin-downs begun.
    pub fn spin_downs(&self) -> u64 {
        self.spin_downs
    }

    /// Σ power × dwell. The caller names the drive with [`DiskError::of_drive`].
    ///
    /// # Errors
    /// [`DiskError::NoPower`] where time was spent in a state whose power is not set.
    pub fn energy(&self, power: &PowerSpec) -> Result<Joules, DiskError> {
        let mut sum = Joules(0.0);
        for state in PowerState::ALL {
            sum = sum + self.energy_in(state, power)?;
        }
        Ok(sum)
    }

    /// Power × dwell of one state.
    ///
    /// # Errors
    /// As [`Ledger::energy`].
    pub fn energy_in(&self, state: PowerState, power: &PowerSpec) -> Result<Joules, DiskError> {
        let dwell = self.dwell(state);
        if dwell == Nanos::ZERO {
            return Ok(Joules(0.0));
        }
        power.watts(state).map(|watts| watts * dwell).map_err(|key| DiskError::NoPower {
            drive: String::new(),
            state: state.name(),
            seconds: dwell.as_secs_f64(),
            key: key.into(),
        })
    }

    /// Keeps (or drops) the bookings as spans from now on.
    pub fn watch(&mut self, on: bool) {
        self.spans = on.then(Vec::new);
    }

    /// Gives away the spans that have ended: all but the last, which the next booking may lengthen.
    pub fn drain_spans(&mut self, each: impl FnMut(Span)) {
        if let Some(spans) = &mut self.spans {
            let ended = spans.len().saturating_sub(1);
            spans.drain(..ended).for_each(each);
        }
    }

    /// Gives away all spans; the next booking begins a new one.
    pub fn end_spans(&mut self, each: impl FnMut(Span)) {
        if let Some(spans) = &mut self.spans {
            spans.drain(..).for_each(each);
        }
    }
}

/// Kept out of [`Ledger::book`]'s way: most runs keep no spans.
#[cold]
fn remember(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        Some(last) if last.state == span.state => last.to = span.to,
        _ => spans.push(span),
    }
}
