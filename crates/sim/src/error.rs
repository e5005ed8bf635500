//! What can go wrong in a simulation, sorted by who can help.

use std::path::Path;

use iojoule_trace::Kind as TraceKind;

/// Who can help with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The author of the design, the trace or the command.
    Config,
    /// The administrator: a file cannot be read.
    Host,
    /// The output could not be written.
    Output,
    /// It was interrupted.
    Interrupted,
    /// A fault of ours.
    Internal,
}

/// What can go wrong with a simulation.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("{0}")]
    Config(String),
    #[error("request {number} of the trace: {reason}")]
    Request { number: u64, reason: String },
    #[error("cannot write {path}: {reason}")]
    Output { path: String, reason: String },
    #[error(transparent)]
    Trace(#[from] iojoule_trace::block::TraceError),
    #[error(transparent)]
    Record(#[from] iojoule_record::RecordError),
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Internal(String),
}

impl SimError {
    /// Who can help.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Config(_) | Self::Request { .. } => Kind::Config,
            Self::Trace(error) => match error.kind() {
                TraceKind::Config => Kind::Config,
                TraceKind::Host => Kind::Host,
                TraceKind::Interrupted => Kind::Interrupted,
            },
            Self::Output { .. } | Self::Record(_) => Kind::Output,
            Self::Interrupted => Kind::Interrupted,
            Self::Internal(_) => Kind::Internal,
        }
    }

    /// What another crate says of a configuration.
    pub(crate) fn config(error: impl std::fmt::Display) -> Self {
        Self::Config(error.to_string())
    }

    pub(crate) fn output(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self::Output { path: path.display().to_string(), reason: reason.to_string() }
    }
}
