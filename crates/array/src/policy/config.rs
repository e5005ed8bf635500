//! A policy as a configuration names it. Times that are left out follow from the drive's break-even.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Rest;

/// A policy by its name, `kind`, with its keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PolicyConfig {
    /// Drives always spin.
    #[default]
    Never,
    /// A drive rests after it has been idle for the threshold.
    Fixed {
        #[serde(default)]
        threshold_ns: Threshold,
        #[serde(default)]
        to: Rest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ration: Option<Ration>,
    },
    /// The threshold is drawn for each idle period, at most the break-even.
    Randomised {
        #[serde(default)]
        to: Rest,
        #[serde(default)]
        seed: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ration: Option<Ration>,
    },
    /// The threshold grows by `up` after a spin-down that did not pay and shrinks by `down` after one that did.
    Adaptive {
        #[serde(default)]
        first_ns: Threshold,
        /// An eighth of the break-even unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        least_ns: Option<i64>,
        /// Eight times the break-even unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most_ns: Option<i64>,
        #[serde(default = "defaults::up")]
        up: f64,
        #[serde(default = "defaults::down")]
        down: f64,
        #[serde(default)]
        to: Rest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ration: Option<Ration>,
    },
    /// The threshold is the mean of `experts` thresholds from 0 to `most_ns` (twice the break-even unless given).
    Share {
        #[serde(default = "defaults::experts")]
        experts: u16,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most_ns: Option<i64>,
        #[serde(default = "defaults::eta")]
        eta: f64,
        #[serde(default = "defaults::alpha")]
        alpha: f64,
        #[serde(default)]
        to: Rest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ration: Option<Ration>,
    },
    /// PARAID's controller: shifts gears by how busy the drives are.
    Gears {
        #[serde(default = "defaults::up_threshold")]
        up_threshold: f64,
        #[serde(default = "defaults::hysteresis")]
        hysteresis: f64,
        /// No shift down for this long after one up.
        #[serde(default)]
        hold_ns: Threshold,
        /// Utilisation is sampled this often.
        #[serde(default = "defaults::tick_ns")]
        tick_ns: i64,
        /// Short, medium and long window.
        #[serde(default = "defaults::windows_ns")]
        windows_ns: [i64; 3],
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ration: Option<Ration>,
    },
    /// A class in a Python file. Whoever runs the array makes the policy; this crate does not.
    Python {
        file: PathBuf,
        class: String,
        /// Given to the class by name.
        #[serde(default)]
        arguments: BTreeMap<String, Argument>,
        /// How often `window` is called; never unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window_ns: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ration: Option<Ration>,
    },
}

/// A time in nanoseconds, or the break-even of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a time in ns, or \"break_even\"")]
pub enum Threshold {
    After(i64),
    #[default]
    #[serde(with = "break_even")]
    BreakEven,
}

/// `"break_even"` where the variants around it have no names.
mod break_even {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Name {
        BreakEven,
    }

    pub fn serialize<S: Serializer>(to: S) -> Result<S::Ok, S::Error> {
        Name::BreakEven.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
        Name::deserialize(from).map(|_| ())
    }
}

/// Starts a drive is rated for, over the years it is to live.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ration {
    pub cycles: f64,
    pub years: f64,
}

/// An argument of a class in Python.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    Flag(bool),
    Whole(i64),
    Real(f64),
    Text(String),
}

mod defaults {
    pub fn up() -> f64 {
        2.0
    }
    pub fn down() -> f64 {
        0.5
    }
    pub fn experts() -> u16 {
        33
    }
    pub fn eta() -> f64 {
        4.0
    }
    pub fn alpha() -> f64 {
        0.08
    }
    pub fn up_threshold() -> f64 {
        0.8
    }
    pub fn hysteresis() -> f64 {
        0.1
    }
    pub fn tick_ns() -> i64 {
        1_000_000_000
    }
    pub fn windows_ns() -> [i64; 3] {
        [10_000_000_000, 60_000_000_000, 300_000_000_000]
    }
}

impl PolicyConfig {
    /// The name in configurations.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Fixed { .. } => "fixed",
            Self::Randomised { .. } => "randomised",
            Self::Adaptive { .. } => "adaptive",
            Self::Share { .. } => "share",
            Self::Gears { .. } => "gears",
            Self::Python { .. } => "python",
        }
    }
}
