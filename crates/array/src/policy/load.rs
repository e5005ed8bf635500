//! How busy the active drives are, over a short window, a minute and five minutes, and what gear that asks for: up
//! where the short window's mean and deviation pass a threshold, down where the same work on fewer drives would stay
//! below it, by a margin, in every window. After PARAID: Weddle et al., FAST 2007.

use std::collections::VecDeque;

use iojoule_units::Nanos;

/// Mean and standard deviation of the shares of time in which a drive was busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Busy {
    pub mean: f64,
    pub deviation: f64,
}

impl Busy {
    /// Mean and deviation together: what a gear must bear.
    pub fn load(self) -> f64 {
        self.mean + self.deviation
    }
}

/// When gears change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Up where the load of the short window is above this.
    pub up: f64,
    /// Down only where the load would stay this much below `up`.
    pub hysteresis: f64,
    /// No way down for this long after a way up.
    pub hold: Nanos,
}

/// The gear the load asks for. `sizes` are the active drives of each gear, ascending; `windows` the short window first,
/// then the longer ones as far as they are full; `complete` where all are.
pub fn decide(
    thresholds: &Thresholds,
    sizes: &[u16],
    now: u8,
    windows: &[Busy],
    complete: bool,
    since_up: Option<Nanos>,
) -> u8 {
    let on = |gear: u8| f64::from(sizes[usize::from(gear)]);
    let after = |busy: Busy, gear: u8| busy.load() * on(now) / on(gear);
    let Some(&short) = windows.first() else { return now };
    if short.load() > thresholds.up {
        // As far up as the load asks for: the smallest gear that carries it, else the highest.
        let top = sizes.len() as u8 - 1;
        return (now + 1..=top).find(|gear| after(short, *gear) <= thresholds.up).unwrap_or(top).max(now);
    }
    let held = since_up.is_some_and(|since| since < thresholds.hold);
    let bound = thresholds.up - thresholds.hysteresis;
    match now.checked_sub(1) {
        Some(down) if complete && !held && windows.iter().all(|busy| after(*busy, down) < bound) => down,
        _ => now,
    }
}

/// Utilisation over the past, one sample per drive and tick.
#[derive(Clone, Debug)]
pub struct History {
    /// Ticks of each window, ascending.
    windows: Vec<usize>,
    /// By tick: samples, their sum and their sum of squares; the latest last.
    ticks: VecDeque<(u32, f64, f64)>,
}

impl History {
    /// `windows`: lengths, ascending, the first of which is one tick or more.
    pub fn new(tick: Nanos, windows: &[Nanos]) -> Self {
        let ticks = |window: &Nanos| (window.0 as usize).div_ceil(tick.0.max(1) as usize).max(1);
        Self { windows: windows.iter().map(ticks).collect(), ticks: VecDeque::new() }
    }

    /// Adds a tick: of each drive the share of time, 0 to 1, in which it was busy.
    pub fn push(&mut self, busy: impl Iterator<Item = f64>) {
        let add = |(n, sum, squares), busy: f64| (n + 1, sum + busy, squares + busy * busy);
        if self.ticks.len() == self.windows.last().copied().unwrap_or(0) {
            self.ticks.pop_front();
        }
        self.ticks.push_back(busy.fold((0, 0.0, 0.0), add));
    }

    /// The windows that are full, and whether all are. Mean and deviation are over drives and ticks alike: a load
    /// that is uneven in time or over the drives counts for more than an even one.
    pub fn windows(&self) -> (Vec<Busy>, bool) {
        let full: Vec<Busy> =
            self.windows.iter().filter(|ticks| **ticks <= self.ticks.len()).map(|ticks| self.latest(*ticks)).collect();
        let complete = full.len() == self.windows.len();
        (full, complete)
    }

    /// Begins anew: what was measured in another gear says nothing of this one's deviation.
    pub fn clear(&mut self) {
        self.ticks.clear();
    }

    fn latest(&self, ticks: usize) -> Busy {
        let add =
            |(n, sum, squares): (u32, f64, f64), tick: &(u32, f64, f64)| (n + tick.0, sum + tick.1, squares + tick.2);
        let (n, sum, squares) = self.ticks.iter().rev().take(ticks).fold((0, 0.0, 0.0), add);
        let mean = sum / f64::from(n.max(1));
        Busy { mean, deviation: (squares / f64::from(n.max(1)) - mean * mean).max(0.0).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::golden::table;
    use super::*;

    #[test]
    fn gears_shift_as_the_golden_table_says() {
        for row in table("000_paraid_shift.csv") {
            let gear = |column: &str| row.maybe(column).map(|drives| drives as u16);
            let sizes: Vec<u16> = [gear("next_down"), gear("active"), gear("next_up")].into_iter().flatten().collect();
            let now = u8::from(gear("next_down").is_some());
            let window = |name: &str| {
                let (mean, deviation) = (row.maybe(&format!("mean_{name}"))?, row.maybe(&format!("sd_{name}"))?);
                Some(Busy { mean, deviation })
            };
            let windows: Vec<Busy> = ["short", "60s", "300s"].into_iter().filter_map(window).collect();
            let thresholds = Thresholds {
                up: row.number("up_threshold"),
                hysteresis: row.number("hysteresis"),
                hold: row.seconds("hold_s"),
            };
            let since_up = Some(row.seconds("since_up_shift_s"));
            let to = decide(&thresholds, &sizes, now, &windows, windows.len() == 3, since_up);
            let decision = ["down", "stay", "up"][usize::from(1 + to - now)];
            assert_eq!(decision, row.text("recomputed_decision"), "{}", row.text("id"));
        }
    }

    #[test]
    fn a_burst_may_jump_over_gears_and_the_way_down_is_one_at_a_time() {
        let thresholds = Thresholds { up: 0.8, hysteresis: 0.1, hold: Nanos::ZERO };
        let windows = |mean| [Busy { mean, deviation: 0.0 }; 3];
        assert_eq!(decide(&thresholds, &[2, 4, 8], 0, &windows(0.9), true, None), 1);
        assert_eq!(decide(&thresholds, &[2, 3, 8], 0, &windows(1.3), true, None), 2);
        assert_eq!(decide(&thresholds, &[2, 4, 8], 2, &windows(0.01), true, None), 1);
    }

    #[test]
    fn a_window_has_the_mean_and_deviation_of_its_samples_alone() {
        let second = Nanos::from_secs_f64(1.0);
        let mut history = History::new(second, &[second, Nanos::from_secs_f64(2.0)]);
        history.push([0.9, 0.9].into_iter());
        assert_eq!(history.windows().0.len(), 1);
        history.push([0.2, 0.4].into_iter());
        history.push([0.0, 0.2].into_iter());
        let (windows, complete) = history.windows();
        assert!(complete && (windows[0].mean - 0.1).abs() < 1e-12 && (windows[0].deviation - 0.1).abs() < 1e-12);
        assert!((windows[1].mean - 0.2).abs() < 1e-12 && (windows[1].deviation - 0.02_f64.sqrt()).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn a_shift_down_is_never_followed_by_one_up_under_the_same_load(
            mean in 0.0_f64..1.0, deviation in 0.0_f64..0.3, sizes in prop::collection::btree_set(1_u16..32, 2..5),
        ) {
            let thresholds = Thresholds { up: 0.8, hysteresis: 0.1, hold: Nanos::ZERO };
            let sizes: Vec<u16> = sizes.into_iter().collect();
            let now = sizes.len() as u8 - 1;
            let busy = Busy { mean, deviation };
            let down = decide(&thresholds, &sizes, now, &[busy; 3], true, None);
            prop_assume!(down < now);
            let more = f64::from(sizes[usize::from(now)]) / f64::from(sizes[usize::from(down)]);
            let then = Busy { mean: mean * more, deviation: deviation * more };
            prop_assert!(decide(&thresholds, &sizes, down, &[then; 3], true, None) <= down);
        }
    }
}
