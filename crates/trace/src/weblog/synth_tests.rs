use std::fs;

use super::super::{InfoOptions, info};
use super::*;

fn write(name: &str, more: serde_json::Value) -> (Synthesised, Vec<u8>, super::super::Info) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = serde_json::json!({"output": folder.path().join(name), "seed": 1, "requests": 20_000});
    options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let stop = AtomicBool::new(false);
    let done = synth(&serde_json::from_value(options).unwrap(), &stop).unwrap();
    let found = info(&InfoOptions { paths: vec![done.output.clone()] }, &stop).unwrap();
    (done.clone(), fs::read(&done.output).unwrap(), found)
}

#[test]
fn a_synthetic_day_is_a_whole_combined_log() {
    let (done, _, found) = write("day.log.gz", serde_json::json!({}));
    assert_eq!((found.requests, found.malformed, found.out_of_order), (20_000, 0, 0));
    assert_eq!(found.formats.get("combined"), Some(&20_000));
    assert_eq!((found.bytes, &found.first, &found.last), (done.bytes, &done.first, &done.last));
    assert!(found.first.starts_with("2026-01-01") && found.last.starts_with("2026-01-01"));
    assert_eq!(found.rate_per_hour.len(), 24);
    let (night, day) = (&found.rate_per_hour[3], &found.rate_per_hour[15]);
    assert!(day.requests > 3 * night.requests, "{day:?} {night:?}");
    assert!(found.static_share > 0.95);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for name in ["day.log", "day.log.gz"] {
        let bytes = write(name, serde_json::json!({})).1;
        assert!(bytes == write(name, serde_json::json!({})).1);
        assert!(bytes != write(name, serde_json::json!({"seed": 2})).1);
    }
}

#[test]
fn senseless_options_are_refused() {
    for more in [r#""requests": 0"#, r#""duration_s": 0"#, r#""swing": 2"#, r#""start": "monday""#] {
        let options = serde_json::from_str(&format!(r#"{{"output": "/dev/null/x", {more}}}"#)).unwrap();
        assert!(matches!(synth(&options, &AtomicBool::new(false)), Err(WeblogError::Option(_))), "{more}");
    }
}
