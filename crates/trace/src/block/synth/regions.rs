//! The data set in regions of 8 MiB, the size of a cylinder group of the time, some more wanted than others: by Zipf's law
//! over a random order of them.

use super::draw::Draw;

/// The last region also holds what is left over.
const REGION: u64 = 8 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Regions {
    data_bytes: u64,
    count: u64,
    /// Walker's alias method (Vose, IEEE TSE 17(9), 1991): region `i` keeps a draw that hits it with the first, or hands it
    /// to the second.
    alias: Vec<(f64, u32)>,
    /// Mean distance between two places drawn independently, in bytes; and between two of the same region.
    pub far: f64,
    pub near: f64,
}

impl Regions {
    pub fn new(data_bytes: u64, zipf: f64, draw: &mut Draw) -> Self {
        let count = (data_bytes / REGION).max(1);
        let mut ranks: Vec<u64> = (1..=count).collect();
        for last in (1..count).rev() {
            ranks.swap(last as usize, draw.below(last + 1) as usize);
        }
        let mut regions = Self { data_bytes, count, alias: Vec::new(), far: 0.0, near: 0.0 };
        let size = |at: u64| regions.bounds(at).1 - regions.bounds(at).0;
        let weights: Vec<f64> =
            ranks.iter().zip(0..).map(|(&rank, at)| size(at) as f64 * (rank as f64).powf(-zipf)).collect();
        let whole: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|w| w / whole).collect();
        (regions.far, regions.near) = distances(&regions, &shares);
        regions.alias = alias(&shares);
        regions
    }

    /// First address of a region and the one behind its last.
    pub fn bounds(&self, region: u64) -> (u64, u64) {
        let end = if region + 1 == self.count { self.data_bytes } else { (region + 1) * REGION };
        (region * REGION, end)
    }

    /// The region of an address.
    pub fn of(&self, address: u64) -> u64 {
        (address / REGION).min(self.count - 1)
    }

    /// A region, as often as it is wanted.
    pub fn draw(&self, draw: &mut Draw) -> u64 {
        let at = draw.below(self.count);
        let (keeps, other) = self.alias[at as usize];
        if draw.coin(keeps) { at } else { u64::from(other) }
    }
}

/// Mean distances between two draws. Of regions i < j it is the distance of their centres, summed over all pairs by sums
/// from the left; inside one of size s it is s/3.
fn distances(regions: &Regions, shares: &[f64]) -> (f64, f64) {
    let (mut far, mut near, mut mass, mut moment) = (0.0, 0.0, 0.0, 0.0);
    for (at, &share) in (0u64..).zip(shares) {
        let (from, to) = regions.bounds(at);
        let centre = (from + to) as f64 / 2.0;
        let inside = (to - from) as f64 / 3.0;
        far += 2.0 * share * (centre * mass - moment) + share * share * inside;
        near += share * inside;
        mass += share;
        moment += share * centre;
    }
    (far, near)
}

fn alias(shares: &[f64]) -> Vec<(f64, u32)> {
    let mut table: Vec<(f64, u32)> = (0u32..).zip(shares).map(|(at, s)| (s * shares.len() as f64, at)).collect();
    let (mut less, mut more): (Vec<usize>, Vec<usize>) = (0..table.len()).partition(|&at| table[at].0 < 1.0);
    while let (Some(&low), Some(&high)) = (less.last(), more.last()) {
        less.pop();
        table[low].1 = high as u32;
        table[high].0 -= 1.0 - table[low].0;
        if table[high].0 < 1.0 {
            more.pop();
            less.push(high);
        }
    }
    // What is left is 1 but for rounding.
    less.into_iter().chain(more).for_each(|at| table[at].0 = 1.0);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(regions: &Regions, count: usize) -> Vec<u64> {
        let mut draw = Draw::new(3, 0);
        (0..count).map(|_| regions.draw(&mut draw)).collect()
    }

    #[test]
    fn regions_cover_the_data_set_without_gap_or_overlap() {
        for bytes in [512, REGION - 512, REGION, 3 * REGION + 512, 1_300_000_000] {
            let regions = Regions::new(bytes, 0.9, &mut Draw::new(1, 0));
            let mut next = 0;
            for at in 0..regions.count {
                let (from, to) = regions.bounds(at);
                assert_eq!((from, regions.of(from), regions.of(to - 1)), (next, at, at));
                next = to;
            }
            assert_eq!(next, bytes);
        }
    }

    /// With s = 1 over 10 regions of one size the first has 1/H(10) = 0.3414 of all draws; standard error 0.0015.
    #[test]
    fn regions_are_wanted_by_zipfs_law() {
        let regions = Regions::new(10 * REGION, 1.0, &mut Draw::new(1, 0));
        let mut counts = [0u32; 10];
        draws(&regions, 100_000).into_iter().for_each(|at| counts[at as usize] += 1);
        counts.sort_unstable_by_key(|c| std::cmp::Reverse(*c));
        for (rank, count) in (1..).zip(counts) {
            let expected = 0.341_417 / f64::from(rank);
            assert!((f64::from(count) / 1e5 - expected).abs() < 0.0075, "{rank}: {count}");
        }
    }

    /// Uniform places are a third of the data set apart; skewed ones as far as many draws are.
    #[test]
    fn mean_distances_are_those_of_many_draws() {
        let uniform = Regions::new(100 * REGION + 4096, 0.0, &mut Draw::new(1, 0));
        assert!((uniform.far / (uniform.data_bytes as f64 / 3.0) - 1.0).abs() < 1e-9, "{}", uniform.far);
        let skewed = Regions::new(50 * REGION, 1.2, &mut Draw::new(2, 0));
        let mut draw = Draw::new(4, 0);
        let places: Vec<f64> = draws(&skewed, 200_000)
            .into_iter()
            .map(|at| {
                let (from, to) = skewed.bounds(at);
                from as f64 + draw.uniform() * (to - from) as f64
            })
            .collect();
        let moved = places.chunks(2).map(|p| (p[0] - p[1]).abs()).sum::<f64>() / 100_000.0;
        assert!((moved / skewed.far - 1.0).abs() < 0.02, "{moved} {}", skewed.far);
    }
}
