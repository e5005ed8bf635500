//! When requests come: exactly so many within exactly so long, in ascending order, one after the other, by halving.
//!
//! The number of arrivals of an interval is split over its halves at random, and so on down to single arrivals. How
//! uneven the halves are depends on the width:
//!
//! - above an hour they follow the hours of the day, `1 + swing·cos(2π(t − 15:00)/day)`;
//! - from an hour to 10 ms one half, either by the toss of a coin, gets the share `bias` on average: the b-model of Wang,
//!   Madhyastha, Chan, Papadimitriou & Faloutsos (ICDE 2002), made for disk traces, with binomial instead of fixed parts;
//! - below 10 ms both get the same on average.
//!
//! With `bias` 1/2 and `swing` 0 the arrivals are a Poisson process, given their number. Memory is one interval a level.

use std::f64::consts::TAU;

use super::draw::Draw;

const DAY_S: f64 = 86_400.0;
const PEAK_S: f64 = 15.0 * 3600.0;
/// Self-similarity of file systems ends well below a day (Gribble et al., SIGMETRICS 1998); above, the day rules.
const WIDEST_NS: i64 = 3_600_000_000_000;
/// A disk of the time served one request in about 20 ms; what is closer together than half of it is one burst.
const NARROWEST_NS: i64 = 10_000_000;
/// Intervals with no structure left and at most this many arrivals are drawn and sorted at once.
const AT_ONCE: u64 = 24;

#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    bias: f64,
    swing: f64,
    draw: Draw,
    /// Intervals still to come, the next one last: `(from, to, arrivals)` in ns.
    intervals: Vec<(i64, i64, u64)>,
    /// Arrivals of the interval that was drawn at once, the next one last.
    drawn: Vec<i64>,
}

impl Arrivals {
    pub fn new(count: u64, duration_ns: i64, bias: f64, swing: f64, draw: Draw) -> Self {
        Self { bias, swing, draw, intervals: vec![(0, duration_ns, count)], drawn: Vec::new() }
    }

    /// Share of the arrivals of `from..to` that come before `middle`, where the hours of the day rule.
    fn of_the_day(&self, from: i64, middle: i64, to: i64) -> f64 {
        let day = |ns: i64| {
            let t = ns as f64 / 1e9;
            t + self.swing * (TAU * (t - PEAK_S) / DAY_S).sin() * DAY_S / TAU
        };
        let whole = day(to) - day(from);
        if whole > 0.0 { ((day(middle) - day(from)) / whole).clamp(0.0, 1.0) } else { 0.5 }
    }

    fn first_half(&mut self, from: i64, middle: i64, to: i64) -> f64 {
        match to - from {
            width if width > WIDEST_NS => self.of_the_day(from, middle, to),
            width if width > NARROWEST_NS && self.bias > 0.5 => match self.draw.coin(0.5) {
                true => self.bias,
                false => 1.0 - self.bias,
            },
            _ => 0.5,
        }
    }

    fn structured(&self, width: i64) -> bool {
        (width > WIDEST_NS && self.swing > 0.0) || (width > NARROWEST_NS && self.bias > 0.5)
    }
}

impl Iterator for Arrivals {
    type Item = i64;

    /// Nanoseconds from the start, ascending and below the duration.
    fn next(&mut self) -> Option<i64> {
        if let Some(at) = self.drawn.pop() {
            return Some(at);
        }
        loop {
            let (from, to, count) = self.intervals.pop()?;
            let width = to - from;
            if count == 0 {
                continue;
            }
            if count <= AT_ONCE && (!self.structured(width) || width <= 1) {
                let draw = &mut self.draw;
                self.drawn.extend((0..count).map(|_| from + draw.below(width.max(1) as u64) as i64));
                self.drawn.sort_unstable_by_key(|at| std::cmp::Reverse(*at));
                return self.drawn.pop();
            }
            if width <= 1 {
                // More at one instant than are drawn at once.
                self.intervals.push((from, to, count - 1));
                return Some(from);
            }
            let middle = from + width / 2;
            let first = self.first_half(from, middle, to);
            let before = self.draw.binomial(count, first);
            self.intervals.push((middle, to, count - before));
            self.intervals.push((from, middle, before));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrivals(count: u64, seconds: f64, bias: f64, swing: f64) -> Vec<i64> {
        Arrivals::new(count, (seconds * 1e9) as i64, bias, swing, Draw::new(5, 1)).collect()
    }

    proptest! {
        #[test]
        fn every_arrival_comes_in_order_and_inside_the_duration(
            count in 0u64..3000, seconds in 0.000_001f64..1e6, bias in 0.5f64..0.95, swing in 0.0f64..1.0
        ) {
            let times = arrivals(count, seconds, bias, swing);
            prop_assert_eq!(times.len() as u64, count);
            prop_assert!(times.is_sorted() && times.iter().all(|at| (0..(seconds * 1e9) as i64).contains(at)));
        }
    }

    /// Variance over mean of the counts of windows.
    fn dispersion(times: &[i64], width_s: f64, windows: usize) -> f64 {
        let mut counts = vec![0u64; windows];
        times.iter().for_each(|at| counts[((*at as f64 / 1e9) / width_s) as usize] += 1);
        let mean = times.len() as f64 / windows as f64;
        counts.iter().map(|c| (*c as f64 - mean).powi(2)).sum::<f64>() / windows as f64 / mean
    }

    /// Exponential gaps have a coefficient of variation of 1, and Poisson counts a dispersion of 1; standard errors over
    /// 100,000 arrivals and 10,000 windows are 0.005 and 0.014.
    #[test]
    fn without_bias_and_swing_arrivals_are_poisson() {
        let times = arrivals(100_000, 10_000.0, 0.5, 0.0);
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let cv = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt() / mean;
        assert!((cv - 1.0).abs() < 0.025, "{cv}");
        let counted = dispersion(&times, 1.0, 10_000);
        assert!((counted - 1.0).abs() < 0.07, "{counted}");
    }

    /// Each level multiplies the second moment of the counts by 2(b² + (1 − b)²): 12 levels from 3600 s to 0.879 s give
    /// 1.16^12 = 5.936 at b = 0.7. The dispersion of Poisson counts on top of that, at 20 a window, is 1 + 20·4.936 = 99.7.
    #[test]
    fn bias_gives_the_burstiness_of_the_b_model() {
        let (width, windows) = (3600.0 / 4096.0, 16 * 4096);
        let times: Vec<i64> = (0..16)
            .flat_map(|hour| {
                let draw = Draw::new(hour, 1);
                Arrivals::new(20 * 4096, WIDEST_NS, 0.7, 0.0, draw).map(move |at| at + hour as i64 * WIDEST_NS)
            })
            .collect();
        let counted = dispersion(&times, width, windows);
        assert!((counted / 99.7 - 1.0).abs() < 0.35, "{counted}");
    }

    /// The share between 12:00 and 18:00 is 1/4 + 0.7·sin(π/4)/π = 0.4076; its standard error is 0.0022.
    #[test]
    fn requests_crowd_in_the_afternoon() {
        let times = arrivals(50_000, 7.0 * DAY_S, 0.5, 0.7);
        let afternoon = |at: &&i64| (43_200..64_800).contains(&(**at / 1_000_000_000 % 86_400));
        let share = times.iter().filter(afternoon).count() as f64 / 50_000.0;
        assert!((share - 0.4076).abs() < 0.009, "{share}");
    }
}
