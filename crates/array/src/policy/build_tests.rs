use std::collections::BTreeMap;

use iojoule_disk::power::PowerSpec;

use super::super::Argument;
use super::super::golden::ultrastar;
use super::*;

/// A drive of which nothing is known but its power: the 36Z15's, or none.
fn drive(with_power: bool) -> DriveSpec {
    let mut drive = DriveSpec::from_toml("name = \"d\"\n[datasheet]\nmedium = \"hard disk\"\n").unwrap();
    if with_power {
        let figures = ultrastar();
        let transition = |time: Nanos, joules| iojoule_disk::power::Transition {
            time_s: time.as_secs_f64(),
            energy_j: Some(joules),
            w: None,
        };
        drive.power = PowerSpec {
            idle_w: Some(figures.idle.0),
            standby_w: Some(figures.standby.0),
            spin_up: Some(transition(figures.spin_up, 135.0)),
            spin_down: Some(transition(figures.spin_down, 13.0)),
            ..PowerSpec::default()
        };
    }
    drive
}

fn fixed(threshold_ns: Threshold) -> PolicyConfig {
    PolicyConfig::Fixed { threshold_ns, to: Rest::Standby, ration: None }
}

#[test]
fn a_policy_that_rests_is_refused_for_a_drive_of_unknown_power_and_the_missing_figure_is_named() {
    let error = fixed(Threshold::After(1)).build(4, &drive(false)).err().unwrap().to_string();
    assert!(error.contains("fixed") && error.contains("`d`") && error.contains("spin_down"), "{error}");
    assert!(PolicyConfig::Never.build(4, &drive(false)).is_ok());
    assert!(fixed(Threshold::BreakEven).build(4, &drive(true)).is_ok());
}

#[test]
fn values_that_make_no_sense_are_refused_by_their_key() {
    let refused = |config: PolicyConfig, key: &str| {
        let error = config.build(4, &drive(true)).err().unwrap().to_string();
        assert!(error.contains(key), "{key}: {error}");
    };
    refused(fixed(Threshold::After(-1)), "threshold_ns");
    refused(
        PolicyConfig::Share { experts: 1, most_ns: None, eta: 4.0, alpha: 0.08, to: Rest::Standby, ration: None },
        "experts",
    );
    refused(
        PolicyConfig::Gears {
            up_threshold: 0.8,
            hysteresis: 0.8,
            hold_ns: Threshold::BreakEven,
            tick_ns: 1,
            windows_ns: [1, 2, 3],
            ration: None,
        },
        "hysteresis",
    );
    let ration = Some(Ration { cycles: 20_000.0, years: 0.0 });
    refused(PolicyConfig::Randomised { to: Rest::Standby, seed: 0, ration }, "ration");
}

#[test]
fn a_policy_in_python_is_its_callers_to_make() {
    let python = PolicyConfig::Python {
        file: "my_policy.py".into(),
        class: "Mine".into(),
        arguments: BTreeMap::new(),
        window_ns: None,
        ration: None,
    };
    assert!(matches!(python.build(1, &drive(true)), Err(PolicyError::Python { .. })));
}

#[test]
fn a_policy_is_read_from_a_table_and_unknown_keys_are_refused() {
    let read = |text: &str| toml::from_str::<PolicyConfig>(text).map_err(|e| e.to_string());
    assert_eq!(read("kind = \"fixed\"").unwrap(), fixed(Threshold::BreakEven));
    assert_eq!(read("kind = \"fixed\"\nthreshold_ns = \"break_even\"").unwrap(), fixed(Threshold::BreakEven));
    let five = fixed(Threshold::After(5_000_000_000));
    assert_eq!(read("kind = \"fixed\"\nthreshold_ns = 5000000000").unwrap(), five);
    assert_eq!(read(&toml::to_string(&five).unwrap()).unwrap(), five);
    for kind in ["never", "randomised", "adaptive", "share", "gears"] {
        let policy = read(&format!("kind = {kind:?}")).unwrap();
        assert_eq!(policy.kind(), kind);
        assert!(policy.build(4, &drive(true)).is_ok());
        assert_eq!(read(&toml::to_string(&policy).unwrap()).unwrap(), policy);
    }
    assert!(read("kind = \"fixed\"\nthreshold = 5").unwrap_err().contains("threshold"));
    assert!(read("kind = \"fixed\"\nthreshold_ns = \"soon\"").unwrap_err().contains("break_even"));
    assert!(read("kind = \"fixd\"").unwrap_err().contains("fixed"));
    let python =
        read("kind = \"python\"\nfile = \"p.py\"\nclass = \"P\"\narguments = { s = 5, x = 1.5, on = true }").unwrap();
    assert!(matches!(python, PolicyConfig::Python { arguments, .. } if arguments["x"] == Argument::Real(1.5)));
}
