//! What answers an intervention: a simulated world, drawn at random or read from a file.
//!
//! Any [`Scm`] is a world; [`Synthetic`] draws one.

mod synthetic;

pub use synthetic::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, SyntheticError};

use crate::data::{DataError, Dataset, Names};
use crate::num::random::Stream;
use crate::scm::{Intervention, Scm};

/// A system that can be observed and intervened on.
pub trait World {
    /// The variables' names.
    fn names(&self) -> &Names;

    /// `samples` independent outcomes of one experiment. The same stream gives the same noise to every experiment.
    ///
    /// An error means that an outcome is no finite number, or that no sample was asked for.
    fn experiment(
        &self,
        intervention: &Intervention,
        samples: usize,
        stream: Stream,
    ) -> Result<Dataset, DataError>;
}

impl World for Scm {
    fn names(&self) -> &Names {
        self.names()
    }

    fn experiment(
        &self,
        intervention: &Intervention,
        samples: usize,
        stream: Stream,
    ) -> Result<Dataset, DataError> {
        let columns = self.sample(samples, intervention, stream);
        Dataset::with_regime(self.names().clone(), columns, intervention.targets(self.names().len()))
    }
}
