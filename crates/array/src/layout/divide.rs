//! Division by a number that is known when the array is built: a multiplication by its reciprocal, a tenth of the time
//! of a 64-bit division. Planning a request divides twice or more.

/// A divisor with its reciprocal. Exact for every `n` with `n × divisor < 2^64`: stripe units and numbers of drives, not
/// sizes of drives.
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    divisor: u64,
    /// ⌈2^64 / divisor⌉; unused for a divisor of one, whose reciprocal does not fit.
    reciprocal: u64,
}

impl Divisor {
    /// `divisor` must not be zero.
    pub fn new(divisor: u64) -> Self {
        let reciprocal = if divisor > 1 { u64::MAX / divisor + 1 } else { 0 };
        Self { divisor, reciprocal }
    }

    #[inline]
    pub fn get(self) -> u64 {
        self.divisor
    }

    /// Quotient and remainder.
    #[inline]
    pub fn split(self, n: u64) -> (u64, u64) {
        if self.divisor == 1 {
            return (n, 0);
        }
        let quotient = ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64;
        (quotient, n - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_division(n in 0_u64..1 << 42, divisor in 1_u64..1 << 21) {
            prop_assert_eq!(Divisor::new(divisor).split(n), (n / divisor, n % divisor));
        }

        #[test]
        fn agrees_with_division_by_the_size_of_a_drive(n in 0_u64..1 << 31, divisor in 1_u64..1 << 32) {
            prop_assert_eq!(Divisor::new(divisor).split(n), (n / divisor, n % divisor));
        }
    }
}
