//! What a drive is, as written down: mechanics or flash, and power figures. A specification is plain data with units in
//! its names; [`crate::Model`] compiles it.
//!
//! 1. [`HardDiskSpec`]: platters, zones, seek curve ([`Zone`], [`Seek`]), buffer ([`CacheSpec`]), command overheads
//!    ([`OverheadSpec`]) and bus ([`BusSpec`]).
//! 2. [`FlashSpec`]: channels, pages, blocks.
//! 3. [`Datasheet`]: a drive of which only data-sheet figures are known. Its power can be computed; it cannot be simulated.

mod buffer;
mod check;
mod flash;
mod hard_disk;
mod wrap;
mod zone;

use std::collections::BTreeMap;

use iojoule_units::Joules;
use serde::{Deserialize, Serialize};

pub use buffer::{BusSpec, CacheSpec, Caching, FastWrite, OverheadSpec, Prefetch};
pub use flash::FlashSpec;
pub use hard_disk::{HardDiskSpec, RuemmlerWilkes, Seek};
pub use zone::{Mapping, Remap, Sparing, Zone};

use crate::DiskError;
use crate::power::{Ledger, PowerSpec};

/// One kind of drive. As TOML: `name`, a table `[source]`, one of `[disk]`, `[flash]` or `[datasheet]`, and `[power]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "DriveFile", into = "DriveFile")]
pub struct DriveSpec {
    pub name: String,
    /// Where the figures come from: a key or group of keys, and its source in one line.
    pub source: BTreeMap<String, String>,
    pub kind: DriveKind,
    pub power: PowerSpec,
}

/// What is known of the drive's inside.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveKind {
    HardDisk(Box<HardDiskSpec>),
    Flash(FlashSpec),
    Datasheet(Datasheet),
}

/// Figures that say nothing of where sectors are and how long they take to reach: not enough to simulate the drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datasheet {
    /// What it is made of: "hard disk", "SLC flash", "MLC flash".
    pub medium: String,
    /// Capacity as sold, in units of 10^9 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_gb: Option<f64>,
    /// Revolutions per minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpm: Option<f64>,
    /// Sequential read rate, in 10^6 bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_mb_per_s: Option<f64>,
    /// Sequential write rate, in 10^6 bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_mb_per_s: Option<f64>,
    /// Mean time of a random access, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_ms: Option<f64>,
}

impl DriveSpec {
    /// Reads a specification in TOML. `file` names it in errors.
    ///
    /// # Errors
    /// [`DiskError::Toml`] with file, line and key where the text is not a specification; [`DiskError::Value`] where a
    /// figure cannot be.
    pub fn from_toml_named(text: &str, file: &str) -> Result<Self, DiskError> {
        let spec: Self = toml::from_str(text).map_err(|error| DiskError::toml(file, text, &error))?;
        spec.check()?;
        Ok(spec)
    }

    /// Reads a specification in TOML.
    ///
    /// # Errors
    /// As [`DriveSpec::from_toml_named`].
    pub fn from_toml(text: &str) -> Result<Self, DiskError> {
        Self::from_toml_named(text, "drive")
    }

    /// The specification as TOML, which [`DriveSpec::from_toml`] reads back as the same.
    ///
    /// # Errors
    /// [`DiskError::Unwritable`] where a number has no form in TOML.
    pub fn to_toml(&self) -> Result<String, DiskError> {
        let text = toml::to_string(self)
            .map_err(|error| DiskError::Unwritable { drive: self.name.clone(), why: error.to_string() })?;
        Ok(wrap::wrapped(&text))
    }

    /// The hard disk's specification.
    ///
    /// # Errors
    /// [`DiskError::Missing`] where it is not a hard disk or its mechanics are not known.
    pub fn hard_disk(&self) -> Result<&HardDiskSpec, DiskError> {
        match &self.kind {
            DriveKind::HardDisk(disk) => Ok(disk),
            _ => Err(self.missing("disk")),
        }
    }

    /// Σ power × dwell of a drive of this kind.
    ///
    /// # Errors
    /// [`DiskError::NoPower`] where time was spent in a state whose power is not set.
    pub fn energy(&self, ledger: &Ledger) -> Result<Joules, DiskError> {
        ledger.energy(&self.power).map_err(|error| error.of_drive(&self.name))
    }

    /// The refusal to simulate this drive for want of `key`.
    pub(crate) fn missing(&self, key: &str) -> DiskError {
        DiskError::Missing { drive: self.name.clone(), key: key.into() }
    }
}

/// [`DriveSpec`] as it stands in a file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DriveFile {
    name: String,
    #[serde(default)]
    source: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disk: Option<Box<HardDiskSpec>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flash: Option<FlashSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    datasheet: Option<Datasheet>,
    #[serde(default)]
    power: PowerSpec,
}

impl TryFrom<DriveFile> for DriveSpec {
    type Error = String;

    fn try_from(file: DriveFile) -> Result<Self, String> {
        let kind = match (file.disk, file.flash, file.datasheet) {
            (Some(disk), None, None) => DriveKind::HardDisk(disk),
            (None, Some(flash), None) => DriveKind::Flash(flash),
            (None, None, Some(sheet)) => DriveKind::Datasheet(sheet),
            _ => return Err(format!("drive `{}` needs exactly one of [disk], [flash], [datasheet]", file.name)),
        };
        Ok(Self { name: file.name, source: file.source, kind, power: file.power })
    }
}

impl From<DriveSpec> for DriveFile {
    fn from(spec: DriveSpec) -> Self {
        let (mut disk, mut flash, mut datasheet) = (None, None, None);
        match spec.kind {
            DriveKind::HardDisk(d) => disk = Some(d),
            DriveKind::Flash(f) => flash = Some(f),
            DriveKind::Datasheet(s) => datasheet = Some(s),
        }
        Self { name: spec.name, source: spec.source, disk, flash, datasheet, power: spec.power }
    }
}
