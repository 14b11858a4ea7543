//! From data to a belief: a [`Dataset`](crate::data::Dataset) becomes an [`Ensemble`](crate::scm::Ensemble).
//!
//! [`Posterior`] is the one interface: checked settings, a [`Start`] and an observer give a [`Fit`].
//! [`PosteriorSettings`] is what people write. The three families have a folder each, with the same files in it:
//! `settings` (what may be chosen), `fit` (the work), `state` (what is saved), `result` (the posterior).
//!
//! Every posterior leaves out, for each variable, the rows in which it was a target, and obeys
//! [`Knowledge`]: a forbidden edge has probability exactly 0, a required one exactly 1.

mod bge;
pub mod bootstrap;
pub mod dibs;
mod effort;
mod error;
mod fit;
mod knowledge;
pub mod mcmc;
mod settings;
mod units;

pub use error::{FitError, StateMismatch, UnusableData};
pub use fit::{ALGORITHM, Diagnostics, Fit, Posterior, Start, State, one_graph};
pub use knowledge::{Knowledge, KnowledgeError, KnowledgeForm};
pub use settings::{NoiseName, NoiseSetting, PosteriorKind, PosteriorSettings, PriorName};
