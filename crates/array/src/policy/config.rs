//! A policy by name, and what of a drive's figures it needs to know.

use iojoule_units::{Nanos, Watts};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Never, Policy};

/// A policy as a configuration names it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PolicyConfig {
    /// Drives always spin.
    #[default]
    Never,
}

/// What resting costs and saves: the figures of a drive's power that a policy weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub idle: Watts,
    pub standby: Watts,
    pub spin_up: Watts,
    pub spin_up_time: Nanos,
    pub spin_down: Watts,
    pub spin_down_time: Nanos,
}

#[derive(Debug, Error, PartialEq)]
pub enum PolicyError {
    #[error("policy {kind}: {reason}")]
    Refused { kind: &'static str, reason: String },
}

impl PolicyConfig {
    /// The policy for `drives` drives. `figures` is `None` where the drive's power is not known; `seed` is for policies that
    /// draw.
    pub fn build(&self, _drives: u16, _figures: Option<&Figures>, _seed: u64) -> Result<Box<dyn Policy>, PolicyError> {
        match self {
            Self::Never => Ok(Box::new(Never)),
        }
    }
}
