//! The reference data beside the project, for tests. Where the folder is absent a test ends early, unless
//! `IOJOULE_REQUIRE_ALL` is 1.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A path below the reference data; `None` where they are absent.
pub fn reference_data(path: &str) -> Option<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    if root.is_dir() {
        return Some(root.join(path));
    }
    assert_ne!(std::env::var("IOJOULE_REQUIRE_ALL").as_deref(), Ok("1"), "the reference data are absent");
    None
}

/// Rows of a golden table, by column name.
pub fn golden(name: &str) -> Option<Vec<BTreeMap<String, String>>> {
    let text = std::fs::read_to_string(reference_data("golden")?.join(name)).unwrap();
    let mut lines = text.lines().filter(|line| !line.is_empty()).map(cells);
    let head = lines.next().unwrap();
    Some(lines.map(|row| head.iter().cloned().zip(row).collect()).collect())
}

/// A column as numbers.
pub fn column(rows: &[BTreeMap<String, String>], name: &str) -> Vec<f64> {
    rows.iter().map(|row| row[name].parse().unwrap()).collect()
}

/// The cells of a line of CSV; commas may stand between double quotes.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}
