//! Facts of the readers of block traces.

mod convert;
mod errors;
mod golden;
mod laws;
mod samples;

use std::path::{Path, PathBuf};

use super::{Notes, Options, Record, TraceError, open};

/// A file of the reference data; where that folder is absent the test is left out, unless all is required.
pub(crate) fn reference(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("IOJOULE_REQUIRE_ALL").is_none_or(|v| v != "1"), "{} is missing", path.display());
    None
}

/// All requests of a trace and what was learnt of it.
pub(crate) fn read_with(path: &Path, options: &Options) -> Result<(Vec<Record>, Notes), TraceError> {
    let mut reader = open(&[path.to_owned()], options)?;
    let records = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
    Ok((records, reader.notes()))
}

pub(crate) fn read(path: &Path) -> (Vec<Record>, Notes) {
    read_with(path, &Options::default()).unwrap()
}

/// The same of contents under a file name.
pub(crate) fn read_text(name: &str, contents: &[u8], options: &Options) -> Result<(Vec<Record>, Notes), TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, contents).unwrap();
    read_with(&path, options)
}
