//! What can go wrong with a block trace, sorted by who can help.

use std::io;
use std::path::{Path, PathBuf};

use iojoule_record::RecordError;

use crate::Kind;

/// Why a trace cannot be read, or its copy not written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: empty; a trace has at least one request")]
    Empty { path: PathBuf },
    #[error("{path}: not recognised as a block trace; name the format (--format): {known}")]
    Unknown { path: PathBuf, known: String },
    #[error("{path}: may be any of {candidates}; say which (--format)")]
    Ambiguous { path: PathBuf, candidates: String },
    /// `place` is a line or a byte offset; `reason` says what is wrong and what to do.
    #[error("{path}: {place}: {reason}")]
    Bad { path: PathBuf, place: String, reason: String },
    #[error(
        "{path}: {place}: {back_s:.6} s before a request that left already: out of order by more than {window} \
         requests; sort the trace first (--sort)"
    )]
    Disorder { path: PathBuf, place: String, back_s: f64, window: usize },
    #[error("{path} exists; it is overwritten only with force (--force)")]
    Exists { path: PathBuf },
    #[error("{0}")]
    Option(String),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("stopped")]
    Stopped,
}

impl TraceError {
    /// Who can help.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Kind::Config,
            Self::Io { .. } | Self::Record(_) => Kind::Host,
            Self::Stopped => Kind::Interrupted,
            _ => Kind::Config,
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
