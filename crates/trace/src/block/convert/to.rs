//! The formats a conversion writes, by name or by the name of the file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::TraceError;

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum To {
    /// The canonical table.
    Parquet,
    /// DiskSim's ASCII trace.
    Disksim,
    /// fio's I/O log, version 3.
    Fio,
    /// The columns of the canonical table as text.
    Csv,
}

impl To {
    pub(crate) fn choose(asked: Option<Self>, output: &Path) -> Result<Self, TraceError> {
        if let Some(to) = asked {
            return Ok(to);
        }
        let end = output.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default();
        match end.as_str() {
            "parquet" => Ok(Self::Parquet),
            "disksim" | "trace" | "ascii" => Ok(Self::Disksim),
            "iolog" | "fio" => Ok(Self::Fio),
            "csv" => Ok(Self::Csv),
            _ => Err(TraceError::Option(format!(
                "{}: the name does not tell the format; say which (--to): parquet, disksim, fio, csv",
                output.display()
            ))),
        }
    }
}
