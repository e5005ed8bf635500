//! The loop of one engine thread.

use std::sync::Arc;

use iojoule_record::Live;

use crate::LoadError;
use crate::block::config::BlockConfig;
use crate::block::summary::BlockSummary;
use crate::control::Control;

/// Runs a block load to its end.
pub fn block(config: &BlockConfig, _live: Arc<Live>, _control: &Control) -> Result<BlockSummary, LoadError> {
    Err(LoadError::config("target", format!("{:?} cannot be driven yet", config.target)))
}
