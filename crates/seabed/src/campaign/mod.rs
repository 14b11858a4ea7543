//! The closed loop: world, belief, design, outcomes, again and again, so that it can be killed at any moment; and
//! studies of many such runs.
//!
//! A run is a folder. Every phase of a round ends with a file that takes its name only when it is complete; a phase
//! whose file is there is never done again, and every phase is a function of the configuration and the files before it.
//! So the same command goes on where it was stopped, and the files come out the same.
//!
//! Where a laboratory answers and no world, the campaign is one file: [`lab`].

mod belief;
mod config;
mod folder;
mod grid;
pub mod lab;
mod presets;
mod record;
mod results;
mod run;
mod scene;
mod sweep;

pub use belief::{Belief, BeliefState, NoiseName, NoiseSetting, PosteriorKind, PosteriorSettings, PriorName};
pub use config::{Config, DEFAULT, DesignSettings, ValuesName, parse_table, read_table, set};
pub use folder::RunFolder;
pub use grid::{Factor, Planned, expand};
pub use presets::{PRESETS, preset};
pub use record::{Designed, Evaluation, Experiment, Fitted, MetricRow};
pub use run::{Happened, run};
pub use scene::{MechanismName, Scene, WorldKind, WorldSettings};
pub use sweep::{Outcome, RunState, Sweep};

use std::io;
use std::path::{Path, PathBuf};

use crate::data::DataError;
use crate::design::DesignError;
use crate::posterior::bootstrap::BootstrapError;
use crate::posterior::dibs::DibsError;
use crate::posterior::mcmc::McmcError;
use crate::scm::ScmFileError;
use crate::world::grn::{NetworkError, NetworkFileError};
use crate::world::{SyntheticError, WorldError};

/// Why a run or a study stops.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A configuration that cannot be used.
    #[error("{source_name}: {problem}")]
    Config {
        /// The file, or what else the keys came from.
        source_name: String,
        /// What is wrong.
        problem: String,
    },
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
        /// What it holds, and the way out.
        problem: String,
    },
    /// Another process works in the folder.
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
    /// The work ended because somebody asked for it.
    #[error("interrupted; nothing is lost: the same command goes on")]
    Interrupted,
    /// A world that cannot be drawn.
    #[error("world: {0}")]
    World(#[from] SyntheticError),
    /// A gene network that cannot be drawn.
    #[error("world: {0}")]
    Network(#[from] NetworkError),
    /// A gene network that cannot be read.
    #[error(transparent)]
    NetworkFile(#[from] NetworkFileError),
    /// A world that does not answer.
    #[error("world: {0}")]
    Outcome(#[from] WorldError),
    /// A model that cannot be read.
    #[error(transparent)]
    Scm(#[from] ScmFileError),
    /// Data that are none.
    #[error(transparent)]
    Data(#[from] DataError),
    /// No posterior by bootstrap.
    #[error("posterior: {0}")]
    Bootstrap(#[from] BootstrapError),
    /// No posterior by DiBS.
    #[error("posterior: {0}")]
    Dibs(#[from] DibsError),
    /// No posterior by Markov chains.
    #[error("posterior: {0}")]
    Mcmc(#[from] McmcError),
    /// No design.
    #[error("design: {0}")]
    Design(#[from] DesignError),
}

impl CampaignError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_path_buf(), source }
    }

    /// Is it the machine (a full disk, a missing right, another process) and not what the user wrote?
    pub fn is_of_the_machine(&self) -> bool {
        matches!(
            self,
            Self::File { .. }
                | Self::Busy { .. }
                | Self::Interrupted
                | Self::Data(DataError::Unwritable { .. })
        )
    }
}
