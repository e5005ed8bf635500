//! Requests at random addresses: the plainest load there is, for closed loops and for comparing engines. Anything closer
//! to a real system is `trace::block`'s synthesiser.

use iojoule_record::Op;
use iojoule_trace::block::Record;
use iojoule_units::{Nanos, SECTOR};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::SimError;

/// Uniform addresses in whole blocks, one size, Poisson arrivals.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RandomLoad {
    pub requests: u64,
    /// Bytes of each request and the alignment of its address.
    pub bytes: u64,
    /// Share of reads, 0 to 1.
    #[serde(default = "all")]
    pub reads: f64,
    /// Requests per second; only open arrivals look at it.
    #[serde(default = "one_per_s")]
    pub rate: f64,
    /// Bytes of the address space; the whole array where it is not given.
    pub span: Option<u64>,
}

fn all() -> f64 {
    1.0
}

fn one_per_s() -> f64 {
    1.0
}

/// The records of a [`RandomLoad`].
pub struct Random {
    load: RandomLoad,
    slots: u64,
    draw: Xoshiro256PlusPlus,
    at_ns: f64,
    made: u64,
}

impl Random {
    /// `capacity`: sectors of the array.
    pub fn new(load: &RandomLoad, capacity: u64, seed: u64) -> Result<Self, SimError> {
        let wrong = |what: &str| Err(SimError::Config(format!("random load: {what}")));
        let slots = load.span.unwrap_or(capacity * SECTOR) / load.bytes.max(1);
        if load.bytes == 0 || slots == 0 {
            return wrong("a request must have at least one byte and fit into the span");
        }
        if !(0.0..=1.0).contains(&load.reads) {
            return wrong("the share of reads lies between 0 and 1");
        }
        if !(load.rate.is_finite() && load.rate > 0.0) {
            return wrong("the rate must be above 0");
        }
        let draw = Xoshiro256PlusPlus::seed_from_u64(seed);
        Ok(Self { load: load.clone(), slots, draw, at_ns: 0.0, made: 0 })
    }

    /// Uniform in (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.draw.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

impl Iterator for Random {
    type Item = Result<Record, SimError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.made == self.load.requests {
            return None;
        }
        self.made += 1;
        self.at_ns -= self.unit().ln() * 1e9 / self.load.rate;
        let slot = ((u128::from(self.draw.next_u64()) * u128::from(self.slots)) >> 64) as u64;
        // The whole interval is on one side where all or none are reads.
        let op = if self.load.reads >= 1.0 || self.unit() <= self.load.reads { Op::Read } else { Op::Write };
        let (offset, bytes) = (slot * self.load.bytes, self.load.bytes);
        Some(Ok(Record {
            at: Nanos(self.at_ns as i64),
            device: 0,
            op,
            offset,
            bytes,
            asynchronous: None,
            response: None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_has_the_stated_rate_mix_and_span() {
        let load = RandomLoad { requests: 20_000, bytes: 4096, reads: 0.67, rate: 500.0, span: Some(1 << 30) };
        let records: Vec<Record> = Random::new(&load, 1 << 40, 3).unwrap().map(Result::unwrap).collect();
        let seconds = records.last().unwrap().at.as_secs_f64();
        assert!((20_000.0 / seconds / 500.0 - 1.0).abs() < 0.03);
        let reads = records.iter().filter(|r| r.op == Op::Read).count();
        assert!((reads as f64 / 20_000.0 - 0.67).abs() < 0.01);
        assert!(records.iter().all(|r| r.offset % 4096 == 0 && r.offset + r.bytes <= 1 << 30));
        assert!(records.is_sorted_by_key(|r| r.at));
    }

    #[test]
    fn the_same_seed_gives_the_same_records() {
        let load = RandomLoad { requests: 100, bytes: 512, reads: 0.5, rate: 1.0, span: None };
        let records = |seed| -> Vec<Record> { Random::new(&load, 10_000, seed).unwrap().map(Result::unwrap).collect() };
        assert_eq!(records(1), records(1));
        assert_ne!(records(1), records(2));
    }
}
