//! How a failed command ends: its message and its exit code.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use seabed::ErrorKind;
use seabed::belief::BeliefFileError;
use seabed::data::DataError;
use seabed::design::DesignError;
use seabed::posterior::FitError;
use seabed::scm::{InterventionError, ScmFileError};
use seabed::settings::SettingsError;
use seabed::world::grn::{NetworkError, NetworkFileError};
use seabed::world::{SyntheticError, WorldError};
use seabed_lab::LabError;
use seabed_serve::ServeError;
use seabed_study::StudyError;

/// Why a command failed.
pub enum Failure {
    /// The user's files or arguments: exit code 2.
    Input(anyhow::Error),
    /// The environment: exit code 1.
    Work(anyhow::Error),
    /// Ctrl-C, or a scheduler's wish: exit code 130.
    Stopped(anyhow::Error),
    /// A defect of the program, which a study survived: exit code 70.
    Defect(anyhow::Error),
    /// The reader of our output has gone; nobody is left to tell.
    OutputClosed,
}

impl Failure {
    /// A failure to write to a file or, without a path, to standard output.
    pub fn writing(path: Option<&Path>, error: io::Error) -> Self {
        match path {
            None if error.kind() == io::ErrorKind::BrokenPipe => Self::OutputClosed,
            None => Self::Work(anyhow::anyhow!("standard output cannot be written: {error}")),
            Some(path) => Self::Work(anyhow::anyhow!("{} cannot be written: {error}", path.display())),
        }
    }

    /// The same failure, with words in front of its message.
    pub fn in_front(self, words: &str) -> Self {
        match self {
            Self::Input(error) => Self::Input(anyhow::anyhow!("{words}: {error}")),
            other => other,
        }
    }

    /// Prints the message and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Input(error) => {
                tell!("error: {error}");
                ExitCode::from(2)
            }
            Self::Work(error) => {
                tell!("error: {error}");
                ExitCode::FAILURE
            }
            Self::Stopped(error) => {
                tell!("{error}");
                ExitCode::from(130)
            }
            Self::Defect(error) => {
                tell!("error: {error}");
                ExitCode::from(crate::DEFECT)
            }
            Self::OutputClosed => ExitCode::SUCCESS,
        }
    }
}

/// Errors that have a kind.
macro_rules! with_kind {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                match error.kind() {
                    ErrorKind::Input => Self::Input(error.into()),
                    ErrorKind::Environment => Self::Work(error.into()),
                    ErrorKind::Stopped => Self::Stopped(error.into()),
                }
            }
        }
    )*};
}

/// Errors that only the user's input can cause.
macro_rules! bad_input {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Input(error.into())
            }
        }
    )*};
}

with_kind!(DataError, FitError, DesignError, BeliefFileError, LabError);

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Lock { .. } | ServeError::System { .. } => Self::Work(error.into()),
            _ => Self::Input(error.into()),
        }
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        match error.kind() {
            _ if matches!(error, StudyError::Defect { .. }) => Self::Defect(error.into()),
            ErrorKind::Input => Self::Input(error.into()),
            ErrorKind::Environment => Self::Work(error.into()),
            ErrorKind::Stopped => Self::Stopped(error.into()),
        }
    }
}

bad_input!(
    SettingsError,
    ScmFileError,
    SyntheticError,
    InterventionError,
    NetworkError,
    NetworkFileError,
    WorldError
);
