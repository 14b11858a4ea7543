//! What responds to an intervention: a simulated world, drawn at random or read from a file.
//!
//! Any [`Scm`] is a world; [`Synthetic`] draws one. A [`grn::Grn`] is a gene network.

pub mod grn;
mod synthetic;

pub use synthetic::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, SyntheticError};

use crate::data::{DataError, Dataset, Names};
use crate::num::random::Stream;
use crate::observer::{Observer, Stopped, report};
use crate::scm::{Intervention, Scm};

/// A system that can be observed and intervened on.
pub trait World {
    /// The variables' names.
    fn names(&self) -> &Names;

    /// `samples` independent outcomes of one experiment. The same stream gives the same noise to every experiment.
    ///
    /// What the value of an intervention does depends on the world: the target of an [`Scm`] takes that value, that of
    /// a [`grn::Grn`] has its transcription rate multiplied by it. The data hold what is measured.
    ///
    /// An error means that an outcome is not finite, that no sample was asked for, or that the world has no
    /// such intervention.
    fn experiment(
        &self,
        intervention: &Intervention,
        samples: usize,
        stream: Stream,
    ) -> Result<Dataset, WorldError> {
        self.experiment_observed(intervention, samples, stream, &())
    }

    /// As [`World::experiment`], watched.
    fn experiment_observed(
        &self,
        intervention: &Intervention,
        samples: usize,
        stream: Stream,
        observer: &dyn Observer,
    ) -> Result<Dataset, WorldError>;
}

/// Why an experiment is impossible.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The outcomes are not a valid data set.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A target that the world does not have.
    #[error("node {node} is a target, but the world has only {variables} variables")]
    NoSuchVariable {
        /// The target.
        node: usize,
        /// How many there are.
        variables: usize,
    },
    /// A transcription rate cannot be multiplied by this.
    #[error(
        "gene {gene:?} cannot be transcribed {factor} times as fast: a factor is at least 0 (knock-out) and at most {most}"
    )]
    Factor {
        /// The target.
        gene: String,
        /// Its value.
        factor: f64,
        /// The largest that is allowed.
        most: f64,
    },
    /// It was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl World for Scm {
    fn names(&self) -> &Names {
        self.names()
    }

    fn experiment_observed(
        &self,
        intervention: &Intervention,
        samples: usize,
        stream: Stream,
        observer: &dyn Observer,
    ) -> Result<Dataset, WorldError> {
        let all = self.names().len() as u64;
        let go_on = |done: usize| report(observer, done as u64, all, format_args!("variables")).is_ok();
        let columns = self.sample_while(samples, intervention, stream, go_on).ok_or(Stopped)?;
        Ok(Dataset::with_regime(self.names().clone(), columns, intervention.targets(self.names().len()))?)
    }
}
