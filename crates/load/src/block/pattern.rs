//! Where the next request goes: one after the other, uniform, by Zipf's law, self-similar (Gray et al., "Quickly
//! generating billion-record synthetic databases", SIGMOD 1994, §3), in hot bands, or in strides. Generator:
//! xoshiro256++, Blackman & Vigna, ACM TOMS 47(4), 2021.

mod bands;
mod scatter;
mod zipf;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use self::bands::Bands;
use self::scatter::Scatter;
use self::zipf::Zipf;
use crate::LoadError;
use crate::block::config::Pattern;

/// Keeps the places of a seed apart from whatever else is drawn from it.
const PLACES: u64 = 0x706c_6163_6573_0000;

/// Positions of one job inside a region of `slots` places, counted from 0.
pub(crate) struct Places {
    slots: u64,
    walk: Walk,
    random: Xoshiro256PlusPlus,
}

enum Walk {
    Sequential { next: u64 },
    Random,
    Zipf { ranks: Zipf, scatter: Scatter },
    SelfSimilar { power: f64, scatter: Scatter },
    Bands(Bands),
    Strided { next: u64, lap: u64, stride: u64 },
}

impl Places {
    /// `job` of `jobs`; each job of a seed draws its own sequence, the same every time, but what is hot is hot for all
    /// jobs. `slot_bytes` turns the bytes of a stride into places.
    pub fn new(
        pattern: &Pattern,
        slots: u64,
        slot_bytes: u64,
        job: u32,
        jobs: u32,
        seed: u64,
    ) -> Result<Self, LoadError> {
        if slots == 0 {
            return Err(LoadError::config("region", "has no room for a single request"));
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ PLACES);
        let mut scatter = || Scatter::new(slots, &mut random);
        let first = (u128::from(slots) * u128::from(job) / u128::from(jobs.max(1))) as u64;
        let walk = match pattern {
            Pattern::Sequential => Walk::Sequential { next: first },
            Pattern::Random => Walk::Random,
            Pattern::Zipf { theta } if *theta > 0.0 && theta.is_finite() => {
                Walk::Zipf { ranks: Zipf::new(slots, *theta), scatter: scatter() }
            }
            Pattern::Zipf { theta } => {
                return Err(LoadError::config("pattern.theta", format!("{theta} is not above 0")));
            }
            // A share h of the requests on a share 1−h: P(X < x) = x^(ln h / ln(1−h)), inverted.
            Pattern::Pareto { h } if 0.5 < *h && *h < 1.0 => {
                Walk::SelfSimilar { power: (1.0 - h).ln() / h.ln(), scatter: scatter() }
            }
            Pattern::Pareto { h } => {
                return Err(LoadError::config("pattern.h", format!("{h} is not between 0.5 and 1")));
            }
            Pattern::HotBand { bands } => Walk::Bands(Bands::new(bands, slots)?),
            Pattern::Strided { stride_bytes } => strided(*stride_bytes, slots, slot_bytes, first)?,
        };
        (0..job).for_each(|_| random.jump());
        Ok(Self { slots, walk, random })
    }

    /// The next place, in `0..slots`.
    #[inline]
    pub fn next(&mut self) -> u64 {
        let random = &mut self.random;
        match &mut self.walk {
            Walk::Sequential { next } => {
                let place = *next;
                *next = if place + 1 == self.slots { 0 } else { place + 1 };
                place
            }
            Walk::Random => below(random, self.slots),
            Walk::Zipf { ranks, scatter } => scatter.place(ranks.draw(|| uniform(random))),
            Walk::SelfSimilar { power, scatter } => {
                let rank = self.slots as f64 * uniform(random).powf(*power);
                scatter.place((rank as u64).min(self.slots - 1))
            }
            Walk::Bands(bands) => bands.next(random),
            Walk::Strided { next, lap, stride } => {
                let place = *next;
                *next = match place.checked_add(*stride) {
                    Some(further) if further < self.slots => further,
                    _ => {
                        *lap = if *lap + 1 == *stride { 0 } else { *lap + 1 };
                        *lap
                    }
                };
                place
            }
        }
    }
}

/// A stride that starts again at the same place would touch 1/stride of the region only, and find all of it in the
/// caches; so each lap begins one place further, and `stride` laps visit every place once. `first` counts along all
/// the laps: jobs that start at equal shares of them stay apart for as long.
fn strided(stride_bytes: u64, slots: u64, slot_bytes: u64, first: u64) -> Result<Walk, LoadError> {
    let refuse = |reason: String| Err(LoadError::config("pattern.stride_bytes", reason));
    let stride = stride_bytes / slot_bytes.max(1);
    if stride == 0 || stride * slot_bytes.max(1) != stride_bytes {
        return refuse(format!("{stride_bytes} is not a multiple of the smallest request, {slot_bytes} bytes"));
    }
    if stride > slots {
        return refuse(format!("{stride_bytes} is longer than the region, {slots} requests of {slot_bytes} bytes"));
    }
    // The first `longer` laps have one place more than the others.
    let (short, longer) = (slots / stride, slots % stride);
    let (lap, along) = if first < longer * (short + 1) {
        (first / (short + 1), first % (short + 1))
    } else {
        let rest = first - longer * (short + 1);
        (longer + rest / short, rest % short)
    };
    Ok(Walk::Strided { next: lap + along * stride, lap, stride })
}

/// Uniform in `[0, 1)` with 53 bits.
#[inline]
fn uniform(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Uniform in `0..n`, to within `n / 2^64` (Lemire, ACM TOMACS 29(1), 2019, without the rejection).
#[inline]
fn below(random: &mut impl Rng, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests;
