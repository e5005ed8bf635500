//! Errors sorted by who can help.

/// Who can help with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The person who named the input and wrote the options.
    Config,
    /// The administrator: files, permissions, space.
    Host,
    /// The user stopped it.
    Interrupted,
}
