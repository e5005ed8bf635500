//! What the next request does and how large it is; two streams, so that other sizes do not make other operations.

use iojoule_record::Op;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::LoadError;
use crate::block::config::{Mix, SizeShare};

/// Keeps the streams apart from whatever else is drawn from the same seed.
const OPS: u64 = 0x6f70_6572_6174_0001;
const SIZES: u64 = 0x7369_7a65_7300_0002;
/// The kernel takes a little less than 2 GiB in one call, and cuts what is longer.
const LONGEST: u64 = (1 << 31) - 4096;
/// Sums of shares may exceed 1 by what rounding in a configuration makes.
const ROUNDING: f64 = 1e-9;

/// Operations and sizes of one job, drawn from their shares.
pub(crate) struct Draw {
    write: f64,
    /// Share of writes and trims together.
    change: f64,
    /// Each size with the shares up to and with it.
    sizes: Vec<(f64, u32)>,
    ops: Xoshiro256PlusPlus,
    lengths: Xoshiro256PlusPlus,
}

impl Draw {
    pub fn new(mix: Mix, sizes: &[SizeShare], seed: u64) -> Result<Self, LoadError> {
        for (key, share) in [("mix.write", mix.write), ("mix.trim", mix.trim)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(LoadError::config(key, format!("{share} is not a share from 0 to 1")));
            }
        }
        let change = mix.write + mix.trim;
        if change > 1.0 + ROUNDING {
            return Err(LoadError::config("mix", format!("the shares are {change} together, more than 1")));
        }
        Ok(Self {
            write: mix.write,
            change: if change > 1.0 - ROUNDING { 1.0 } else { change },
            sizes: cumulate(sizes)?,
            ops: Xoshiro256PlusPlus::seed_from_u64(seed ^ OPS),
            lengths: Xoshiro256PlusPlus::seed_from_u64(seed ^ SIZES),
        })
    }

    #[inline]
    pub fn next(&mut self) -> (Op, u32) {
        let op = match self.change > 0.0 {
            false => Op::Read,
            true => {
                // By arithmetic: a branch on a random number is mispredicted as often as not.
                let u = uniform(&mut self.ops);
                [Op::Read, Op::Trim, Op::Write][usize::from(u < self.change) + usize::from(u < self.write)]
            }
        };
        let bytes = match &self.sizes[..] {
            [(_, only)] => *only,
            sizes => {
                let u = uniform(&mut self.lengths);
                sizes[sizes.partition_point(|(until, _)| *until <= u).min(sizes.len() - 1)].1
            }
        };
        (op, bytes)
    }
}

fn cumulate(sizes: &[SizeShare]) -> Result<Vec<(f64, u32)>, LoadError> {
    if sizes.is_empty() {
        return Err(LoadError::config("sizes", "holds no size"));
    }
    for SizeShare { bytes, weight } in sizes {
        if !(1..=LONGEST).contains(bytes) {
            return Err(LoadError::config("sizes.bytes", format!("{bytes} is not from 1 to {LONGEST}")));
        }
        if !(*weight > 0.0 && weight.is_finite()) {
            return Err(LoadError::config("sizes.weight", format!("{weight} is not above 0")));
        }
    }
    let total: f64 = sizes.iter().map(|size| size.weight).sum();
    if !total.is_finite() {
        return Err(LoadError::config("sizes.weight", "the weights are infinite together"));
    }
    let mut sum = 0.0;
    let cumulated = sizes.iter().map(|size| {
        sum += size.weight;
        (sum / total, size.bytes as u32)
    });
    Ok(cumulated.collect())
}

/// Uniform in `[0, 1)` with 53 bits.
#[inline]
fn uniform(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const DRAWS: usize = 400_000;

    fn size(bytes: u64, weight: f64) -> SizeShare {
        SizeShare { bytes, weight }
    }

    fn assert_share(found: usize, share: f64) {
        let (found, error) = (found as f64 / DRAWS as f64, (share * (1.0 - share) / DRAWS as f64).sqrt());
        assert!((found - share).abs() <= 5.0 * error, "{found} instead of {share}");
    }

    #[test]
    fn operations_have_their_shares() {
        for (write, trim) in [(0.3, 0.1), (0.0, 0.25), (1.0, 0.0), (0.0, 1.0), (0.7, 0.3), (0.0, 0.0)] {
            let mut draw = Draw::new(Mix { write, trim }, &[size(4096, 1.0)], 4).unwrap();
            let ops: Vec<Op> = (0..DRAWS).map(|_| draw.next().0).collect();
            let count = |op| ops.iter().filter(|drawn| **drawn == op).count();
            assert_share(count(Op::Write), write);
            assert_share(count(Op::Trim), trim);
            assert_share(count(Op::Read), (1.0 - write - trim).max(0.0));
        }
    }

    /// The sizes of SNIA Emerald's hot-band workload; their mean is 28.71 KiB.
    #[test]
    fn sizes_have_their_weights() {
        let kib = [(8.0, 31.0), (4.0, 27.0), (64.0, 20.0), (16.0, 5.0), (32.0, 5.0), (128.0, 2.0), (1.0, 2.0)];
        let rest = [(60.0, 2.0), (0.5, 2.0), (256.0, 2.0), (48.0, 1.0), (56.0, 1.0)];
        let sizes: Vec<SizeShare> = kib.iter().chain(&rest).map(|(k, w)| size((k * 1024.0) as u64, *w)).collect();
        let mut draw = Draw::new(Mix::default(), &sizes, 8).unwrap();
        let mut found = BTreeMap::<u32, usize>::new();
        (0..DRAWS).for_each(|_| *found.entry(draw.next().1).or_default() += 1);
        for SizeShare { bytes, weight } in sizes {
            assert_share(found[&(bytes as u32)], weight / 100.0);
        }
        let mean = found.iter().map(|(bytes, count)| f64::from(*bytes) * *count as f64).sum::<f64>() / DRAWS as f64;
        assert!((mean / 1024.0 - 28.71).abs() < 0.4, "{mean}");
    }

    proptest! {
        #[test]
        fn a_seed_draws_the_same_again_and_sizes_do_not_touch_operations(seed: u64, write in 0.0f64..=1.0) {
            let mix = Mix { write, trim: 0.0 };
            let fixed = [size(4096, 1.0)];
            let mixed = [size(512, 0.001), size(4096, 3.0), size(1 << 20, 1e9)];
            let take = |sizes: &[SizeShare]| {
                let mut draw = Draw::new(mix, sizes, seed).unwrap();
                (0..200).map(|_| draw.next()).collect::<Vec<_>>()
            };
            let (a, b) = (take(&mixed), take(&mixed));
            prop_assert_eq!(&a, &b);
            let ops = |drawn: Vec<(Op, u32)>| drawn.into_iter().map(|(op, _)| op as u8).collect::<Vec<_>>();
            prop_assert_eq!(ops(a), ops(take(&fixed)));
        }
    }

    #[test]
    fn values_nobody_can_run_with_are_refused_by_their_key() {
        let reads = Mix::default();
        let one = vec![size(4096, 1.0)];
        let refused = [
            (Mix { write: -0.1, trim: 0.0 }, one.clone(), "mix.write: "),
            (Mix { write: 0.0, trim: f64::NAN }, one.clone(), "mix.trim: "),
            (Mix { write: 0.7, trim: 0.4 }, one, "mix: "),
            (reads, vec![], "sizes: "),
            (reads, vec![size(0, 1.0)], "sizes.bytes: "),
            (reads, vec![size(1 << 31, 1.0)], "sizes.bytes: "),
            (reads, vec![size(512, 0.0)], "sizes.weight: "),
            (reads, vec![size(512, f64::INFINITY)], "sizes.weight: "),
            (reads, vec![size(512, f64::MAX), size(512, f64::MAX)], "sizes.weight: "),
        ];
        for (mix, sizes, key) in refused {
            let error = Draw::new(mix, &sizes, 0).err().unwrap().to_string();
            assert!(error.starts_with(key), "{error}");
        }
    }
}
