//! How long before a deadline `hybrid` stops sleeping: as long as a sleeping thread of this machine wakes up late, save
//! one time in two hundred. Learned while it sleeps, because a bare machine wakes within 10 µs and a virtual one in 100.

/// Before anything is known, and between what it moves.
const FIRST_NS: i64 = 100_000;
const LEAST_NS: i64 = 20_000;
const MOST_NS: i64 = 250_000;
/// A wake-up within the lead brings it down by this much; one beyond it brings it up by 199 times as much, so that it
/// comes to rest where one in two hundred lies beyond.
const STEP_NS: i64 = 100;

pub(crate) struct Lead(i64);

impl Lead {
    pub fn new() -> Self {
        Self(FIRST_NS)
    }

    /// Nanoseconds.
    #[inline]
    pub fn ns(&self) -> i64 {
        self.0
    }

    /// A sleep ended so much later than it was to end.
    pub fn learn(&mut self, late_ns: i64) {
        let step = if late_ns > self.0 { 199 * STEP_NS } else { -STEP_NS };
        self.0 = (self.0 + step).clamp(LEAST_NS, MOST_NS);
    }
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// The lead after 100,000 wake-ups that are late by at most `ns`, uniformly.
    fn after(ns: u64) -> i64 {
        let (mut lead, mut random) = (Lead::new(), Xoshiro256PlusPlus::seed_from_u64(3));
        (0..100_000).for_each(|_| lead.learn((random.next_u64() % ns) as i64));
        lead.ns()
    }

    #[test]
    fn it_comes_to_rest_just_below_the_latest_wake_ups() {
        for latest in [60_000, 120_000, 200_000] {
            let found = after(latest) as f64 / latest as f64;
            assert!((0.80..1.25).contains(&found), "{found} of {latest} ns");
        }
    }

    #[test]
    fn it_stays_within_its_bounds() {
        assert_eq!(after(5_000), LEAST_NS);
        assert!(after(5_000_000) > MOST_NS - 200 * STEP_NS);
    }
}
