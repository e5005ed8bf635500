//! What is asked of [`prepare`](mod@super::prepare).

use std::path::PathBuf;

use serde::Deserialize;

use super::names::Names;
use super::select::Keep;

/// Which logs become which table, and what of them stays.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrepareOptions {
    pub paths: Vec<PathBuf>,
    /// The replay table, `x.parquet` or `x.replay.parquet`; the objects table beside it is `x.objects.parquet`.
    pub output: PathBuf,
    #[serde(default)]
    pub force: bool,
    #[serde(default)]
    pub keep: Keep,
    /// Statuses to keep; without it, `static` keeps 200, 206 and 304, the others keep all.
    #[serde(default)]
    pub statuses: Option<Vec<u16>>,
    /// First instant kept, and first one no longer kept; see [`Span::new`](super::select::Span::new).
    #[serde(default)]
    pub since: Option<String>,
    #[serde(default)]
    pub until: Option<String>,
    #[serde(default)]
    pub hours: Option<Vec<u8>>,
    /// Cut rules; see [`Rules::new`](super::rules::Rules::new).
    #[serde(default)]
    pub cut: Vec<String>,
    #[serde(default)]
    pub names: Names,
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Spread requests inside the second their stamp names.
    #[serde(default = "yes")]
    pub spread: bool,
    #[serde(default)]
    pub seed: u64,
    /// Take what can be read of damaged compressed files.
    #[serde(default)]
    pub allow_damaged: bool,
}

fn yes() -> bool {
    true
}
