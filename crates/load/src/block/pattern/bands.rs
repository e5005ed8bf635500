//! Hot bands: shares of the requests on parts of the region, as in SNIA Emerald's hot-band workload and vdbench's
//! `hotband`, whose leaning to the low end of a band is made here by u².

use rand_core::Rng;

use super::{below, uniform};
use crate::LoadError;
use crate::block::config::Band;

/// Sums of shares may exceed 1 by what rounding in a configuration makes.
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Debug)]
pub(super) struct Bands {
    bands: Vec<Span>,
    slots: u64,
}

#[derive(Clone, Debug)]
struct Span {
    /// Shares up to and with this band.
    until: f64,
    /// In slots.
    from: f64,
    width: f64,
    skewed: bool,
}

impl Bands {
    pub fn new(bands: &[Band], slots: u64) -> Result<Self, LoadError> {
        let refuse = |reason: String| Err(LoadError::config("pattern.bands", reason));
        let mut sum = 0.0;
        let mut spans = Vec::with_capacity(bands.len());
        for Band { share, from, to, skewed } in bands {
            if !(*share > 0.0 && *share <= 1.0 + ROUNDING) {
                return refuse(format!("a share of {share} is not above 0 and at most 1"));
            }
            if !(0.0 <= *from && from < to && *to <= 1.0) {
                return refuse(format!("{from} to {to} is no part of the region, which goes from 0 to 1"));
            }
            sum += share;
            let (from, width) = (from * slots as f64, (to - from) * slots as f64);
            spans.push(Span { until: sum, from, width, skewed: *skewed });
        }
        match spans.last_mut() {
            None => refuse("holds no band".into()),
            Some(_) if sum > 1.0 + ROUNDING => refuse(format!("the shares are {sum} together, more than 1")),
            Some(last) => {
                if sum > 1.0 - ROUNDING {
                    last.until = 1.0;
                }
                Ok(Self { bands: spans, slots })
            }
        }
    }

    #[inline]
    pub fn next(&self, random: &mut impl Rng) -> u64 {
        let which = uniform(random);
        match self.bands.iter().find(|band| which < band.until) {
            None => below(random, self.slots),
            Some(band) => {
                let u = uniform(random);
                let along = if band.skewed { u * u } else { u };
                ((band.from + band.width * along) as u64).min(self.slots - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const DRAWS: f64 = 400_000.0;

    fn band(share: f64, from: f64, to: f64, skewed: bool) -> Band {
        Band { share, from, to, skewed }
    }

    /// Draws that fall in `[from, to)` of 1000 slots agree with their probability within five standard errors.
    fn assert_share(found: &[u64], from: usize, to: usize, probability: f64) {
        let found = found[from..to].iter().sum::<u64>() as f64 / DRAWS;
        let error = (probability * (1.0 - probability) / DRAWS).sqrt();
        assert!((found - probability).abs() <= 5.0 * error, "{from}..{to}: {found} instead of {probability}");
    }

    fn histogram(bands: &[Band]) -> Vec<u64> {
        let (bands, mut found) = (Bands::new(bands, 1000).unwrap(), vec![0; 1000]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        (0..DRAWS as usize).for_each(|_| found[bands.next(&mut random) as usize] += 1);
        found
    }

    #[test]
    fn bands_get_their_shares_and_the_rest_is_uniform() {
        let found = histogram(&[band(0.5, 0.1, 0.2, false), band(0.2, 0.8, 1.0, false)]);
        assert_share(&found, 100, 200, 0.5 + 0.3 * 0.1);
        assert_share(&found, 100, 150, 0.25 + 0.3 * 0.05);
        assert_share(&found, 800, 1000, 0.2 + 0.3 * 0.2);
        assert_share(&found, 0, 100, 0.3 * 0.1);
        assert_share(&found, 200, 800, 0.3 * 0.6);
    }

    /// P(u² < x) = √x: the first quarter of a skewed band gets half of its requests.
    #[test]
    fn a_skewed_band_leans_to_its_low_end() {
        let found = histogram(&[band(1.0, 0.2, 0.6, true)]);
        assert_share(&found, 200, 300, 0.5);
        assert_share(&found, 200, 204, 0.1);
        assert_share(&found, 300, 600, 0.5);
        assert_share(&found, 0, 200, 0.0);
    }

    /// Emerald's first band over a band that is the whole region.
    #[test]
    fn overlapping_bands_add_up() {
        let found = histogram(&[band(0.4, 0.0, 1.0, false), band(0.35, 0.1, 0.18, true)]);
        assert_share(&found, 100, 180, 0.35 + 0.65 * 0.08);
    }

    #[test]
    fn shares_of_tenths_add_up_to_one() {
        let bands: Vec<Band> = (0..10).map(|i| band(0.1, 0.0, 0.05 * f64::from(i + 1), false)).collect();
        assert_share(&histogram(&bands), 500, 1000, 0.0);
    }

    #[test]
    fn bands_that_cannot_be_are_refused_by_their_key() {
        let refused = [
            vec![],
            vec![band(0.6, 0.0, 0.5, false), band(0.5, 0.5, 1.0, false)],
            vec![band(0.0, 0.0, 0.5, false)],
            vec![band(f64::NAN, 0.0, 0.5, false)],
            vec![band(0.5, 0.5, 0.5, false)],
            vec![band(0.5, 0.5, 1.1, false)],
            vec![band(0.5, -0.1, 0.5, false)],
            vec![band(0.5, f64::NAN, 0.5, false)],
        ];
        for bands in refused {
            let error = Bands::new(&bands, 10).unwrap_err().to_string();
            assert!(error.starts_with("pattern.bands: "), "{error}");
        }
    }
}
