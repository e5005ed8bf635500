//! What can go wrong while recording.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot write {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot write table {path}: {source}")]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    #[error("cannot write {path}: the rows have other columns than the table")]
    OtherColumns { path: PathBuf },
    #[error("cannot write histogram {path}: {reason}")]
    Histogram { path: PathBuf, reason: String },
    #[error("{path} has no usable footer and no row group to recover")]
    NotRecoverable { path: PathBuf },
    #[error("the writer thread ended early")]
    WriterGone,
}

impl RecordError {
    pub(crate) fn io(path: &std::path::Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn parquet(path: &std::path::Path, source: parquet::errors::ParquetError) -> Self {
        Self::Parquet { path: path.to_owned(), source }
    }
}
