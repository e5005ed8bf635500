//! Where included files come from: the disk, or a test's memory.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// A source of files by path.
pub trait Files {
    /// The whole text of a file.
    ///
    /// # Errors
    /// `NotFound` where there is no such file: the search goes on elsewhere.
    fn read(&self, path: &Path) -> Result<String, Error>;
}

/// The files of this computer.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalFiles;

/// Longer than any drive's file by a factor of a hundred; keeps a device file from being read for ever.
const LONGEST: u64 = 16 << 20;

impl Files for LocalFiles {
    fn read(&self, path: &Path) -> Result<String, Error> {
        let file = std::fs::File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(Error::new(ErrorKind::NotFound, "not a file"));
        }
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LONGEST {
            return Err(Error::new(ErrorKind::InvalidData, "longer than 16 MiB"));
        }
        // What is not UTF-8 is Latin-1: names in comments of the nineties.
        Ok(String::from_utf8(bytes).unwrap_or_else(|bad| bad.as_bytes().iter().map(|byte| char::from(*byte)).collect()))
    }
}

/// Files by name, nothing else within reach.
impl Files for BTreeMap<PathBuf, String> {
    fn read(&self, path: &Path) -> Result<String, Error> {
        self.get(&plain(path)).cloned().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

/// The path without `.` and, where a folder stands before it, `..`.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
