//! Files that nobody sees half of: written under a temporary name and moved to their own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file in the making; gone when dropped before [`Staged::publish`].
pub(crate) struct Staged {
    pub temporary: PathBuf,
    pub target: PathBuf,
}

impl Staged {
    pub fn new(target: &Path) -> Self {
        let mut temporary = target.as_os_str().to_owned();
        temporary.push(format!(".{}.part", std::process::id()));
        Self { temporary: temporary.into(), target: target.to_owned() }
    }

    /// Moves the file to its name; `failed` makes the error of the target and the reason.
    pub fn publish<E>(self, failed: fn(&Path, io::Error) -> E) -> Result<(), E> {
        fs::rename(&self.temporary, &self.target).map_err(|e| failed(&self.target, e))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let mut footer = self.temporary.as_os_str().to_owned();
        footer.push(".footer");
        // Both are gone already where all went well.
        let _ = fs::remove_file(&self.temporary);
        let _ = fs::remove_file(footer);
    }
}
