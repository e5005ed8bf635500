//! The formats of block traces: one file each, one line each in [`TABLE`].

mod alibaba;
mod blkparse;
mod blktrace;
mod disksim;
mod fio;
mod mqsim;
mod msr;
pub(crate) mod plain;
mod recognise;
mod spc;
mod srt;
mod systor;
mod table;
mod tencent;
mod validate;
mod vscsi;

use std::path::Path;

pub(crate) use recognise::{Head, Opened, fit, fits, open_all};

use super::TimeUnit;
use super::fault::Stop;
use super::parse::{Names, Parse};
use super::source::Source;

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
    /// Its devices have names, which get numbers as they appear; else they have numbers of their own.
    pub names_devices: bool,
    /// How well the beginning of a file fits: 1 surely, 0 not at all; for lines the share that fits.
    pub(crate) likeness: fn(&Head<'_>) -> f64,
    pub(crate) open: Open,
}

/// A file as it begins to be read, or why it cannot be.
type Begun = Result<Box<dyn Parse>, Stop>;

/// How files of a format are opened.
pub(crate) enum Open {
    /// Each file by itself.
    Stream(fn(Source, &Setup<'_>) -> Begun),
    /// Files that differ in the number at their end are one input.
    Together(fn(Vec<Source>, &Setup<'_>) -> Begun),
    /// By its own reader, which needs to seek.
    File(fn(&Path) -> Begun),
}

/// What a format is told beside the file.
pub(crate) struct Setup<'a> {
    pub names: &'a Names,
    pub unit: TimeUnit,
}

/// Every format.
pub static TABLE: &[&Format] = &[
    &disksim::FORMAT,
    &validate::FORMAT,
    &srt::FORMAT,
    &spc::FORMAT,
    &msr::FORMAT,
    &systor::FORMAT,
    &tencent::FORMAT,
    &alibaba::FORMAT,
    &vscsi::FORMAT,
    &vscsi::CSV,
    &blkparse::FORMAT,
    &blktrace::FORMAT,
    &fio::FORMAT,
    &mqsim::FORMAT,
    &table::FORMAT,
    &plain::FORMAT,
];

/// The names of all formats, for messages.
pub(crate) fn known() -> String {
    TABLE.iter().map(|f| f.name).collect::<Vec<_>>().join(", ")
}

/// The format of that name.
pub fn named(name: &str) -> Option<&'static Format> {
    TABLE.iter().find(|f| f.name == name).copied()
}
