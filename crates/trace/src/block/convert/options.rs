//! What is asked of a conversion.

use std::path::PathBuf;

use serde::Deserialize;

use super::super::Options;
use super::fit::Fit;
use super::select::Select;
use super::thin::Thin;
use super::to::To;

/// From which traces to which file, and what happens to requests on the way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvertOptions {
    pub paths: Vec<PathBuf>,
    pub output: PathBuf,
    #[serde(default)]
    pub force: bool,
    /// The format written; told from the end of `output`'s name where it is absent.
    #[serde(default)]
    pub to: Option<To>,
    #[serde(default)]
    pub read: Options,
    #[serde(default)]
    pub select: Select,
    /// All devices behind one another as device 0, in order of their numbers.
    #[serde(default)]
    pub concatenate: bool,
    /// Every time is multiplied by this: 0.5 lets the trace run twice as fast.
    #[serde(default)]
    pub time_scale: Option<f64>,
    #[serde(default)]
    pub thin: Option<Thin>,
    #[serde(default)]
    pub fit: Option<Fit>,
}
