//! What is wrong with the description of an array.

use iojoule_disk::DiskError;
use thiserror::Error;

use crate::layout::LayoutError;
use crate::policy::PolicyError;

/// Why a description makes no array: the author of the configuration can help.
#[derive(Debug, Error)]
pub enum ArrayError {
    #[error("{key}: {reason}")]
    Config { key: &'static str, reason: String },
    #[error("policy gears: layout {layout} has no gears to shift; paraid has")]
    NoGears { layout: &'static str },
    #[error("layout: {0}")]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Disk(#[from] DiskError),
}
