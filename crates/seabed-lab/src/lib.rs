//! The campaign of a real laboratory in one crash-safe file.
//!
//! There is no simulator and no known truth; experiments take weeks, and results come late, in part, or not as planned. A
//! campaign is a SQLite file. Every command that changes it is one transaction and one *action*: nothing acknowledged is
//! ever lost or half written, nothing is ever deleted, and the last action can be undone. What is not undone is *in force*.
//!
//! - `variables`: units, transforms, what can be set, what is known;
//! - `open`: creating and opening files, recognising what is not a campaign; `load` and `store`: all other SQL;
//!   `memory`: what the connections of a process share;
//!   `digest`: fingerprints of what was written;
//! - `state`: the campaign in memory, as every decision sees it;
//! - `signature`: who asked for a change, and by which request;
//! - `intake` and `record`: checked input, from data files and from filled-in forms; `form`: the forms;
//! - `belief` and `propose`: what is believed, and what to do next; `status`, `report`, `experiment_table` and
//!   `export`: what people see.

#![warn(missing_docs)]

mod belief;
mod database_error;
mod digest;
mod effects;
mod experiment_table;
mod export;
mod form;
mod intake;
mod load;
mod memory;
mod open;
mod propose;
mod record;
mod report;
mod signature;
mod spreadsheet;
mod state;
mod status;
mod store;
mod time;
mod variables;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use seabed::ErrorKind;
use seabed::belief::BeliefFileError;
use seabed::campaign::CampaignError;
use seabed::data::{DataError, Place};
use seabed::design::DesignError;
use seabed::posterior::FitError;
use seabed::scm::ScmFileError;
use seabed::settings::SettingsError;

pub use belief::BeliefSummary;
pub use database_error::DatabaseError;
pub use effects::LabEffect;
pub use form::{FormRow, experiment_name, is_blank_form, write_form};
pub use intake::{AddOptions, Added};
pub use memory::Memory;
pub use propose::{ProposalRequest, Proposed};
pub use record::{Correction, Recorded};
pub use signature::Signature;
pub use spreadsheet::{harmless_cell, original_cell};
pub use state::{Action, Experiment, Proposal, Record, Row, Settings, Source, State, Status};
pub use status::{Edge, EdgeMatrix, Overview, PendingOutcome, RoundSummary, Summary};
pub use time::now;
pub use variables::{RESERVED, Transform, Variable, Variables, draft, four_digits, variables_file};

/// A campaign's file, open.
pub struct Lab {
    path: PathBuf,
    connection: Connection,
    /// Where a campaign that cannot be written to is read from.
    copy: Option<tempfile::TempDir>,
    signature: Signature,
    seen: RefCell<Option<store::Seen>>,
    told: RefCell<Option<store::Told>>,
    memory: Memory,
}

/// What was undone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undone {
    /// The action.
    pub action: Action,
}

/// Why a campaign cannot do something.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A file that already exists.
    #[error("{}: the file already exists; choose another name", path.display())]
    Exists {
        /// Which.
        path: PathBuf,
    },
    /// A file that is not a campaign.
    #[error("{}: this is not a campaign ({why}); `seabed lab new` creates one", path.display())]
    NotACampaign {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file of a later version of the program.
    #[error(
        "{}: the campaign has version {found}, but this program knows versions up to {known} only; use a newer seabed (the \
         file was not changed)",
        path.display()
    )]
    Newer {
        /// Which.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A file that is damaged.
    #[error(
        "{}: the campaign is damaged ({problem}); the file was not changed: restore your newest backup, or save what can be \
         read with `sqlite3 FILE .recover`",
        path.display()
    )]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Another process was writing for too long.
    #[error("{}: {} is writing to it; wait until it is done (--wait SECONDS waits longer)", path.display(),
        holder.map_or("another process".to_string(), |pid| format!("process {pid}")))]
    Busy {
        /// Which.
        path: PathBuf,
        /// Its process id, if the system gives it.
        holder: Option<i32>,
    },
    /// An error of the database.
    #[error("{}: {source}", path.display())]
    Database {
        /// Which.
        path: PathBuf,
        /// Why.
        source: DatabaseError,
    },
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A variables file that cannot be used.
    #[error("{source_name}: {problem}")]
    Variables {
        /// The file.
        source_name: String,
        /// What is wrong.
        problem: String,
    },
    /// Data or a form that the campaign cannot accept.
    #[error("{place}: {problem}")]
    Refused {
        /// The file, and where in it.
        place: String,
        /// The row and the column, where that is known.
        at: Option<Box<Place>>,
        /// What is wrong, and what to do about it.
        problem: String,
    },
    /// Rows of data or a form that the campaign cannot accept.
    #[error("{file}: {count} rows cannot be used:{}", in_lines(file, first, *count))]
    Rows {
        /// The file.
        file: String,
        /// What is wrong with the first of them.
        first: Vec<LabError>,
        /// How many they are.
        count: usize,
    },
    /// Measurements that the campaign has already.
    #[error(
        "{file}: {known} of its {rows} rows are in the campaign already, with the same values and targets; nothing was \
         added. --new adds only the other {}; if these are different measurements, --again adds all", rows - known
    )]
    KnownRows {
        /// The file.
        file: String,
        /// Rows that are known.
        known: usize,
        /// Rows of the file.
        rows: usize,
    },
    /// The same file a second time.
    #[error(
        "{file}: the same content was added on {at} (action {action}, as {before}); nothing was added. If these are \
         different measurements, use --again"
    )]
    AddedBefore {
        /// The file.
        file: String,
        /// When.
        at: String,
        /// By which action.
        action: i64,
        /// Its name then.
        before: String,
    },
    /// The same request a second time.
    #[error("the same request was done before, as action {action}; nothing was changed now")]
    Repeated {
        /// What it led to.
        action: i64,
    },
    /// Another request with the same key.
    #[error("action {action} was asked for by another request with the same key; give every request its own")]
    KeyReused {
        /// What the other led to.
        action: i64,
    },
    /// An experiment that does not exist.
    #[error("there is no experiment {name} in this campaign{hint}")]
    NoExperiment {
        /// The name given.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// Nothing to learn from.
    #[error("there is no complete row of data yet; add observations with `seabed lab add`")]
    NoData,
    /// Numbers too extreme to compute with.
    #[error(
        "the expected information is not finite: some values are too extreme to compute with; check bounds, units and \
         transforms"
    )]
    Extreme,
    /// Nothing to undo.
    #[error("there is nothing to undo but the creation of the campaign")]
    NothingToUndo,
    /// Another action is the last.
    #[error("action {wanted} is not the last one in force, which is action {last}; nothing was undone")]
    NotTheLast {
        /// The action to be undone.
        wanted: i64,
        /// The last one.
        last: i64,
    },
    /// A change of a campaign that can only be read.
    #[error(
        "{}: the file or its folder cannot be written to (read-only, or the disk is full), so the campaign can only be read; \
         make room, or copy it to another place, to go on",
        path.display()
    )]
    ReadOnly {
        /// Which.
        path: PathBuf,
    },
    /// Others kept changing the campaign.
    #[error("others keep changing the campaign while a batch is designed; try again when they are done")]
    Changing,
    /// No experiment is possible.
    #[error("no experiment is possible within the variables file and the options")]
    EmptyBatch,
    /// The observer asked to stop.
    #[error("interrupted; nothing is lost: the same command continues")]
    Stopped,
    /// Settings that cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A belief that cannot be formed.
    #[error("posterior: {0}")]
    Fit(FitError),
    /// A batch that cannot be designed.
    #[error("design: {0}")]
    Design(DesignError),
    /// A file that cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A stored belief that cannot be read.
    #[error(transparent)]
    Scm(#[from] ScmFileError),
    /// A stored belief about graphs that cannot be read.
    #[error(transparent)]
    Graphs(#[from] BeliefFileError),
}

impl LabError {
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_path_buf(), source }
    }

    fn refused(place: impl ToString, problem: impl Into<String>) -> Self {
        Self::Refused { place: place.to_string(), at: None, problem: problem.into() }
    }

    fn refused_at(place: Place, problem: impl Into<String>) -> Self {
        Self::Refused { place: place.to_string(), at: Some(Box::new(place)), problem: problem.into() }
    }

    /// The cells that are wrong, as far as that is known: where, and what is wrong, and what to do about it.
    pub fn cells(&self) -> Vec<(Place, String)> {
        match self {
            Self::Refused { at: Some(at), problem, .. } => vec![(Place::clone(at), problem.clone())],
            Self::Rows { first, .. } => first.iter().flat_map(Self::cells).collect(),
            Self::Data(error) => of_data(error),
            _ => Vec::new(),
        }
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Busy { .. }
            | Self::Database { .. }
            | Self::File { .. }
            | Self::ReadOnly { .. }
            | Self::Changing => ErrorKind::Environment,
            Self::Stopped => ErrorKind::Stopped,
            Self::Data(error) => error.kind(),
            Self::Fit(error) => error.kind(),
            Self::Design(error) => error.kind(),
            Self::Graphs(error) => error.kind(),
            _ => ErrorKind::Input,
        }
    }
}

impl From<FitError> for LabError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Stopped(_) => Self::Stopped,
            error => Self::Fit(error),
        }
    }
}

impl From<DesignError> for LabError {
    fn from(error: DesignError) -> Self {
        match error.kind() {
            ErrorKind::Stopped => Self::Stopped,
            _ => Self::Design(error),
        }
    }
}

impl From<CampaignError> for LabError {
    fn from(error: CampaignError) -> Self {
        match error {
            CampaignError::Fit(error) => error.into(),
            CampaignError::Design(error) => error.into(),
            CampaignError::Settings(error) => error.into(),
            CampaignError::Data(error) => error.into(),
            CampaignError::EmptyBatch => Self::EmptyBatch,
            error @ CampaignError::Saved { .. } => Self::refused("the campaign", error.to_string()),
        }
    }
}

/// The cells that are wrong in a table.
fn of_data(error: &DataError) -> Vec<(Place, String)> {
    use DataError::{NotANumber, NotFinite, RaggedRow, Several, UnknownTarget};
    match error {
        Several { first, .. } => first.iter().flat_map(of_data).collect(),
        NotANumber { at, .. } | NotFinite { at, .. } | RaggedRow { at, .. } | UnknownTarget { at, .. } => {
            let message = error.to_string();
            let problem = message.strip_prefix(&format!("{at}: ")).unwrap_or(&message).to_string();
            vec![(Place::clone(at), problem)]
        }
        _ => Vec::new(),
    }
}

/// What is wrong with the first of some rows, a line each, and how many more there are.
fn in_lines(file: &str, first: &[LabError], count: usize) -> String {
    let prefix = format!("{file}, ");
    let line = |error: &LabError| {
        let message = error.to_string();
        format!("\n  {}", message.strip_prefix(&prefix).unwrap_or(&message))
    };
    let mut lines: String = first.iter().map(line).collect();
    if count > first.len() {
        lines += &format!("\n  … and {} more", count - first.len());
    }
    lines
}

impl Lab {
    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Undoes the last action that is in force. It stays in the history.
    pub fn undo(&mut self) -> Result<Undone, LabError> {
        self.undo_if(None)
    }

    /// As [`Lab::undo`], but only if the last action in force has this number: so trying again undoes nothing else.
    pub fn undo_if(&mut self, wanted: Option<i64>) -> Result<Undone, LabError> {
        self.change(|change, state| {
            let last = state.actions.iter().rev().find(|action| action.undone.is_none());
            let Some(action) = last.filter(|action| action.kind != "new") else {
                return Err(LabError::NothingToUndo);
            };
            if let Some(wanted) = wanted.filter(|wanted| *wanted != action.id) {
                return Err(LabError::NotTheLast { wanted, last: action.id });
            }
            change.undo(action.id)?;
            Ok(Undone { action: action.clone() })
        })
    }
}
