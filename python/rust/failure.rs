//! Errors on their way to Python: the name of an exception class of `seabed.errors`, and the message.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use seabed::belief::BeliefFileError;
use seabed::campaign::CampaignError;
use seabed::data::DataError;
use seabed::design::{ConstraintError, DesignError, GoalError};
use seabed::posterior::{FitError, KnowledgeError};
use seabed::scm::{InterventionError, ScmFileError};
use seabed::settings::SettingsError;
use seabed::world::grn::{NetworkError, NetworkFileError};
use seabed::world::{SyntheticError, WorldError};
use seabed_lab::LabError;
use seabed_study::StudyError;

/// Why a call fails.
#[derive(Debug)]
pub struct Failure {
    /// A class in `seabed.errors`.
    pub class: &'static str,
    /// What went wrong, and the way out.
    pub message: String,
}

impl Failure {
    /// An error of a class.
    pub fn new(class: &'static str, message: impl ToString) -> Self {
        Self { class, message: in_python(&message.to_string()) }
    }

    /// Settings that cannot be used.
    pub fn settings(message: impl ToString) -> Self {
        Self::new("SettingsError", message)
    }

    /// Data that cannot be used.
    pub fn data(message: impl ToString) -> Self {
        Self::new("DataError", message)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| {
            let class = py.import("seabed.errors").and_then(|errors| errors.getattr(failure.class));
            match class.and_then(|class| class.call1((&failure.message,))) {
                Ok(error) => PyErr::from_value(error),
                Err(_) => PyRuntimeError::new_err(failure.message),
            }
        })
    }
}

/// Errors that always have the same class.
macro_rules! of_class {
    ($($class:literal: $($error:ty),*;)*) => {$($(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new($class, error)
            }
        }
    )*)*};
}

of_class! {
    "SettingsError": SettingsError, GoalError, ConstraintError, InterventionError, SyntheticError, NetworkError;
    "KnowledgeError": KnowledgeError;
    "FileError": ScmFileError, NetworkFileError;
}

/// What messages call by the words of the command, and what it is called here; longer words before those that they begin with.
const WORDS: [(&str, &str); 30] = [
    // Files.
    ("--decimal comma", "decimal=\"comma\""),
    ("--decimal point", "decimal=\"point\""),
    ("--encoding latin-1", "encoding=\"latin-1\""),
    ("--ignore ", "ignore="),
    ("--ignore", "ignore"),
    ("--separator", "separator"),
    ("--decimal", "decimal"),
    ("--encoding", "encoding"),
    ("--sheet", "sheet"),
    ("`seabed simulate --save-scm`", "World.save()"),
    ("choose another folder with --out", "choose another folder"),
    // Settings.
    ("`--posterior bootstrap`", "posterior=\"bootstrap\""),
    ("edges-per-node", "edges_per_node"),
    ("max-parents", "max_parents"),
    ("max-degree", "max_degree"),
    ("mc-samples", "mc_samples"),
    ("experiment-cost", "experiment_cost"),
    (
        "design.without-replacement are for `seabed run` and `seabed sweep`",
        "design.without_replacement are for studies",
    ),
    ("--goal, --max-repeats", "goal, max_repeats"),
    ("max-repeats", "max_repeats"),
    ("max-targets", "max_targets"),
    // The laboratory.
    ("--wait SECONDS waits longer", "Campaign(path, wait=SECONDS) waits longer"),
    ("--new adds", "only_new=True adds"),
    ("--again", "again=True"),
    ("`seabed lab amend` with this file", "amend() with this form"),
    ("`seabed lab new`", "Campaign.new()"),
    ("`seabed lab add`", "add()"),
    ("`seabed lab record`", "record()"),
    ("`seabed lab propose`", "propose()"),
    ("`seabed lab check`", "check()"),
];

/// A message that was written for the command, in the words of Python.
pub fn in_python(message: &str) -> String {
    WORDS.iter().fold(message.to_string(), |text, (command, here)| text.replace(command, here))
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        match error.kind() {
            seabed::ErrorKind::Input => Self::data(error),
            seabed::ErrorKind::Environment => Self::new("FileError", error),
            seabed::ErrorKind::Stopped => Self::new("Stopped", error),
        }
    }
}

impl From<WorldError> for Failure {
    fn from(error: WorldError) -> Self {
        let class = if matches!(error, WorldError::Stopped(_)) { "Stopped" } else { "WorldError" };
        Self::new(class, error)
    }
}

impl From<BeliefFileError> for Failure {
    fn from(error: BeliefFileError) -> Self {
        let class = if matches!(error, BeliefFileError::Stopped) { "Stopped" } else { "FileError" };
        Self::new(class, error)
    }
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        let class = match &error {
            FitError::Stopped(_) => "Stopped",
            FitError::Data(_) => "DataError",
            FitError::Settings(_) | FitError::State { .. } => "SettingsError",
        };
        Self::new(class, error)
    }
}

impl From<DesignError> for Failure {
    fn from(error: DesignError) -> Self {
        let class = if matches!(error, DesignError::Stopped(_)) { "Stopped" } else { "SettingsError" };
        Self::new(class, error)
    }
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        match error {
            CampaignError::Fit(error) => error.into(),
            CampaignError::Design(error) => error.into(),
            CampaignError::Data(error) => error.into(),
            CampaignError::Settings(error) => error.into(),
            error @ (CampaignError::EmptyBatch | CampaignError::Saved { .. }) => Self::settings(error),
        }
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        let class = match &error {
            StudyError::Stopped => "Stopped",
            StudyError::Settings(_) | StudyError::World(_) | StudyError::Network(_) => "SettingsError",
            _ => "StudyError",
        };
        Self::new(class, error)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let class = if matches!(error, LabError::Stopped) { "Stopped" } else { "CampaignError" };
        Self::new(class, error)
    }
}
