//! Power figures of a drive.

use serde::{Deserialize, Serialize};

/// What a drive draws, in watts. Figures without a source stay unset, and energy that needs them is refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PowerSpec {}
