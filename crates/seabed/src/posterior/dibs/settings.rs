//! What the user may choose, and what is refused.

use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::graph_prior::GraphPrior;
use super::parameters::Family;
use crate::data::Dataset;

/// A posterior by DiBS: model, prior, and how long and how carefully it is sought.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dibs {
    /// Kind of mechanisms.
    pub family: Family,
    /// Noise of the variables; BGe integrates it out.
    pub noise: Noise,
    /// Which graphs are likely beforehand.
    pub prior: GraphPrior,
    /// Are variables brought to mean 0 and standard deviation 1 inside? Results are in the data's units either way.
    pub standardise: bool,
    /// Number of particles, at least 1.
    pub particles: usize,
    /// Largest number of steps, at least 1.
    pub steps: usize,
    /// Stop earlier once nothing changes any more?
    pub stop_early: bool,
    /// M, the graphs sampled for each particle at each step.
    pub samples: usize,
    /// How many of them tell about cycles, at most `samples`.
    pub acyclicity_samples: usize,
    /// How samples are weighted.
    pub estimator: Estimator,
    /// How particles are weighted in the end.
    pub weighting: Weighting,
    /// Graphs that each particle gives by a walk under the exact posterior, if parameters are integrated out (BGe);
    /// 0: the particle's own graph alone.
    pub walk: usize,
}

/// The standard deviation of the variables' noise.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// The same for all variables, in the data's units.
    Known(f64),
    /// One for each variable, learned.
    Learned,
}

/// The weights of the particles in the ensemble.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// All the same.
    Uniform,
    /// In proportion to p(graph, parameters, data); equal graphs without parameters count once.
    LogJoint,
}

impl Default for Dibs {
    fn default() -> Self {
        Self {
            family: Family::Nonlinear { hidden: 5 },
            noise: Noise::Learned,
            prior: GraphPrior::Er { edges_per_node: 1.0 },
            standardise: true,
            particles: 20,
            steps: 3000,
            stop_early: true,
            samples: 16,
            acyclicity_samples: 4,
            estimator: Estimator::Columns,
            weighting: Weighting::Uniform,
            walk: 5,
        }
    }
}

/// Why there is no posterior.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum DibsError {
    /// Too few rows tell about a variable.
    #[error(
        "{name:?} was not a target in {rows} rows only: at least {least} are needed to learn its mechanism; add \
         observations"
    )]
    TooFewRows {
        /// The variable.
        name: String,
        /// Rows in which it was not a target.
        rows: usize,
        /// The least number.
        least: usize,
    },
    /// A count of 0.
    #[error("0 {what}: ask for at least one")]
    None {
        /// Of what.
        what: &'static str,
    },
    /// More samples for the penalty than there are.
    #[error("{acyclicity} samples for the acyclicity penalty, but only {samples} are drawn")]
    Samples {
        /// Samples asked for.
        acyclicity: usize,
        /// Samples drawn.
        samples: usize,
    },
    /// A noise level that is none.
    #[error("a noise standard deviation of {0}: it is a positive, finite number")]
    NoiseLevel(f64),
    /// A number of edges that is none.
    #[error("{0} edges per node: expected is a positive, finite number")]
    EdgesPerNode(f64),
    /// Numbers left their range.
    #[error(
        "step {step}: the log-density is no longer a finite number; standardise the data, or check their units"
    )]
    NotFinite {
        /// The step.
        step: u64,
    },
    /// A saved state of something else.
    #[error("the saved state is of {what}; it goes only with the fit that wrote it")]
    OtherState {
        /// What differs.
        what: &'static str,
    },
}

/// An intercept, a variance, and one row to spare.
const LEAST_ROWS: usize = 3;

impl Dibs {
    pub(super) fn check(&self, data: &Dataset) -> Result<(), DibsError> {
        let counts = [
            (self.particles, "particles"),
            (self.steps, "steps"),
            (self.samples, "samples"),
            (self.acyclicity_samples, "samples for the acyclicity penalty"),
        ];
        if let Some(&(_, what)) = counts.iter().find(|(count, _)| *count == 0) {
            return Err(DibsError::None { what });
        }
        if let Family::Nonlinear { hidden: 0 } = self.family {
            return Err(DibsError::None { what: "hidden units" });
        }
        if self.acyclicity_samples > self.samples {
            return Err(DibsError::Samples { acyclicity: self.acyclicity_samples, samples: self.samples });
        }
        let positive = |x: f64| x > 0.0 && x.is_finite();
        match self.noise {
            Noise::Known(sd) if !positive(sd) => return Err(DibsError::NoiseLevel(sd)),
            _ => {}
        }
        match self.prior {
            GraphPrior::Er { edges_per_node } if !positive(edges_per_node) => {
                return Err(DibsError::EdgesPerNode(edges_per_node));
            }
            _ => {}
        }
        for node in 0..data.variables() {
            let rows = (0..data.rows()).filter(|&row| !data.targets(row).contains(node)).count();
            if rows < LEAST_ROWS {
                let name = data.names()[node].clone();
                return Err(DibsError::TooFewRows { name, rows, least: LEAST_ROWS });
            }
        }
        Ok(())
    }
}
