//! Drives in TOML: what is wrong with a file is said with the file, the line or the key, and the value.

#![allow(clippy::unwrap_used)]

use iojoule_disk::DriveSpec;

const GOOD: &str = r#"
name = "small"
[disk]
surfaces = 2
cylinders = 100
sectors = 10000
rpm = 6000.0
head_switch_ms = 0.5
seek = { table = [[1, 1.0], [99, 5.0]] }
[[disk.zones]]
first_cylinder = 0
last_cylinder = 99
sectors_per_track = 50
"#;

fn refusal(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    DriveSpec::from_toml_named(&GOOD.replacen(from, to, 1), "d.toml").unwrap_err().to_string()
}

#[test]
fn a_small_disk_needs_few_keys() {
    let spec = DriveSpec::from_toml(GOOD).unwrap();
    assert_eq!(spec.hard_disk().unwrap().queue_length, 1);
    assert_eq!(DriveSpec::from_toml(&spec.to_toml().unwrap()).unwrap(), spec);
}

#[test]
fn unknown_and_missing_keys_are_refused() {
    let error = refusal("rpm =", "rmp =");
    assert!(error.starts_with("d.toml:7: unknown field `rmp`"), "{error}");
    let error = refusal("surfaces = 2\n", "");
    assert!(error.starts_with("d.toml:") && error.contains("missing field `surfaces`"), "{error}");
    let error = refusal("name = \"small\"", "name = \"small\"\ncolour = 1");
    assert!(error.contains("unknown field `colour`"), "{error}");
    let error = refusal("[disk]", "[datasheet]\nmedium = \"tape\"\n[disk]");
    assert!(error.contains("drive `small` needs exactly one of [disk], [flash], [datasheet]"), "{error}");
}

#[test]
fn figures_that_cannot_be_are_refused_by_key_and_value() {
    for (from, to, said) in [
        ("head_switch_ms = 0.5", "head_switch_ms = -0.5", "disk.head_switch_ms = -0.5: must be from 0"),
        ("head_switch_ms = 0.5", "head_switch_ms = nan", "disk.head_switch_ms = NaN: must be from 0"),
        ("[[1, 1.0], [99, 5.0]]", "[[9, 1.0], [9, 5.0]]", "disk.seek = (9, 1.0) …: distances rise"),
        ("[[1, 1.0], [99, 5.0]]", "[[1, 1.0]]", "disk.seek = 1 points: a table has at least two"),
        ("[[1, 1.0], [99, 5.0]]", "[[1, 1.0], [99, -5.0]]", "disk.seek = -5: a seek takes from 0"),
        ("track = 50", "track = 50\ntrack_skew = 51.0", "disk.zones[0].track_skew = 51: must be from 0"),
        ("name = \"small\"", "name = \"small\"\npower = { idle_w = -3.0 }", "power.idle_w = -3: a power is"),
        ("name = \"small\"", "name = \"small\"\npower.spin_up = { time_s = 0.0 }", "power.spin_up.time_s = 0: a time"),
    ] {
        let error = refusal(from, to);
        assert!(error.contains(said), "{error}");
    }
}
