//! Whose fault an error is, for programs that decide what to do next.

/// What kind of error it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// What the user brought: data, settings, files of another form. The same call fails again.
    Input,
    /// The machine: a full disk, a missing right, another process. The same call may go through later.
    Environment,
    /// Somebody asked for an end; the work can be taken up again.
    Stopped,
}
