//! How well a plan was kept: lateness, and how much longer than the plan its playing took. Of web and block load alike.

use hdrhistogram::Histogram;
use iojoule_record::{Phase, histogram};
use serde::Serialize;

/// Of the requests of phase `measure` that were planned and issued; empty in a closed loop.
pub(crate) struct Timing {
    /// Issued − planned.
    lateness: Histogram<u64>,
    planned: Extent,
    issued: Extent,
}

/// Least and greatest instant.
#[derive(Clone, Copy, Debug)]
struct Extent {
    least: i64,
    greatest: i64,
}

/// Issued − planned, in nanoseconds, of the requests of phase `measure` that were issued.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Lateness {
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

impl Timing {
    pub fn new() -> Self {
        Self { lateness: histogram::empty(), planned: Extent::NONE, issued: Extent::NONE }
    }

    #[inline]
    pub fn add(&mut self, phase: Phase, planned_ns: i64, issued_ns: i64) {
        if phase == Phase::Measure {
            self.lateness.saturating_record((issued_ns - planned_ns).max(1) as u64);
            self.planned.add(planned_ns);
            self.issued.add(issued_ns);
        }
    }

    pub fn join(&mut self, other: &Self) {
        // Both histograms have the common shape, so this cannot fail.
        let _ = self.lateness.add(&other.lateness);
        self.planned.join(other.planned);
        self.issued.join(other.issued);
    }

    /// From the first instant to the last, in nanoseconds, of the plan and of its playing; none of nothing.
    pub fn spans(&self) -> (Option<i64>, Option<i64>) {
        (self.planned.span(), self.issued.span())
    }

    /// Played span / planned span; none where the plan has no span.
    pub fn stretch(&self) -> Option<f64> {
        match self.spans() {
            (Some(planned), Some(issued)) if planned > 0 => Some(issued as f64 / planned as f64),
            _ => None,
        }
    }

    pub fn lateness(&self) -> Lateness {
        Lateness {
            p50_ns: self.lateness.value_at_quantile(0.50),
            p99_ns: self.lateness.value_at_quantile(0.99),
            max_ns: self.lateness.max(),
        }
    }
}

impl Extent {
    const NONE: Self = Self { least: i64::MAX, greatest: i64::MIN };

    fn add(&mut self, value: i64) {
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    fn join(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    fn span(&self) -> Option<i64> {
        (self.least <= self.greatest).then(|| self.greatest - self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Planned 10 apart, issued 11 apart by two threads: a tenth longer, and late by up to 3.
    #[test]
    fn threads_joined_are_one_plan() {
        let (mut even, mut odd) = (Timing::new(), Timing::new());
        for index in 0..4 {
            let timing = if index % 2 == 0 { &mut even } else { &mut odd };
            timing.add(Phase::Measure, 10 * index, 11 * index);
        }
        even.add(Phase::Warmup, -50, 900);
        even.join(&odd);
        assert_eq!(even.spans(), (Some(30), Some(33)));
        assert_eq!(even.stretch(), Some(1.1));
        assert_eq!(even.lateness().max_ns, 3);
        assert_eq!((Timing::new().spans(), Timing::new().stretch()), ((None, None), None));
    }
}
