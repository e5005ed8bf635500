//! A content tree has every object at its size, with bytes that depend on the seed alone, and nothing outside.
#![allow(clippy::unwrap_used)]

mod stage;

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use iojoule_load::{ContentSummary, LoadError, Noise, build_content};
use stage::objects;

static GO: AtomicBool = AtomicBool::new(false);

fn build(folder: &Path, files: &[(&str, u64)], seed: u64) -> Result<ContentSummary, LoadError> {
    let table = folder.join("t.objects.parquet");
    let _ = fs::remove_file(&table);
    objects(&table, files);
    build_content(&table, &folder.join("tree"), seed, &GO)
}

#[test]
fn every_object_is_a_file_of_its_size_and_the_same_seed_gives_the_same_bytes() {
    let files = [("index.html", 1), ("a/b.gif", 8700), ("a/c.mpg", 3_000_001), ("empty", 0)];
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let summary = build(one.path(), &files, 7).unwrap();
    assert_eq!((summary.files, summary.kept, summary.bytes), (4, 0, 3_008_702));
    build(two.path(), &files, 7).unwrap();
    for (file, size) in files {
        let bytes = fs::read(one.path().join("tree").join(file)).unwrap();
        assert_eq!(bytes.len() as u64, size);
        assert_eq!(bytes, fs::read(two.path().join("tree").join(file)).unwrap());
    }
    fs::remove_dir_all(two.path().join("tree")).unwrap();
    build(two.path(), &files, 8).unwrap();
    let big = |folder: &Path| fs::read(folder.join("tree/a/c.mpg")).unwrap();
    assert_ne!(big(one.path()), big(two.path()));
    assert_eq!(fs::read_dir(one.path().join("tree")).unwrap().count(), 3);
}

#[test]
fn a_second_call_keeps_what_is_whole_and_mends_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("a", 100), ("b", 200)];
    build(folder.path(), &files, 1).unwrap();
    fs::write(folder.path().join("tree/b"), "torn").unwrap();
    let summary = build(folder.path(), &files, 1).unwrap();
    assert_eq!((summary.files, summary.kept, summary.bytes), (2, 1, 200));
}

#[test]
fn names_that_lead_out_of_the_root_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for bad in ["../x", "/etc/x", "a/../../x", ""] {
        assert!(matches!(build(folder.path(), &[(bad, 1)], 1), Err(LoadError::Config { .. })), "{bad:?}");
    }
    std::os::unix::fs::symlink(folder.path(), folder.path().join("tree/link")).unwrap();
    assert!(build(folder.path(), &[("link/x", 1)], 1).is_err());
    assert!(!folder.path().join("x").exists());
}

#[test]
fn a_file_where_a_folder_must_be_is_counted_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let long = "n".repeat(300);
    let summary = build(folder.path(), &[("a", 1), ("a/b", 1), ("c/d", 1), ("c", 1), (&long, 1), ("e", 1)], 1).unwrap();
    assert_eq!((summary.files, summary.unplaceable), (3, 3));
    assert_eq!(summary.unplaceable_files, ["a/b", "c", &long]);
}

#[test]
fn a_stopped_call_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.objects.parquet");
    objects(&table, &[("a", 1000)]);
    let summary = build_content(&table, &folder.path().join("tree"), 1, &AtomicBool::new(true)).unwrap();
    assert!(summary.stopped);
    assert_eq!(fs::read_dir(folder.path().join("tree")).unwrap().count(), 0);
}

#[test]
fn noise_is_as_long_as_asked_and_uses_all_byte_values() {
    let mut block = vec![0; 1_000_003];
    Noise::new(1, 2).fill(&mut block);
    let mut counts = [0u32; 256];
    block.iter().for_each(|b| counts[usize::from(*b)] += 1);
    // 3906 expected of each; 8 standard deviations on either side.
    assert!(counts.iter().all(|n| (3400..4400).contains(n)));
}
