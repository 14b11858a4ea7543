//! Why a fit can fail, for all posteriors.

use super::State;
use crate::ErrorKind;
use crate::data::{Dataset, MOST_VALUE};
use crate::settings::SettingsError;

/// Why a fit did not give a posterior.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FitError {
    /// The observer asked to stop; the fit can be resumed from the state as if it had never been stopped.
    #[error("stopped before it finished")]
    Stopped(Box<State>),
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The data cannot be learned from.
    #[error(transparent)]
    Data(#[from] UnusableData),
    /// A saved state that does not match.
    #[error("the saved state {mismatch}")]
    State {
        /// How it differs.
        mismatch: StateMismatch,
    },
}

/// Why data cannot be learned from.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum UnusableData {
    /// Too few rows without an intervention on a variable.
    #[error(
        "{name:?} has only {rows} rows without an intervention on it: at least {least} are needed to learn its \
         mechanism; add observations"
    )]
    TooFewRows {
        /// The variable.
        name: String,
        /// Rows in which it was not a target.
        rows: usize,
        /// The least number.
        least: usize,
    },
    /// A value beyond what can be computed with.
    #[error(
        "row {row}, column {name:?}: {value:e} is too large to compute with; values must lie between -{MOST_VALUE:e} and \
         {MOST_VALUE:e}: check its unit, or leave the row out"
    )]
    TooLarge {
        /// The variable.
        name: String,
        /// Counted from 1.
        row: usize,
        /// The value.
        value: f64,
    },
    /// More variables than the chains can hold.
    #[error(
        "{got} variables: Markov chains take up to {most}; leave some out, or choose the linear models of the bootstrap \
         (`--posterior bootstrap`), which take {} of one processor for so many", roughly(*bootstrap)
    )]
    TooManyVariables {
        /// Number of variables.
        got: usize,
        /// The largest number.
        most: usize,
        /// Seconds that the bootstrap would take, about.
        bootstrap: f64,
    },
    /// A required edge that cannot be fitted.
    #[error(
        "the required edge {from:?} -> {to:?} cannot be fitted: {from:?} does not vary, or the other required parents \
         determine it; leave the column or the requirement out"
    )]
    RequiredDegenerate {
        /// Tail.
        from: String,
        /// Head.
        to: String,
    },
    /// An edge of the prior between unknown variables.
    #[error(
        "the prior names the edge {from:?} -> {to:?}, but these are not two different variables of the data"
    )]
    UnknownPair {
        /// Tail.
        from: String,
        /// Head.
        to: String,
    },
    /// The score of a variable left the range of numbers.
    #[error("the score of {name:?} is not a finite number; check the units of the data")]
    ScoreNotFinite {
        /// The variable.
        name: String,
    },
    /// A step of DiBS left the range of numbers.
    #[error(
        "step {step}: the log-density is not a finite number; standardise the data, or check their units"
    )]
    StepNotFinite {
        /// The step.
        step: u64,
    },
}

/// How a saved state differs from what was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StateMismatch {
    /// Another posterior.
    #[error("belongs to another posterior; choose the one that it was saved with")]
    Posterior,
    /// Other variables.
    #[error("was made with other variables")]
    Variables,
    /// Other rows or values.
    #[error("was made with other data")]
    Data,
    /// Other forbidden or required edges.
    #[error("was made with other background knowledge")]
    Knowledge,
    /// A setting that cannot change during a fit.
    #[error("was made with {0}")]
    Settings(&'static str),
    /// Of another version of the program.
    #[error("has version {found}, but this program knows version {known}; start the fit again")]
    Version {
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// From before states had versions.
    #[error("was made by an older version of the program; start the fit again")]
    Unversioned,
    /// Not what was written.
    #[error("is incomplete or was edited; start the fit again")]
    Damaged,
}

impl FitError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Stopped(_) => ErrorKind::Stopped,
            Self::Settings(_) | Self::Data(_) | Self::State { .. } => ErrorKind::Input,
        }
    }
}

impl From<StateMismatch> for FitError {
    fn from(mismatch: StateMismatch) -> Self {
        Self::State { mismatch }
    }
}

/// A time in words, as precise as an estimate is.
fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => "a minute or less".into(),
        s if s < 5400.0 => format!("about {:.0} minutes", s / 60.0),
        s if s < 129_600.0 => format!("about {:.0} hours", s / 3600.0),
        s => format!("about {:.0} days", s / 86_400.0),
    }
}

/// An intercept, a variance, and one row to spare.
const LEAST_ROWS: usize = 3;

/// Can every value be computed with, and does every variable have enough rows in which it was not a target?
pub(super) fn check_rows(data: &Dataset) -> Result<(), UnusableData> {
    check(data, LEAST_ROWS)
}

/// As [`check_rows`], but a variable may also have been a target in every row: a dose, of which there is no mechanism to learn.
pub(super) fn check_rows_or_always_set(data: &Dataset) -> Result<(), UnusableData> {
    check(data, 0)
}

/// `none` is what counts as the least number of rows where there are none.
fn check(data: &Dataset, none: usize) -> Result<(), UnusableData> {
    if let Some((row, node)) = data.too_large() {
        let (name, value) = (data.names()[node].clone(), data.column(node)[row]);
        return Err(UnusableData::TooLarge { name, row: row + 1, value });
    }
    for node in 0..data.variables() {
        let rows = data.untouched_rows(node).count();
        if rows < if rows == 0 { none } else { LEAST_ROWS } {
            let name = data.names()[node].clone();
            return Err(UnusableData::TooFewRows { name, rows, least: LEAST_ROWS });
        }
    }
    Ok(())
}
