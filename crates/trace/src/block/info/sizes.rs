//! How large requests are: counts by power of two, and the sizes that are most common.

use std::collections::hash_map::Entry;

use serde::Serialize;

use super::recent::BlockMap;

/// Distinct sizes counted one by one; a trace with more has no typical size.
const DISTINCT: usize = 65_536;
/// Common sizes told.
const COMMON: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    by_power: [u64; 65],
    exact: BlockMap<u64>,
    bytes: u128,
    ios: u64,
    least: u64,
    most: u64,
}

/// Sizes of reads and writes.
#[derive(Clone, Debug, Serialize)]
pub struct SizeSummary {
    pub mean_bytes: Option<f64>,
    pub min_bytes: Option<u64>,
    pub max_bytes: Option<u64>,
    /// The most common sizes, most common first.
    pub common: Vec<CommonSize>,
    /// Non-empty classes `from_bytes <= size < 2 * from_bytes`, ascending; `from_bytes` is 0 for requests of no bytes.
    pub powers_of_two: Vec<SizeClass>,
}

/// Requests of one size; `share` is of all I/Os, 0 to 1.
#[derive(Clone, Debug, Serialize)]
pub struct CommonSize {
    pub bytes: u64,
    pub ios: u64,
    pub share: f64,
}

/// Requests from one power of two to the next.
#[derive(Clone, Debug, Serialize)]
pub struct SizeClass {
    pub from_bytes: u64,
    pub ios: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { by_power: [0; 65], exact: BlockMap::default(), bytes: 0, ios: 0, least: u64::MAX, most: 0 }
    }
}

impl Sizes {
    pub fn add(&mut self, bytes: u64) {
        self.by_power[bytes.checked_ilog2().map_or(0, |power| power as usize + 1)] += 1;
        self.bytes += u128::from(bytes);
        self.ios += 1;
        self.least = self.least.min(bytes);
        self.most = self.most.max(bytes);
        let room = self.exact.len() < DISTINCT;
        match self.exact.entry(bytes) {
            Entry::Occupied(mut count) => *count.get_mut() += 1,
            Entry::Vacant(slot) if room => _ = slot.insert(1),
            Entry::Vacant(_) => {}
        }
    }

    pub fn summary(&self) -> SizeSummary {
        let mut common: Vec<(u64, u64)> = self.exact.iter().map(|(&bytes, &ios)| (bytes, ios)).collect();
        common.sort_unstable_by_key(|&(bytes, ios)| (std::cmp::Reverse(ios), bytes));
        common.truncate(COMMON);
        let any = self.ios > 0;
        SizeSummary {
            mean_bytes: any.then(|| self.bytes as f64 / self.ios as f64),
            min_bytes: any.then_some(self.least),
            max_bytes: any.then_some(self.most),
            common: common
                .into_iter()
                .map(|(bytes, ios)| CommonSize { bytes, ios, share: ios as f64 / self.ios as f64 })
                .collect(),
            powers_of_two: (0..65)
                .filter(|&class| self.by_power[class] > 0)
                .map(|class| SizeClass {
                    from_bytes: if class == 0 { 0 } else { 1 << (class - 1) },
                    ios: self.by_power[class],
                })
                .collect(),
        }
    }
}
