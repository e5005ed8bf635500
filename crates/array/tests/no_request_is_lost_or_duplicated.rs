//! Under any layout, scheduler, policy, cache, failure and rebuild every request is answered exactly once, its times are
//! in order, and a drive's states partition the time of the run.
#![allow(clippy::unwrap_used)]

mod stage;

use iojoule_array::Array;
use iojoule_disk::PowerState;
use iojoule_units::Nanos;
use proptest::prelude::*;
use stage::*;

/// Failures and replacements within the first second.
fn faults() -> impl Strategy<Value = Vec<(u16, i64, bool)>> {
    prop::collection::vec((0u16..6, 0i64..1_000_000_000, any::<bool>()), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn every_request_is_answered_once_and_every_nanosecond_is_booked(
        text in any_array(),
        faults in faults(),
        seed in 0u64..1000,
        sectors in 1u32..70,
        rate in 20.0f64..800.0,
        write_share in 0.0f64..1.0,
    ) {
        let mut config = config_of(&text);
        for (drive, at_ns, fails) in faults {
            let kind = if fails { iojoule_array::FaultKind::Fail } else { iojoule_array::FaultKind::Replace };
            config.faults.push(iojoule_array::Fault { drive: drive % config.drives, at_ns, kind });
        }
        let mut array = Array::new(&config, &small_disk()).unwrap();
        let arrivals = poisson(seed, 200, rate, write_share, sectors, array.capacity());
        let done = play(&mut array, &arrivals);

        let mut ids: Vec<u64> = done.iter().map(|c| c.request.id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..200).collect::<Vec<_>>());
        for completion in &done {
            let (at, request) = arrivals[completion.request.id as usize];
            prop_assert_eq!(completion.request, request);
            prop_assert_eq!(completion.arrived, at);
            prop_assert!(completion.arrived <= completion.started && completion.started <= completion.done, "{:?}", completion);
            prop_assert!(completion.served || !config.faults.is_empty());
        }
        prop_assert!(done.windows(2).all(|pair| pair[0].done <= pair[1].done));

        let now = end(&done);
        let report = array.finish(now);
        for drive in &report.drives {
            let total = PowerState::ALL.into_iter().fold(Nanos::ZERO, |sum, state| sum + drive.ledger.dwell(state));
            // A command in service at the end is booked to its end.
            prop_assert!(total >= now - iojoule_units::ModelNs::ZERO);
            prop_assert_eq!(total, drive.ledger.total());
            prop_assert!(drive.busy <= now - iojoule_units::ModelNs::ZERO);
        }
    }

    #[test]
    fn a_run_repeated_is_the_same_to_the_byte(text in any_array(), seed in 0u64..1000) {
        let run = || {
            let mut array = array(&text);
            let arrivals = poisson(seed, 150, 300.0, 0.4, 24, array.capacity());
            let done = play(&mut array, &arrivals);
            let report = array.finish(end(&done));
            trace_of(&done, &report)
        };
        prop_assert_eq!(run(), run());
    }
}
