//! Kinds of errors, for programs that decide what to do next.

/// What kind of error it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The user's input: data, settings, files in the wrong format. The same call fails again.
    Input,
    /// The environment: a full disk, missing permissions, another process. The same call may succeed later.
    Environment,
    /// The work was asked to stop; it can be resumed.
    Stopped,
}
