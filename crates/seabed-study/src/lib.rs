//! Closed loops against simulated worlds, as folders that survive a kill, and studies: grids of such loops.
//!
//! A run is a folder. Every phase of a round ends with a file that gets its name only when it is complete; a phase whose
//! file exists is never repeated, and every phase is a function of the configuration and the files before it. So the
//! same command continues where it was stopped, and the files come out the same. Only a mark that is written last makes a run
//! complete.
#![warn(missing_docs)]

mod claim;
mod complete;
mod config;
mod folder;
mod forecast;
mod grid;
mod passes;
mod phase;
mod presets;
mod record;
mod results;
mod run;
mod simulated_world;
mod speed_up;
mod sweep;
mod unfinished;
mod view;
mod work;
mod worker;

pub use config::{Config, DEFAULT};
pub use folder::RunFolder;
pub use grid::{Factor, Planned, expand};
pub use presets::{PRESETS, preset};
pub use record::Fitted;
pub use run::{Events, RunEvent, run};
pub use simulated_world::{MechanismName, NoiseName, SimulatedWorld, WeightsName, WorldKind, WorldSettings};
pub use sweep::{Outcome, RunState, Sweep};
pub use work::{How, Watcher, Worked};

use std::io;
use std::path::{Path, PathBuf};

use seabed::ErrorKind;
use seabed::belief::BeliefFileError;
use seabed::data::DataError;
use seabed::design::DesignError;
use seabed::posterior::FitError;
use seabed::scm::ScmFileError;
use seabed::settings::SettingsError;
use seabed::world::grn::{NetworkError, NetworkFileError};
use seabed::world::{SyntheticError, WorldError};

/// Why a run or a study stops.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A configuration that cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A file or folder that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder that holds something else.
    #[error("{}: {problem}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What is wrong, and what to do about it.
        problem: String,
    },
    /// Another process is working in the folder.
    #[error("{}: another process is working on it; wait until it is done", path.display())]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// No experiment is possible.
    #[error("round {round}: no experiment is possible under the settings of the design")]
    EmptyBatch {
        /// Which.
        round: usize,
    },
    /// The program itself failed.
    #[error(
        "{}: a defect of the program stopped this run; nothing that was saved is lost: please send its config.toml to the \
         developers", path.display()
    )]
    Defect {
        /// The folder of the run.
        path: PathBuf,
    },
    /// The observer asked to stop.
    #[error("interrupted; nothing is lost: the same command continues")]
    Stopped,
    /// A world that cannot be drawn.
    #[error("world: {0}")]
    World(#[from] SyntheticError),
    /// A gene network that cannot be drawn.
    #[error("world: {0}")]
    Network(#[from] NetworkError),
    /// A gene network that cannot be read.
    #[error(transparent)]
    NetworkFile(#[from] NetworkFileError),
    /// An experiment that the world cannot simulate.
    #[error("world: {0}")]
    Outcome(#[from] WorldError),
    /// A model that cannot be read.
    #[error(transparent)]
    Scm(#[from] ScmFileError),
    /// A belief that cannot be read.
    #[error(transparent)]
    Belief(#[from] BeliefFileError),
    /// Data that cannot be read or written.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A fit that failed.
    #[error("posterior: {0}")]
    Fit(FitError),
    /// A design that failed.
    #[error("design: {0}")]
    Design(DesignError),
}

impl From<FitError> for StudyError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Stopped(_) => Self::Stopped,
            error => Self::Fit(error),
        }
    }
}

impl From<DesignError> for StudyError {
    fn from(error: DesignError) -> Self {
        match error.kind() {
            ErrorKind::Stopped => Self::Stopped,
            _ => Self::Design(error),
        }
    }
}

impl StudyError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_path_buf(), source }
    }

    /// The same error, with the folder at `from` named as `to`.
    pub(crate) fn placed(mut self, from: &Path, to: &Path) -> Self {
        if let Self::File { path, .. } | Self::Folder { path, .. } | Self::Busy { path } = &mut self
            && let Ok(below) = path.strip_prefix(from)
        {
            *path = if below.as_os_str().is_empty() { to.to_path_buf() } else { to.join(below) };
        }
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::File { .. } | Self::Busy { .. } | Self::Defect { .. } => ErrorKind::Environment,
            Self::Stopped => ErrorKind::Stopped,
            Self::Data(error) => error.kind(),
            Self::Fit(error) => error.kind(),
            Self::Design(error) => error.kind(),
            _ => ErrorKind::Input,
        }
    }
}
