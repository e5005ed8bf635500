//! What holds for every pattern, and the laws of those that are told in a line.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::block::config::Band;

fn patterns() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Sequential),
        Just(Pattern::Random),
        (0.001f64..5.0).prop_map(|theta| Pattern::Zipf { theta }),
        (0.501f64..0.999).prop_map(|h| Pattern::Pareto { h }),
        (0.01f64..1.0, 0.0f64..0.9, any::<bool>()).prop_map(|(share, from, skewed)| Pattern::HotBand {
            bands: vec![Band { share, from, to: from + 0.1, skewed }]
        }),
        (1u64..4).prop_map(|slots| Pattern::Strided { stride_bytes: slots * 4096 }),
    ]
}

fn places(pattern: &Pattern, slots: u64, job: u32, jobs: u32, seed: u64) -> Places {
    Places::new(pattern, slots, 4096, job, jobs, seed).unwrap()
}

fn take(pattern: &Pattern, slots: u64, job: u32, jobs: u32, seed: u64, count: usize) -> Vec<u64> {
    let mut places = places(pattern, slots, job, jobs, seed);
    (0..count).map(|_| places.next()).collect()
}

proptest! {
    #[test]
    fn places_lie_in_the_region(pattern in patterns(), slots in 4u64..1 << 50, jobs in 1u32..9, seed: u64) {
        for job in 0..jobs {
            prop_assert!(take(&pattern, slots, job, jobs, seed, 300).iter().all(|place| *place < slots));
        }
    }

    #[test]
    fn small_regions_have_places_too(pattern in patterns(), slots in 1u64..5, seed: u64) {
        if let Ok(mut places) = Places::new(&pattern, slots, 4096, 0, 1, seed) {
            prop_assert!((0..100).all(|_| places.next() < slots));
        } else {
            let too_long = matches!(pattern, Pattern::Strided { stride_bytes } if stride_bytes > slots * 4096);
            prop_assert!(too_long);
        }
    }

    #[test]
    fn a_seed_gives_the_same_places_again(pattern in patterns(), slots in 4u64..1 << 40, seed: u64) {
        prop_assert_eq!(take(&pattern, slots, 1, 2, seed, 100), take(&pattern, slots, 1, 2, seed, 100));
    }

    #[test]
    fn jobs_go_their_own_ways(pattern in patterns(), slots in 1000u64..1 << 40, seed: u64) {
        prop_assert_ne!(take(&pattern, slots, 0, 2, seed, 500), take(&pattern, slots, 1, 2, seed, 500));
    }

    #[test]
    fn strides_of_all_jobs_visit_every_place_once(slots in 1u64..2000, stride in 1u64..50, jobs in 1u32..5) {
        prop_assume!(stride <= slots);
        let pattern = Pattern::Strided { stride_bytes: stride * 4096 };
        let mut visits = HashSet::new();
        for job in 0..jobs {
            let share = |job: u32| slots * u64::from(job) / u64::from(jobs);
            let taken = take(&pattern, slots, job, jobs, 0, (share(job + 1) - share(job)) as usize);
            prop_assert!(taken.into_iter().all(|place| visits.insert(place)));
        }
        prop_assert_eq!(visits.len() as u64, slots);
    }
}

#[test]
fn seeds_that_differ_draw_other_places() {
    for pattern in [Pattern::Random, Pattern::Zipf { theta: 1.0 }, Pattern::Pareto { h: 0.8 }] {
        assert_ne!(take(&pattern, 1 << 20, 0, 1, 1, 50), take(&pattern, 1 << 20, 0, 1, 2, 50));
    }
}

#[test]
fn sequential_jobs_start_at_equal_shares_and_go_around() {
    assert_eq!(take(&Pattern::Sequential, 10, 0, 3, 0, 11), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0]);
    assert_eq!(take(&Pattern::Sequential, 10, 1, 3, 0, 3), [3, 4, 5]);
    assert_eq!(take(&Pattern::Sequential, 10, 2, 3, 0, 5), [6, 7, 8, 9, 0]);
}

#[test]
fn each_lap_of_a_stride_begins_one_place_further() {
    let pattern = Pattern::Strided { stride_bytes: 4 * 4096 };
    assert_eq!(take(&pattern, 10, 0, 1, 0, 12), [0, 4, 8, 1, 5, 9, 2, 6, 3, 7, 0, 4]);
}

#[test]
fn random_places_are_uniform() {
    let mut cells = [0.0f64; 50];
    take(&Pattern::Random, 50_000, 3, 4, 9, 500_000).iter().for_each(|place| cells[(place / 1000) as usize] += 1.0);
    let chi_square: f64 = cells.iter().map(|found| (found - 10_000.0).powi(2) / 10_000.0).sum();
    // 49 degrees of freedom: mean 49, deviation 9.9.
    assert!((49.0 - 4.0 * 9.9..49.0 + 5.0 * 9.9).contains(&chi_square), "{chi_square}");
}

/// The hottest share 1−h of the places has the share h of the requests; within it, again.
#[test]
fn pareto_requests_are_self_similar() {
    for h in [0.6, 0.8, 0.9] {
        let mut visits = vec![0u64; 10_000];
        let draws = 2_000_000;
        take(&Pattern::Pareto { h }, 10_000, 0, 1, 5, draws).iter().for_each(|place| visits[*place as usize] += 1);
        visits.sort_unstable_by_key(|visits| std::cmp::Reverse(*visits));
        for (places, share) in [(1.0 - h, h), ((1.0 - h) * (1.0 - h), h * h)] {
            let hottest = &visits[..(places * 10_000f64).round() as usize];
            let found = hottest.iter().sum::<u64>() as f64 / draws as f64;
            // Sorting by what was drawn favours the lucky ones a little.
            assert!((found - share).abs() < 0.006, "h {h}: {found} instead of {share}");
        }
    }
}

/// Probability of rank k is k^-1 / H: the hottest place of a thousand has 1/7.485 of all requests, in every job.
#[test]
fn what_is_hot_is_hot_for_all_jobs_and_lies_anywhere() {
    let mut hottest = HashSet::new();
    for seed in 0..8 {
        let places: HashSet<u64> = (0..4)
            .map(|job| {
                let mut visits = vec![0u64; 1000];
                let drawn = take(&Pattern::Zipf { theta: 1.0 }, 1000, job, 4, seed, 50_000);
                drawn.iter().for_each(|place| visits[*place as usize] += 1);
                let most = (0..1000).max_by_key(|place| visits[*place as usize]).unwrap();
                let share = visits[most as usize] as f64 / 50_000.0;
                assert!((share - 1.0 / 7.485_47).abs() < 0.0076, "{share}");
                most
            })
            .collect();
        assert_eq!(places.len(), 1);
        hottest.extend(places);
    }
    assert!(hottest.len() > 6, "{hottest:?}");
}

#[test]
fn values_nobody_can_run_with_are_refused_by_their_key() {
    let refused = [
        (Pattern::Zipf { theta: 0.0 }, "pattern.theta: "),
        (Pattern::Zipf { theta: f64::INFINITY }, "pattern.theta: "),
        (Pattern::Zipf { theta: f64::NAN }, "pattern.theta: "),
        (Pattern::Pareto { h: 0.5 }, "pattern.h: "),
        (Pattern::Pareto { h: 1.0 }, "pattern.h: "),
        (Pattern::Strided { stride_bytes: 0 }, "pattern.stride_bytes: "),
        (Pattern::Strided { stride_bytes: 6000 }, "pattern.stride_bytes: "),
        (Pattern::Strided { stride_bytes: 11 * 4096 }, "pattern.stride_bytes: "),
    ];
    for (pattern, key) in refused {
        let error = Places::new(&pattern, 10, 4096, 0, 1, 0).err().unwrap().to_string();
        assert!(error.starts_with(key), "{error}");
    }
    assert!(Places::new(&Pattern::Random, 0, 4096, 0, 1, 0).is_err());
}
