//! Instants and durations of the host clock.

use std::ops::{Add, Sub};

/// An instant: nanoseconds of the host's `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostNs(pub i64);

/// A signed duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub i64);

/// An instant of a model's clock, in nanoseconds from the start of the run: simulated time, or the wall clock less its
/// start when the same model runs as a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelNs(pub i64);

impl ModelNs {
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(i64::MAX);
}

impl Add<Nanos> for ModelNs {
    type Output = ModelNs;
    fn add(self, d: Nanos) -> ModelNs {
        ModelNs(self.0 + d.0)
    }
}

impl Sub for ModelNs {
    type Output = Nanos;
    fn sub(self, other: ModelNs) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl Nanos {
    pub const ZERO: Self = Self(0);

    /// The nearest whole number of nanoseconds to `seconds`.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as i64)
    }

    /// This duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Nanos> for HostNs {
    type Output = HostNs;
    fn add(self, d: Nanos) -> HostNs {
        HostNs(self.0 + d.0)
    }
}

impl Sub<Nanos> for HostNs {
    type Output = HostNs;
    fn sub(self, d: Nanos) -> HostNs {
        HostNs(self.0 - d.0)
    }
}

impl Sub for HostNs {
    type Output = Nanos;
    fn sub(self, other: HostNs) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_plus_a_duration_minus_the_instant_is_the_duration() {
        let (t, d) = (HostNs(1_000), Nanos(-250));
        assert_eq!((t + d) - t, d);
    }

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Nanos::from_secs_f64(0.1), Nanos(100_000_000));
        assert_eq!(Nanos::from_secs_f64(1.5e-9), Nanos(2));
    }
}
