//! The formats of block traces: one file each, one line each in [`TABLE`].

mod disksim;
mod mqsim;
mod recognise;

pub(crate) use recognise::{Head, fit, fits, open_all};

use super::fault::Stop;
use super::parse::{Names, Parse};
use super::source::Source;
use super::{Options, TimeUnit};

/// One format.
pub struct Format {
    /// What `--format` calls it.
    pub name: &'static str,
    pub title: &'static str,
    /// Ends of file names that decide between formats that look the same.
    pub extensions: &'static [&'static str],
    /// The unit of its times.
    pub unit: TimeUnit,
    /// Whether the format's definition (or the file) fixes the unit; where not, an unlikely rate is warned of.
    pub unit_stated: bool,
    /// How well the beginning of a file fits: 1 surely, 0 not at all; for lines the share that fits.
    pub(crate) likeness: fn(&Head<'_>) -> f64,
    pub(crate) open: Open,
}

/// How files of a format are opened.
pub(crate) enum Open {
    /// Each file by itself.
    Stream(fn(Source, &Setup<'_>) -> Result<Box<dyn Parse>, Stop>),
}

/// What a format is told beside the file.
pub(crate) struct Setup<'a> {
    pub options: &'a Options,
    pub names: &'a Names,
    pub unit: TimeUnit,
}

/// Every format.
pub static TABLE: &[&Format] = &[&disksim::FORMAT, &mqsim::FORMAT];

/// The names of all formats, for messages.
pub(crate) fn known() -> String {
    TABLE.iter().map(|f| f.name).collect::<Vec<_>>().join(", ")
}

/// The format of that name.
pub fn named(name: &str) -> Option<&'static Format> {
    TABLE.iter().find(|f| f.name == name).copied()
}
