//! What can go wrong before and beside the load; a request that fails is a record, not an error.

use std::io;
use std::path::PathBuf;

use iojoule_record::RecordError;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A value nobody can run with; the author of the configuration can help.
    #[error("{key}: {reason}")]
    Config { key: &'static str, reason: String },
    /// Something the machine does not give; the administrator can help.
    #[error("{what}: {remedy}")]
    Host { what: String, remedy: String },
    #[error("cannot read {path}: {reason}")]
    Table { path: PathBuf, reason: String },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{doing}: {source}")]
    System { doing: &'static str, source: io::Error },
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl LoadError {
    pub(crate) fn config(key: &'static str, reason: impl Into<String>) -> Self {
        Self::Config { key, reason: reason.into() }
    }

    pub(crate) fn table(path: &std::path::Path, reason: impl ToString) -> Self {
        Self::Table { path: path.to_owned(), reason: reason.to_string() }
    }

    pub(crate) fn file(path: &std::path::Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    /// The last error of the operating system, met while `doing`.
    pub(crate) fn system(doing: &'static str) -> Self {
        Self::System { doing, source: io::Error::last_os_error() }
    }
}
