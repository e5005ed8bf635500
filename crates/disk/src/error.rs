//! Everything that can be wrong with a drive, its file or what is asked of it.

use thiserror::Error;

/// Why a drive cannot be read, built or accounted. Configuration errors name the key, the value, the file and the line.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DiskError {
    #[error("{file}:{line}: {why}")]
    Toml { file: String, line: usize, why: String },
    #[error("{file}:{line}: {why}")]
    Import { file: String, line: usize, why: String },
    #[error("{file}: {why}")]
    File { file: String, why: String },
    #[error("drive `{drive}`: {key} = {value}: {why}")]
    Value { drive: String, key: String, value: String, why: String },
    #[error("drive `{drive}` cannot be simulated: [{key}] is not set: no source gives it")]
    Missing { drive: String, key: String },
    #[error("drive `{drive}` spent {seconds:.6} s in state `{state}`, but power.{key} is not set: no source gives it")]
    NoPower { drive: String, state: &'static str, seconds: f64, key: String },
    #[error("drive `{drive}`: power.{key} is not set: no source gives it")]
    NoFigure { drive: String, key: String },
    #[error("no preset `{name}`{}", hint(.near))]
    NoPreset { name: String, near: Vec<String> },
    #[error("drive `{drive}` has no form in TOML: {why}")]
    Unwritable { drive: String, why: String },
}

fn hint(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}

impl DiskError {
    /// The same refusal with the drive it is about, where it is about power and has none yet.
    #[must_use]
    pub fn of_drive(mut self, name: &str) -> Self {
        if let Self::NoPower { drive, .. } | Self::NoFigure { drive, .. } = &mut self
            && drive.is_empty()
        {
            *drive = name.into();
        }
        self
    }

    /// An error of the TOML reader, with the line it points at.
    pub(crate) fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = 1 + text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
        Self::Toml { file: file.into(), line, why: error.message().into() }
    }
}
