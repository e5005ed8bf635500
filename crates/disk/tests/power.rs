//! Laws of power accounting, and the break-even time against the reference data.

#![allow(clippy::unwrap_used)]

mod reference;

use iojoule_disk::power::{Ledger, PowerSpec, PowerState, Span, Transition};
use iojoule_disk::{DiskError, Drive, DriveSpec, Model};
use iojoule_units::{Joules, ModelNs, Nanos};
use proptest::prelude::*;
use reference::{column, golden};

fn drive_36z15() -> PowerSpec {
    PowerSpec {
        active_w: Some(13.5),
        idle_w: Some(10.2),
        standby_w: Some(2.5),
        spin_up: Some(Transition { time_s: 10.9, energy_j: Some(135.0), w: None }),
        spin_down: Some(Transition { time_s: 1.5, energy_j: Some(13.0), w: None }),
        ..PowerSpec::default()
    }
}

fn any_state() -> impl Strategy<Value = PowerState> {
    (0..PowerState::COUNT).prop_map(|i| PowerState::ALL[i])
}

proptest! {
    /// Bookings of any length, also ones that go back in time, which book nothing.
    #[test]
    fn states_partition_time(steps in prop::collection::vec((any_state(), -1_000i64..1_000_000), 0..200), start in 0i64..1_000) {
        let mut ledger = Ledger::since(ModelNs(start));
        ledger.watch(true);
        let mut now = start;
        for (state, step) in steps {
            ledger.book(state, ModelNs(now + step));
            now = now.max(now + step);
        }
        let dwells: i64 = PowerState::ALL.iter().map(|s| ledger.dwell(*s).0).sum();
        prop_assert_eq!(dwells, now - start);
        prop_assert_eq!(ledger.total(), Nanos(now - start));

        let mut spans = Vec::new();
        ledger.drain_spans(|span| spans.push(span));
        ledger.end_spans(|span| spans.push(span));
        let mut at = ModelNs(start);
        for pair in spans.windows(2) {
            prop_assert_ne!(pair[0].state, pair[1].state, "neighbours are merged");
        }
        for span in spans {
            prop_assert_eq!(span.from, at);
            at = span.to;
        }
        prop_assert_eq!(at, ModelNs(now));
    }

    #[test]
    fn energy_is_the_sum_of_state_powers_times_dwell(dwell in prop::collection::vec(0i64..10_000_000_000, PowerState::COUNT)) {
        let power = PowerSpec { low_power_idle_w: Some(7.0), sleep_w: Some(1.0), seek_w: Some(14.5), ..drive_36z15() };
        let watts = [14.5, 13.5, 13.5, 13.5, 10.2, 7.0, 2.5, 1.0, 135.0 / 10.9, 13.0 / 1.5, 0.0];
        let mut ledger = Ledger::default();
        let (mut at, mut expected) = (0, 0.0);
        for (i, time) in dwell.iter().enumerate() {
            at += time;
            ledger.book(PowerState::ALL[i], ModelNs(at));
            expected += watts[i] * *time as f64 / 1e9;
        }
        let Joules(energy) = ledger.energy(&power).unwrap();
        prop_assert!((energy - expected).abs() <= 1e-9 * expected);
    }
}

#[test]
fn spans_of_one_state_are_one_span_also_when_drained_between() {
    let mut ledger = Ledger::default();
    ledger.watch(true);
    let mut spans = Vec::new();
    for to in [10, 20, 30] {
        ledger.book(PowerState::Idle, ModelNs(to));
        ledger.drain_spans(|span| spans.push(span));
    }
    ledger.book(PowerState::Seek, ModelNs(35));
    ledger.drain_spans(|span| spans.push(span));
    assert_eq!(spans, [Span { from: ModelNs(0), to: ModelNs(30), state: PowerState::Idle }]);
}

#[test]
fn energy_of_a_state_without_power_is_refused_and_names_drive_state_and_key() {
    let mut ledger = Ledger::default();
    ledger.book(PowerState::Idle, ModelNs(1_000_000_000));
    ledger.book(PowerState::Standby, ModelNs(3_000_000_000));
    let power = PowerSpec { standby_w: None, ..drive_36z15() };
    let error = ledger.energy(&power).unwrap_err().of_drive("quiet");
    assert_eq!(
        error.to_string(),
        "drive `quiet` spent 2.000000 s in state `standby`, but power.standby_w is not set: no source gives it"
    );
    ledger.book(PowerState::SpinUp, ModelNs(4_000_000_000));
    let power = PowerSpec { spin_up: Some(Transition { time_s: 1.0, energy_j: None, w: None }), ..drive_36z15() };
    assert!(matches!(ledger.energy(&power), Err(DiskError::NoPower { state: "spin_up", .. })));
}

#[test]
fn a_drive_that_is_out_draws_nothing_and_its_successor_turns_from_the_start() {
    let model = Model::new(&DriveSpec::preset("ultrastar-36z15").unwrap()).unwrap();
    let mut drive = Drive::new(model, Nanos::ZERO);
    drive.spin_down(ModelNs(0), PowerState::Standby);
    drive.take_out(ModelNs(10_000_000_000));
    assert_eq!(drive.power_state(ModelNs(12_000_000_000)), PowerState::Off);
    drive.replace(ModelNs(30_000_000_000));
    drive.account(ModelNs(35_000_000_000));
    let seconds = |state| drive.ledger().dwell(state).as_secs_f64();
    assert_eq!((seconds(PowerState::Off), seconds(PowerState::Idle), drive.ledger().spin_ups()), (20.0, 5.0, 0));
    assert_eq!(seconds(PowerState::SpinDown) + seconds(PowerState::Standby), 10.0);
    assert_eq!(drive.ledger().energy_in(PowerState::Off, &PowerSpec::default()), Ok(Joules(0.0)));
}

#[test]
fn a_state_never_entered_needs_no_figure() {
    let mut ledger = Ledger::default();
    ledger.book(PowerState::Idle, ModelNs(2_000_000_000));
    let power = PowerSpec { idle_w: Some(10.0), ..PowerSpec::default() };
    assert_eq!(ledger.energy(&power), Ok(Joules(20.0)));
}

#[test]
fn a_negative_or_doubled_power_figure_is_refused() {
    let negative = PowerSpec { idle_w: Some(-1.0), ..drive_36z15() };
    assert_eq!(
        negative.check("x").unwrap_err().to_string(),
        "drive `x`: power.idle_w = -1: a power is a number of watts, at least 0"
    );
    let both =
        PowerSpec { spin_up: Some(Transition { time_s: 1.0, energy_j: Some(5.0), w: Some(5.0) }), ..drive_36z15() };
    assert!(both.check("x").is_err());
}

#[test]
fn the_break_even_time_of_the_36z15_is_the_references() {
    let Some(rows) = golden("000_drive_36z15.csv") else { return };
    let value = |name: &str| {
        let row = rows.iter().find(|row| row["parameter"] == name).unwrap();
        row["value"].parse().or_else(|_| row["recomputed_value"].parse::<f64>()).unwrap()
    };
    let by_energy = PowerSpec {
        idle_w: Some(value("p_idle")),
        standby_w: Some(value("p_standby")),
        spin_up: Some(Transition { time_s: value("t_spin_up"), energy_j: Some(value("e_spin_up")), w: None }),
        spin_down: Some(Transition { time_s: value("t_spin_down"), energy_j: Some(value("e_spin_down")), w: None }),
        ..PowerSpec::default()
    };
    let by_power = PowerSpec {
        spin_up: Some(Transition { time_s: value("t_spin_up"), energy_j: None, w: Some(value("p_spin_up")) }),
        spin_down: Some(Transition { time_s: value("t_spin_down"), energy_j: None, w: Some(value("p_spin_down")) }),
        ..by_energy.clone()
    };
    for (power, name) in [(by_energy, "t_break_even"), (by_power, "t_break_even_from_power")] {
        let break_even = power.standby().unwrap().break_even().unwrap();
        assert!((break_even.as_secs_f64() - value(name)).abs() < 1e-8, "{name}: {break_even:?}");
    }
}

#[test]
fn staying_and_sleeping_cost_what_the_reference_says() {
    let Some(rows) = golden("000_break_even.csv") else { return };
    let standby = drive_36z15().standby().unwrap();
    let idle = column(&rows, "idle_s");
    assert!(idle.len() > 10);
    for (row, seconds) in rows.iter().zip(idle) {
        let time = Nanos::from_secs_f64(seconds);
        let near = |joules: f64, key: &str| (joules - row[key].parse::<f64>().unwrap()).abs() < 1e-6;
        assert!(near(standby.stay(time).0, "recomputed_e_stay_j"), "{row:?}");
        match standby.sleep(time) {
            Some(sleep) => assert!(near(sleep.0, "recomputed_e_sleep_j"), "{row:?}"),
            None => assert_eq!(row["recomputed_e_sleep_j"], "", "{row:?}"),
        }
        let sleeps = standby.break_even().unwrap() <= time;
        assert_eq!(sleeps, row["recomputed_oracle"] == "sleep", "{row:?}");
    }
}

#[test]
fn break_even_is_refused_where_a_figure_is_unset() {
    let error = PowerSpec { standby_w: None, ..drive_36z15() }.standby().unwrap_err().of_drive("d");
    assert_eq!(error.to_string(), "drive `d`: power.standby_w is not set: no source gives it");
}
