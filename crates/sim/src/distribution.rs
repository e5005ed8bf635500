//! Times of many requests: exact count, mean, deviation and maximum beside an HDR histogram of three digits.

use hdrhistogram::Histogram;
use iojoule_record::histogram;
use iojoule_units::Nanos;
use serde::Serialize;

/// A growing set of times. Times below 0 do not happen; times above an hour are exact in mean and maximum and an hour
/// in the histogram.
pub struct Distribution {
    histogram: Histogram<u64>,
    count: u64,
    sum_ns: u128,
    sum_squares_ms: f64,
    max_ns: i64,
}

/// A distribution in numbers, in milliseconds; every figure is null where nothing was counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    pub count: u64,
    pub mean: Option<f64>,
    pub std: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { histogram: histogram::empty(), count: 0, sum_ns: 0, sum_squares_ms: 0.0, max_ns: 0 }
    }
}

impl Distribution {
    /// Counts one time; a negative one as 0.
    #[inline]
    pub fn add(&mut self, time: Nanos) {
        let ns = time.0.max(0);
        self.histogram.saturating_record(ns as u64);
        self.count += 1;
        self.sum_ns += ns as u128;
        let ms = ns as f64 / 1e6;
        self.sum_squares_ms += ms * ms;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        // Both have the one common shape, so nothing is out of bounds.
        let _ = self.histogram.add(&other.histogram);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_squares_ms += other.sum_squares_ms;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Of nanoseconds, in the shape of all histograms of a run.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// What is reported of the times, in ms.
    pub fn figures(&self) -> Figures {
        let known = self.count > 0;
        let n = self.count as f64;
        let mean = self.sum_ns as f64 / n / 1e6;
        let quantile =
            |q: f64| known.then(|| (self.histogram.value_at_quantile(q) as f64).min(self.max_ns as f64) / 1e6);
        Figures {
            count: self.count,
            mean: known.then_some(mean),
            std: known.then(|| (self.sum_squares_ms / n - mean * mean).max(0.0).sqrt()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: known.then_some(self.max_ns as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_deviation_and_maximum_are_exact_and_quantiles_within_a_thousandth() {
        let mut times = Distribution::default();
        (1..=1000).for_each(|ms| times.add(Nanos(ms * 1_000_000)));
        let figures = times.figures();
        assert_eq!(figures.mean, Some(500.5));
        assert_eq!(figures.max, Some(1000.0));
        assert!((figures.std.unwrap() - (999_999.0_f64 / 12.0).sqrt()).abs() < 1e-6);
        assert!((figures.p95.unwrap() / 950.0 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn no_time_is_no_time() {
        let mut times = Distribution::default();
        (0..3).for_each(|_| times.add(Nanos(0)));
        assert_eq!(times.figures().p50, Some(0.0));
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(Distribution::default().figures().mean, None);
    }

    #[test]
    fn halves_add_up_to_the_whole() {
        let (mut whole, mut left, mut right) =
            (Distribution::default(), Distribution::default(), Distribution::default());
        for i in 0..1000 {
            let time = Nanos(i * i * 977);
            whole.add(time);
            if i % 3 == 0 { left.add(time) } else { right.add(time) }
        }
        left.merge(&right);
        let (a, b) = (whole.figures(), left.figures());
        assert_eq!((a.count, a.mean, a.p99, a.max), (b.count, b.mean, b.p99, b.max));
    }
}
