//! What can go wrong with a web log, sorted by who can help.

use std::io;
use std::path::{Path, PathBuf};

use iojoule_record::RecordError;

use crate::Kind;

/// Why a web log cannot be read, or its table not written.
#[derive(Debug, thiserror::Error)]
pub enum WeblogError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{files}: no lines; an access log has at least one")]
    Empty { files: String },
    #[error("{files}: not a web log: {lines} lines looked at, none is in Common or Combined Log Format{detail}")]
    AllBroken { files: String, lines: u64, detail: String },
    #[error("{path}: damaged after line {line}, at byte {offset} of the {compression} contents: {reason}")]
    Damaged { path: PathBuf, compression: &'static str, line: u64, offset: u64, reason: String },
    #[error("{path} exists; it is overwritten only with force (--force)")]
    Exists { path: PathBuf },
    #[error("{0}")]
    Option(String),
    #[error("nothing left to replay: {parsed} lines parsed, all left out ({reasons})")]
    NothingLeft { parsed: u64, reasons: String },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("stopped")]
    Stopped,
}

impl WeblogError {
    /// Who can help.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Kind::Config,
            Self::Io { .. } | Self::Record(_) => Kind::Host,
            Self::Empty { .. } | Self::AllBroken { .. } | Self::Damaged { .. } | Self::NothingLeft { .. } => {
                Kind::Config
            }
            Self::Exists { .. } | Self::Option(_) => Kind::Config,
            Self::Stopped => Kind::Interrupted,
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
