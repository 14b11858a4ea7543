//! What the user may choose, and what is refused.

use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::graph_prior::GraphPrior;
use super::parameters::Family;
use crate::settings::{SettingsError, check_count, check_positive};

/// A posterior by DiBS: model, prior, and how long and how carefully the particles move.
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
    /// How many of them the acyclicity penalty uses, at most `samples`.
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

/// Steps at most: more must be a typing error.
pub const MOST_STEPS: usize = 10_000_000;

impl Dibs {
    /// Are all numbers within their ranges?
    pub fn check(&self) -> Result<(), SettingsError> {
        check_count("particles", self.particles, 1..=10_000)?;
        check_count("steps", self.steps, 1..=MOST_STEPS)?;
        check_count("mc-samples", self.samples, 1..=100_000)?;
        check_count("acyclicity-samples", self.acyclicity_samples, 1..=self.samples)?;
        check_count("walk", self.walk, 0..=10_000)?;
        if let Family::Nonlinear { hidden } = self.family {
            check_count("hidden", hidden, 1..=1000)?;
        }
        if let Noise::Known(sd) = self.noise {
            check_positive("noise", sd)?;
        }
        match self.prior {
            GraphPrior::Er { edges_per_node } => check_positive("edges-per-node", edges_per_node),
            GraphPrior::Sf => Ok(()),
        }
    }
}
