//! When the next request is planned.
