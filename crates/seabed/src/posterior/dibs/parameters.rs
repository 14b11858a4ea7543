//! Where the parameters of a variable's mechanism stand in a flat vector, and their prior.
//!
//! Every variable has a mechanism with a weight for every other variable; the graph decides which of them count.
//! The last number of a column is the logarithm of its noise variance, learned or not.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

/// The mechanisms that a posterior ranges over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Networks with one hidden layer of `hidden` rectified units.
    Nonlinear {
        /// Number of hidden units.
        hidden: usize,
    },
    /// Weighted sums, with or without an intercept.
    Linear {
        /// Is there an intercept? Without one, a variable without parents has the mean 0.
        intercept: bool,
    },
    /// Weighted sums whose parameters are integrated out (BGe).
    Bge,
}

/// The places of a column's parameters: weights of input 0, of input 1, …; then biases, and the log-variance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Layout {
    pub nodes: usize,
    /// Weights of an input: hidden units of a network, 1 of a sum.
    pub units: usize,
    /// Networks have biases and weights of their hidden units.
    pub nonlinear: bool,
    /// Does the intercept of a sum vary?
    pub intercept: bool,
    /// Standard deviation of the normal prior on every parameter.
    pub prior_sd: f64,
}

impl Layout {
    /// The layout of a family; `None` where there are no parameters.
    pub fn of(family: Family, nodes: usize) -> Option<Self> {
        match family {
            Family::Nonlinear { hidden } => {
                Some(Self { nodes, units: hidden, nonlinear: true, intercept: true, prior_sd: 1.0 })
            }
            Family::Linear { intercept } => {
                Some(Self { nodes, units: 1, nonlinear: false, intercept, prior_sd: 2.0 })
            }
            Family::Bge => None,
        }
    }

    /// Number of parameters of a column.
    pub fn len(&self) -> usize {
        self.log_variance() + 1
    }

    /// The weight of input `input` to unit `unit`.
    pub fn weight(&self, input: usize, unit: usize) -> usize {
        input * self.units + unit
    }

    /// Bias of a hidden unit.
    pub fn b1(&self, unit: usize) -> usize {
        self.nodes * self.units + unit
    }

    /// Weight of a hidden unit.
    pub fn w2(&self, unit: usize) -> usize {
        (self.nodes + 1) * self.units + unit
    }

    /// The bias of a network's output, or the intercept of a sum.
    pub fn b2(&self) -> usize {
        (self.nodes + if self.nonlinear { 2 } else { 0 }) * self.units
    }

    /// Logarithm of the noise variance.
    pub fn log_variance(&self) -> usize {
        self.b2() + 1
    }

    /// The parameters that count whatever the graph is, the log-variance left out.
    pub fn always(&self) -> std::ops::Range<usize> {
        let end = self.log_variance() - if self.intercept { 0 } else { 1 };
        self.nodes * self.units..end
    }

    /// Log-density of one parameter under its prior.
    pub fn log_prior(&self, parameter: f64) -> f64 {
        let z = parameter / self.prior_sd;
        -0.5 * z * z - self.prior_sd.ln() - 0.5 * TAU.ln()
    }

    /// Log-density of the weights of an input: what an edge from it costs.
    pub fn log_prior_of_input(&self, parameters: &[f64], input: usize) -> f64 {
        let own = &parameters[self.weight(input, 0)..self.weight(input + 1, 0)];
        let squares: f64 = own.iter().map(|w| w * w).sum();
        self.units as f64 * self.log_prior(0.0) - 0.5 * squares / (self.prior_sd * self.prior_sd)
    }
}

/// The noise of a column: its variance is given, or it has this weak normal prior on the logarithm of its variance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum NoisePrior {
    Known,
    Learned {
        /// Of the logarithm of the variance.
        mean: f64,
    },
}

/// Standard deviation of the prior of a log-variance: a factor of e² either way is not unusual.
const LOG_VARIANCE_SD: f64 = 2.0;

impl NoisePrior {
    /// A variable's noise is around e⁻² of its variance.
    pub fn learned(variance: f64) -> Self {
        Self::Learned { mean: variance.ln() - 2.0 }
    }

    /// Log-density of a log-variance, and its derivative; nothing if it is known.
    pub fn log_density(&self, log_variance: f64) -> (f64, f64) {
        match self {
            Self::Known => (0.0, 0.0),
            Self::Learned { mean } => {
                let z = (log_variance - mean) / LOG_VARIANCE_SD;
                (-0.5 * z * z - LOG_VARIANCE_SD.ln() - 0.5 * TAU.ln(), -z / LOG_VARIANCE_SD)
            }
        }
    }
}
