//! Power and energy; their product and quotient with time are the only ways from one to the other.

use std::ops::{Add, Div, Mul};

use crate::Nanos;

/// Power in watts.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Watts(pub f64);

/// Energy in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Joules(pub f64);

impl Add for Watts {
    type Output = Watts;
    fn add(self, other: Watts) -> Watts {
        Watts(self.0 + other.0)
    }
}

impl Add for Joules {
    type Output = Joules;
    fn add(self, other: Joules) -> Joules {
        Joules(self.0 + other.0)
    }
}

impl Mul<Nanos> for Watts {
    type Output = Joules;
    fn mul(self, dwell: Nanos) -> Joules {
        Joules(self.0 * dwell.as_secs_f64())
    }
}

impl Div<Nanos> for Joules {
    type Output = Watts;
    fn div(self, dwell: Nanos) -> Watts {
        Watts(self.0 / dwell.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_watts_for_two_seconds_are_twenty_joules() {
        let dwell = Nanos::from_secs_f64(2.0);
        assert_eq!(Watts(10.0) * dwell, Joules(20.0));
        assert_eq!(Joules(20.0) / dwell, Watts(10.0));
    }
}
