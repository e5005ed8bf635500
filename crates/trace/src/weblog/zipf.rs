//! Zipf's law: the object of rank `r` is asked for with a probability proportional to `r^-s`.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::spread::uniform;

pub(crate) struct Zipf {
    cumulated: Vec<f64>,
}

impl Zipf {
    pub fn new(count: u32, exponent: f64) -> Self {
        let mut sum = 0.0;
        let cumulated = (1..=count)
            .map(|rank| {
                sum += f64::from(rank).powf(-exponent);
                sum
            })
            .collect();
        Self { cumulated }
    }

    /// A rank, from 0.
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u32 {
        let end = self.cumulated.last().copied().unwrap_or(0.0);
        let wanted = uniform(random) * end;
        self.cumulated.partition_point(|&sum| sum <= wanted).min(self.cumulated.len() - 1) as u32
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    /// With s = 1 over 10 ranks the first has 1/H(10) = 0.3414 of all draws; standard error 0.0015.
    #[test]
    fn ranks_are_drawn_by_zipfs_law() {
        let (zipf, mut random) = (Zipf::new(10, 1.0), Xoshiro256PlusPlus::seed_from_u64(3));
        let first = (0..100_000).filter(|_| zipf.draw(&mut random) == 0).count() as f64 / 1e5;
        assert!((first - 0.3414).abs() < 0.006, "{first}");
    }
}
