//! Laws every layout obeys.
