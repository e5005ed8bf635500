//! Fewer requests on the same time axis: one in n is kept, at its own time, so that the intensity falls and the shape
//! stays. Liu et al., "TRACER: a trace replay tool to evaluate energy-efficiency of mass storage systems", CLUSTER 2010
//! (uniform selection of trace entries).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

use super::super::TraceError;

/// How many and which are kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thin {
    /// One in this many; need not be whole.
    pub one_in: f64,
    /// Drawn by this seed; evenly spaced where it is absent.
    #[serde(default)]
    pub seed: Option<u64>,
}

pub(crate) struct Thinner {
    one_in: f64,
    random: Option<Xoshiro256PlusPlus>,
    seen: u64,
    kept: u64,
}

impl Thinner {
    pub fn new(thin: &Thin) -> Result<Self, TraceError> {
        if !(thin.one_in.is_finite() && thin.one_in >= 1.0) {
            return Err(TraceError::Option(format!("thin: one in {} keeps more than there are", thin.one_in)));
        }
        let random = thin.seed.map(Xoshiro256PlusPlus::seed_from_u64);
        Ok(Self { one_in: thin.one_in, random, seen: 0, kept: 0 })
    }

    /// Whether the next request stays.
    pub fn keeps(&mut self) -> bool {
        let keep = match &mut self.random {
            Some(random) => random.next_u64() as f64 * self.one_in < u64::MAX as f64,
            // The first is kept, then whenever so many have passed.
            None => self.seen as f64 >= self.kept as f64 * self.one_in,
        };
        self.seen += 1;
        self.kept += u64::from(keep);
        keep
    }
}
