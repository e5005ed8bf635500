//! When requests come: the times between arrivals, and how much the counts of equal windows vary. The index of dispersion
//! for counts (variance over mean) is 1 for a Poisson process at every width, and grows with the width where arrivals
//! come in bursts of bursts (Cox & Lewis 1966; Gusella, IEEE JSAC 9(2), 1991).

use hdrhistogram::Histogram;
use iojoule_record::histogram;
use iojoule_units::Nanos;
use serde::Serialize;

/// Times between arrivals, in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct GapSummary {
    pub mean_s: f64,
    /// Standard deviation over mean; 1 for a Poisson process. `None` where all arrive at once.
    pub cv: Option<f64>,
    /// Percentiles with three significant digits; above an hour they say an hour.
    pub p1_s: f64,
    pub p10_s: f64,
    pub p50_s: f64,
    pub p90_s: f64,
    pub p99_s: f64,
    pub p999_s: f64,
    pub max_s: f64,
    /// Variance over mean of the counts in whole windows of 1 s; `None` for fewer than two windows.
    pub dispersion_1s: Option<f64>,
    pub dispersion_10s: Option<f64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    span: Option<(Nanos, Nanos)>,
    histogram: Histogram<u64>,
    /// Mean and sum of squared deviations, updated one by one (Welford, Technometrics 4(3), 1962).
    count: u64,
    mean: f64,
    squares: f64,
    longest: i64,
    second: Counts,
    ten_seconds: Counts,
}

impl Default for Gaps {
    fn default() -> Self {
        Self {
            span: None,
            histogram: histogram::empty(),
            count: 0,
            mean: 0.0,
            squares: 0.0,
            longest: 0,
            second: Counts::new(1_000_000_000),
            ten_seconds: Counts::new(10_000_000_000),
        }
    }
}

impl Gaps {
    pub fn arrival(&mut self, at: Nanos) {
        let first = match &mut self.span {
            None => {
                self.span = Some((at, at));
                at
            }
            Some((first, last)) => {
                let gap = (at - *last).0.max(0);
                self.histogram.saturating_record(gap as u64);
                self.count += 1;
                let off = gap as f64 - self.mean;
                self.mean += off / self.count as f64;
                self.squares += off * (gap as f64 - self.mean);
                self.longest = self.longest.max(gap);
                *last = at;
                *first
            }
        };
        self.second.arrival((at - first).0);
        self.ten_seconds.arrival((at - first).0);
    }

    /// From the first arrival to the last.
    pub fn duration(&self) -> Nanos {
        self.span.map_or(Nanos::ZERO, |(first, last)| last - first)
    }

    /// `None` for fewer than two arrivals.
    pub fn summary(&self) -> Option<GapSummary> {
        if self.count == 0 {
            return None;
        }
        let at = |quantile: f64| self.histogram.value_at_quantile(quantile).min(self.longest as u64) as f64 / 1e9;
        let deviation = (self.squares / self.count as f64).sqrt();
        Some(GapSummary {
            mean_s: self.mean / 1e9,
            cv: (self.mean > 0.0).then(|| deviation / self.mean),
            p1_s: at(0.01),
            p10_s: at(0.1),
            p50_s: at(0.5),
            p90_s: at(0.9),
            p99_s: at(0.99),
            p999_s: at(0.999),
            max_s: self.longest as f64 / 1e9,
            dispersion_1s: self.second.dispersion(self.duration()),
            dispersion_10s: self.ten_seconds.dispersion(self.duration()),
        })
    }
}

/// Arrivals in windows of one width, the first beginning with the first arrival.
#[derive(Clone, Copy, Debug)]
struct Counts {
    width: i64,
    window: i64,
    inside: u64,
    /// Over the windows that are over.
    sum: u64,
    squares: u128,
}

impl Counts {
    fn new(width: i64) -> Self {
        Self { width, window: 0, inside: 0, sum: 0, squares: 0 }
    }

    fn arrival(&mut self, since_first: i64) {
        let window = since_first / self.width;
        if window != self.window {
            self.sum += self.inside;
            self.squares += u128::from(self.inside).pow(2);
            (self.window, self.inside) = (window, 0);
        }
        self.inside += 1;
    }

    /// The window of the last arrival is not a whole one and left out.
    fn dispersion(&self, duration: Nanos) -> Option<f64> {
        let windows = duration.0 / self.width;
        let mean = self.sum as f64 / windows as f64;
        (windows >= 2 && self.sum > 0).then(|| (self.squares as f64 / windows as f64 - mean * mean) / mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clockwork_has_no_dispersion_and_no_variation() {
        let mut gaps = Gaps::default();
        (0..=1000).for_each(|n| gaps.arrival(Nanos(n * 100_000_000)));
        let told = gaps.summary().unwrap();
        assert_eq!((told.cv, told.dispersion_1s, told.dispersion_10s), (Some(0.0), Some(0.0), Some(0.0)));
        assert_eq!((told.mean_s, told.max_s), (0.1, 0.1));
        assert!((told.p50_s - 0.1).abs() < 1e-4, "{}", told.p50_s);
    }

    /// Ten at once every second: in windows of a second the count is always 10, gaps are 0 nine times of ten and 1 s once.
    /// Mean gap 0.1 s (for many), mean square 0.1, so cv = √(0.1 − 0.01)/0.1 = 3.
    #[test]
    fn batches_show_in_the_gaps() {
        let mut gaps = Gaps::default();
        (0..100_000).for_each(|n| gaps.arrival(Nanos(n / 10 * 1_000_000_000)));
        let told = gaps.summary().unwrap();
        assert!((told.cv.unwrap() - 3.0).abs() < 0.01, "{told:?}");
        assert_eq!(told.dispersion_1s, Some(0.0));
        assert_eq!((told.p50_s, told.max_s), (0.0, 1.0));
    }
}
