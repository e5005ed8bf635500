//! When the next request is planned. There is one plan over all jobs, the same whatever their number: job j of n makes
//! the whole of it and keeps arrivals j, j+n, j+2n and so on.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::LoadError;
use crate::block::config::Arrivals;

/// Kept apart from the seeds of places and sizes.
const STREAM: u64 = 0x9e6c_63d0_876a_9a47;

/// The arrivals of one job, as host times.
pub(crate) enum Plan {
    Closed,
    Constant { epoch_ns: i64, gap_ns: f64, next: u64, jobs: u64 },
    Poisson { epoch_ns: i64, gap_ns: f64, at_ns: f64, random: Box<Xoshiro256PlusPlus>, skip: u64, jobs: u64 },
}

impl Plan {
    pub fn new(arrivals: &Arrivals, epoch_ns: i64, job: u32, jobs: u32, seed: u64) -> Result<Self, LoadError> {
        let gap = |rate: f64| {
            if rate.is_finite() && rate > 0.0 {
                Ok(1e9 / rate)
            } else {
                Err(LoadError::config("arrivals", format!("a rate of {rate} is not above 0")))
            }
        };
        let (job, jobs) = (u64::from(job), u64::from(jobs));
        Ok(match arrivals {
            Arrivals::Closed => Self::Closed,
            Arrivals::Constant { rate_per_s } => {
                Self::Constant { epoch_ns, gap_ns: gap(*rate_per_s)?, next: job, jobs }
            }
            Arrivals::Poisson { rate_per_s } => {
                let random = Box::new(Xoshiro256PlusPlus::seed_from_u64(seed ^ STREAM));
                Self::Poisson { epoch_ns, gap_ns: gap(*rate_per_s)?, at_ns: 0.0, random, skip: job, jobs }
            }
            Arrivals::Trace { trace, .. } => {
                return Err(LoadError::config("arrivals", format!("{} cannot be read yet", trace.display())));
            }
        })
    }

    /// The next arrival of this job; none in a closed loop.
    #[inline]
    pub fn next(&mut self) -> Option<i64> {
        match self {
            Self::Closed => None,
            Self::Constant { epoch_ns, gap_ns, next, jobs } => {
                // From the number, not from the one before: nothing adds up.
                let at = *epoch_ns + (*next as f64 * *gap_ns).round() as i64;
                *next += *jobs;
                Some(at)
            }
            Self::Poisson { epoch_ns, gap_ns, at_ns, random, skip, jobs } => {
                for _ in 0..=*skip {
                    // 53 bits in (0, 1]: the logarithm of 0 never comes up.
                    let unit = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                    *at_ns -= unit.ln() * *gap_ns;
                }
                *skip = *jobs - 1;
                Some(*epoch_ns + at_ns.round() as i64)
            }
        }
    }
}
