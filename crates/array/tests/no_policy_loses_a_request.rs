//! A policy decides about energy and nothing else: one that orders at random, sense and nonsense, delays requests and
//! loses none.
#![allow(clippy::unwrap_used)]

mod stage;

use iojoule_array::policy::{Orders, Policy, Rest, View, Wants};
use iojoule_array::{Array, Fault, FaultKind};
use iojoule_disk::PowerState;
use iojoule_units::{ModelNs, Nanos};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stage::*;

/// Up to three orders at every call, to any drive and some that are not there, for any gear and time.
struct Whim(Xoshiro256PlusPlus);

impl Whim {
    fn order(&mut self, view: &dyn View, orders: &mut Orders) {
        for _ in 0..self.0.next_u64() % 4 {
            let drive = (self.0.next_u64() % (u64::from(view.drives()) + 1)) as u16;
            let rest = [Rest::LowPowerIdle, Rest::Standby, Rest::Sleep][(self.0.next_u64() % 3) as usize];
            match self.0.next_u64() % 8 {
                0..4 => orders.spin_down(drive, rest),
                4 => orders.spin_up(drive),
                5 => orders.shift((self.0.next_u64() % 4) as u8),
                // Some in the past.
                _ => orders.wake(drive, ModelNs(view.now().0 - 5_000_000 + (self.0.next_u64() % 60_000_000) as i64)),
            }
        }
    }
}

impl Policy for Whim {
    fn wants(&self) -> Wants {
        Wants { idle: true, arrived: true, window: Some(Nanos(7_000_000)) }
    }
    fn idle(&mut self, _: u16, view: &dyn View, orders: &mut Orders) {
        self.order(view, orders);
    }
    fn timer(&mut self, _: u16, view: &dyn View, orders: &mut Orders) {
        self.order(view, orders);
    }
    fn arrived(&mut self, drive: u16, view: &dyn View, orders: &mut Orders) {
        assert!(!view.drive(drive).state.spins());
        self.order(view, orders);
    }
    fn window(&mut self, busy: &[f64], view: &dyn View, orders: &mut Orders) {
        assert!(busy.len() == usize::from(view.drives()) && busy.iter().all(|share| (0.0..=1.0).contains(share)));
        self.order(view, orders);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn a_policy_of_whims_delays_requests_and_loses_none(
        text in any_array(), fails in prop::option::of((0u16..6, 0i64..1_000_000_000)), seed in 0u64..100_000,
        rate in 5.0f64..400.0, write_share in 0.0f64..1.0,
    ) {
        let mut config = config_of(&text);
        if let Some((drive, at_ns)) = fails {
            config.faults.push(Fault { drive: drive % config.drives, at_ns, kind: FaultKind::Fail });
        }
        let model = small_disk();
        let whim = Box::new(Whim(Xoshiro256PlusPlus::seed_from_u64(seed)));
        let mut array = Array::with_policy(&config, &model, whim).unwrap();
        let arrivals = poisson(seed, 150, rate, write_share, 24, array.capacity());
        let done = play(&mut array, &arrivals);
        let mut ids: Vec<u64> = done.iter().map(|c| c.request.id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..150).collect::<Vec<_>>());
        prop_assert!(done.iter().all(|c| c.arrived <= c.started && c.started <= c.done));
        prop_assert!(done.iter().all(|c| c.served || fails.is_some()));
        let report = array.finish(end(&done));
        for drive in &report.drives {
            let total = PowerState::ALL.into_iter().fold(Nanos::ZERO, |sum, state| sum + drive.ledger.dwell(state));
            prop_assert_eq!(total, drive.ledger.total());
            prop_assert!(drive.ledger.energy(&model.spec().power).unwrap().0 > 0.0 || total == Nanos::ZERO);
        }
    }
}
