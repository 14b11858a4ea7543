//! Which experiment to run next to find out what causes what.
//!
//! From a table to a batch: [`Dataset`] -> [`fit`] -> [`design()`] -> [`Batch`]; or as a loop of ask and tell,
//! [`Campaign`].
//!
//! The modules follow the flow of the method, and each one uses only those before it:
//!
//! - [`num`]: kernels, addressed randomness, ordered parallelism; [`observer`]: progress, saving and stopping;
//! - [`graph`]: directed acyclic graphs, equivalence classes, distances;
//! - [`data`]: measurements and who was intervened on, files in and out; [`settings`]: what people write;
//! - [`scm`]: structural causal models, and ensembles of them;
//! - [`belief`]: weighted graphs, and the law of new rows under each;
//! - [`posterior`]: from data to an ensemble; [`checks`]: what in the data its models cannot have made;
//! - [`mod@design`]: from an ensemble to the next batch of interventions;
//! - [`effects`]: what setting a variable does to the others;
//! - [`world`]: what responds to an intervention;
//! - [`evaluate`]: how close a belief is to the truth;
//! - [`campaign`]: the loop in memory.
#![warn(missing_docs)]

pub mod belief;
pub mod campaign;
pub mod checks;
pub mod data;
pub mod design;
pub mod effects;
pub mod evaluate;
pub mod graph;
pub mod num;
pub mod observer;
pub mod posterior;
pub mod scm;
pub mod settings;
pub mod world;

mod error;

pub use campaign::{Campaign, CampaignError};
pub use data::Dataset;
pub use design::{Batch, Constraints, DesignError, Designer};
pub use error::ErrorKind;
pub use graph::Dag;
pub use num::random::Seed;
pub use observer::Observer;
pub use posterior::{Fit, FitError, Knowledge, Posterior, PosteriorKind, PosteriorSettings, Start};
pub use scm::{Ensemble, Intervention};

/// The posterior after the data: [`Posterior::fit`] without an earlier state.
pub fn fit(
    posterior: &Posterior,
    data: &Dataset,
    knowledge: &Knowledge,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Fit, FitError> {
    posterior.fit(data, knowledge, Start::fresh(seed), observer)
}

/// The next batch under a belief: [`Designer::design`].
pub fn design(
    designer: &Designer,
    belief: &Ensemble,
    constraints: &Constraints,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Batch, DesignError> {
    designer.design(belief, constraints, seed, observer)
}

/// Version of the JSON that results serialise to and the command prints: it increases when a field changes its name or
/// meaning, not when fields are added.
pub const JSON_VERSION: u32 = 1;

#[doc = include_str!("../../../README.md")]
#[cfg(doctest)]
struct ReadmeExamples;
