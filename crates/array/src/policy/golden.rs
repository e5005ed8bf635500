//! Golden vectors from the reference data, and the drive they are for.

use std::collections::HashMap;
use std::path::PathBuf;

use iojoule_disk::power::Standby;
use iojoule_units::{Joules, Nanos, Watts};

/// The IBM Ultrastar 36Z15 of `000_drive_36z15.csv`, with the rounded energies its vectors use.
pub fn ultrastar() -> Standby {
    Standby {
        idle: Watts(10.2),
        standby: Watts(2.5),
        spin_down: Nanos::from_secs_f64(1.5),
        spin_up: Nanos::from_secs_f64(10.9),
        transitions: Joules(13.0 + 135.0),
    }
}

pub struct Row(HashMap<String, String>);

impl Row {
    pub fn text(&self, column: &str) -> &str {
        &self.0[column]
    }

    /// `None` where the cell is empty.
    pub fn maybe(&self, column: &str) -> Option<f64> {
        let text = self.text(column);
        (!text.is_empty()).then(|| text.parse().unwrap())
    }

    pub fn number(&self, column: &str) -> f64 {
        self.maybe(column).unwrap()
    }

    pub fn seconds(&self, column: &str) -> Nanos {
        Nanos::from_secs_f64(self.number(column))
    }

    /// A threshold; `None` for `never`.
    pub fn threshold(&self) -> Option<Nanos> {
        (self.text("timeout_s") != "never").then(|| self.seconds("timeout_s"))
    }
}

/// The rows of a golden table without quoted cells; none where the reference data are not there and need not be.
pub fn table(name: &str) -> Vec<Row> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        assert_ne!(std::env::var("IOJOULE_REQUIRE_ALL").as_deref(), Ok("1"), "{} is missing", path.display());
        return Vec::new();
    };
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert!(cells.len() >= header.len());
        Row(header.iter().zip(cells).map(|(column, cell)| ((*column).to_owned(), cell.to_owned())).collect())
    };
    lines.map(row).collect()
}
