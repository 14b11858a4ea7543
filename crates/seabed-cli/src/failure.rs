//! How a command ends when it does not end well.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use seabed::campaign::CampaignError;
use seabed::campaign::lab::LabError;
use seabed::data::DataError;
use seabed::design::DesignError;
use seabed::posterior::bootstrap::BootstrapError;
use seabed::posterior::dibs::DibsError;
use seabed::posterior::mcmc::McmcError;
use seabed::scm::{InterventionError, ScmFileError};
use seabed::world::grn::{NetworkError, NetworkFileError};
use seabed::world::{SyntheticError, WorldError};

/// Why a command stopped.
pub enum Failure {
    /// The user's files or arguments: exit code 2.
    Input(anyhow::Error),
    /// The machine: exit code 1.
    Work(anyhow::Error),
    /// Whoever read our output went away; there is nobody to tell.
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

    /// Says what is wrong and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Input(error) => {
                eprintln!("error: {error}");
                ExitCode::from(2)
            }
            Self::Work(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
            Self::OutputClosed => ExitCode::SUCCESS,
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        match error {
            DataError::Unwritable { .. } => Self::Work(error.into()),
            _ => Self::Input(error.into()),
        }
    }
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        if error.is_of_the_machine() { Self::Work(error.into()) } else { Self::Input(error.into()) }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        if error.is_of_the_machine() { Self::Work(error.into()) } else { Self::Input(error.into()) }
    }
}

macro_rules! bad_input {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Input(error.into())
            }
        }
    )*};
}

bad_input!(
    BootstrapError,
    DibsError,
    McmcError,
    DesignError,
    ScmFileError,
    SyntheticError,
    InterventionError,
    NetworkError,
    NetworkFileError,
    WorldError
);
