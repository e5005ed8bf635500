//! The way in: files or contents of any format, as one [`Reader`].

use std::path::{Path, PathBuf};

use super::format;
use super::parse::Names;
use super::reader::{Merged, Reader};
use super::sorted::Sorted;
use super::source::Source;
use super::{Options, TraceError};

/// Opens traces of any known format, plain or compressed, as one stream: requests of several inputs are merged by
/// time. The files of one blktrace run (`x.blktrace.0`, `x.blktrace.1`, …) are one input.
pub fn open(paths: &[PathBuf], options: &Options) -> Result<Box<dyn Reader>, TraceError> {
    let sources = paths.iter().map(|path| Source::open(path, options)).collect::<Result<Vec<_>, _>>()?;
    open_sources(sources, options)
}

/// [`open`] of contents in memory; `name` stands for the path. The canonical table is read from files only.
pub fn open_bytes(name: &str, contents: Vec<u8>, options: &Options) -> Result<Box<dyn Reader>, TraceError> {
    open_sources(vec![Source::of_bytes(Path::new(name), contents)?], options)
}

fn open_sources(sources: Vec<Source>, options: &Options) -> Result<Box<dyn Reader>, TraceError> {
    if sources.is_empty() {
        return Err(TraceError::Option("no trace named".into()));
    }
    if options.sort && options.align_starts {
        return Err(TraceError::Option("--sort and --align-starts do not go together: sort each trace first".into()));
    }
    let names = Names::default();
    let opened = format::open_all(sources, options, &names)?;
    if opened.iter().any(|input| !input.format.names_devices) {
        names.keep_apart();
    }
    let merged = Merged::new(opened, names, options)?;
    match options.sort {
        true => Ok(Box::new(Sorted::new(merged, options)?)),
        false => Ok(Box::new(merged)),
    }
}
