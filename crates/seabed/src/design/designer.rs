//! The settings of a design, checked here before any work.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::constraints::{ConstraintError, MOST_VALUE};
use super::goal::Goal;
use super::information::Estimator;
use super::replicates::Replicates;
use super::strategy::{Rule, Strategy, Utility};
use super::temperature::Temperature;
use super::value::Values;
use crate::ErrorKind;
use crate::graph::Node;
use crate::observer::Stopped;

/// The settings of a design.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Designer {
    /// How the batch is put together.
    pub strategy: Strategy,
    /// How values are chosen.
    pub values: Values,
    /// Number of experiments; with automatic replicates, of rows.
    pub batch: usize,
    /// How often each experiment is repeated.
    pub replicates: Replicates,
    /// Outcomes simulated of each draw.
    pub samples: usize,
    /// Values tried for each target.
    pub evaluations: usize,
    /// Temperature of the soft strategies.
    pub temperature: Temperature,
    /// How information is estimated.
    pub estimator: Estimator,
    /// What is to be learned.
    pub goal: Goal,
}

impl Default for Designer {
    fn default() -> Self {
        Self {
            strategy: Strategy::SoftCbed,
            values: Values::gp_ucb(),
            batch: 10,
            replicates: Replicates::Each(1),
            samples: 100,
            evaluations: 5,
            temperature: Temperature::Relative,
            estimator: Estimator::Nested,
            goal: Goal::Everything,
        }
    }
}

/// Why there is no batch.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum DesignError {
    /// Constraints that cannot be met.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// The bound is one on the information about the whole model.
    #[error("the bound is for information about the whole model only; use another estimator or no goal")]
    BoundWithGoal,
    /// Only greedy rules compare one more row with a new experiment.
    #[error(
        "replicates = \"auto\" needs a greedy strategy, which compares one more row with a new experiment"
    )]
    AutoNeedsGreedy,
    /// Rows of the same experiment set the same variable again.
    #[error("replicates = \"auto\" and without-replacement exclude each other")]
    AutoWithoutReplacement,
    /// A setting that is out of range.
    #[error("{key} is {}: it must be from {} to {}", shown(*got), shown(*least), shown(*most))]
    OutOfRange {
        /// The setting.
        key: &'static str,
        /// Its value.
        got: f64,
        /// The least that it may be.
        least: f64,
        /// The most that it may be.
        most: f64,
    },
    /// Settings that are each possible but together need too much memory.
    #[error("{product} gives {got:.0} numbers, more than fit in memory; lower {key} to {most}")]
    TooLarge {
        /// What is multiplied.
        product: &'static str,
        /// The product.
        got: f64,
        /// What to lower.
        key: &'static str,
        /// The most that it may be with everything else as it is.
        most: usize,
    },
    /// A variable that the belief does not have.
    #[error("{what} names variable {node}, but the belief has {variables}, numbered from 0")]
    UnknownVariable {
        /// What names it.
        what: &'static str,
        /// Its number.
        node: Node,
        /// Variables of the belief.
        variables: usize,
    },
    /// A utility about the structure without a belief about graphs.
    #[error(
        "this strategy needs graphs with parameters integrated out, which only mcmc-linear and mcmc-gp give"
    )]
    NoGraphs,
    /// Graphs over other variables than the models.
    #[error("the graphs are over other variables than the models")]
    OtherGraphs,
    /// Numbers too extreme to compute with.
    #[error(
        "what the experiments are worth is not a finite number: some values are too extreme to compute with; check bounds, \
         units and the noise of the models"
    )]
    NotFinite,
    /// The observer asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl DesignError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Stopped(_) => ErrorKind::Stopped,
            _ => ErrorKind::Input,
        }
    }
}

const COUNTS: RangeInclusive<usize> = 1..=10_000;
const REPLICATES: RangeInclusive<usize> = 1..=100_000;
/// At least two, for a standard error.
const SAMPLES: RangeInclusive<usize> = 2..=1_000_000;
const TEMPERATURES: RangeInclusive<f64> = 1e-9..=1e9;
const KAPPAS: RangeInclusive<f64> = 0.0..=1e6;

/// Outcomes of one draw and design.
const MOST_OUTCOMES: usize = 1_000_000;

/// Numbers of one table in memory (4 GB); a few such tables exist at a time.
const MOST_NUMBERS: f64 = (1u64 << 29) as f64;

impl Designer {
    /// Are these settings valid? Belief and constraints are checked later.
    pub fn check(&self) -> Result<(), DesignError> {
        let counts = [
            ("batch", self.batch, COUNTS),
            ("replicates", self.replicates.at_a_time(), REPLICATES),
            ("samples", self.samples, SAMPLES),
            ("evaluations", self.evaluations, COUNTS),
        ];
        for (key, got, range) in counts {
            within(key, got as f64, *range.start() as f64..=*range.end() as f64)?;
        }
        let replicates = self.replicates.at_a_time();
        if self.samples * replicates > MOST_OUTCOMES {
            return Err(DesignError::TooLarge {
                product: "samples times replicates",
                got: (self.samples * replicates) as f64,
                key: "samples",
                most: MOST_OUTCOMES / replicates,
            });
        }
        let values = -MOST_VALUE..=MOST_VALUE;
        match &self.values {
            Values::Fixed(value) => within("fixed-value", *value, values)?,
            Values::Grid(grid) => {
                within("the number of values in grid", grid.len() as f64, 0.0..=*COUNTS.end() as f64)?;
                grid.iter().try_for_each(|value| within("a value of grid", *value, values.clone()))?;
            }
            Values::GpUcb { kappa } => within("kappa", *kappa, KAPPAS)?,
            Values::Sample | Values::Refined => {}
        }
        if let Temperature::Given(temperature) = self.temperature {
            within("temperature", temperature, TEMPERATURES)?;
        }
        if self.replicates == Replicates::Auto && self.strategy.parts().1 != Rule::Greedy {
            return Err(DesignError::AutoNeedsGreedy);
        }
        if self.estimator == Estimator::Bound && self.goal != Goal::Everything {
            return Err(DesignError::BoundWithGoal);
        }
        Ok(())
    }

    /// Do the paths fit in memory, with this many sets of parents?
    pub(super) fn check_paths(&self, families: usize) -> Result<(), DesignError> {
        let rows = (self.batch * self.replicates.at_a_time()) as f64;
        let (samples, product) = (self.samples as f64, "samples times sets of parents times rows");
        fits(product, samples * families as f64 * (1.0 + rows) * NUMBERS_OF_ROW, ("samples", samples))
    }

    /// Do the tables fit in memory, with this many draws, variables and targets?
    pub(super) fn check_size(
        &self,
        draws: usize,
        variables: usize,
        targets: usize,
    ) -> Result<(), DesignError> {
        let [c, d, m] = [draws, variables, self.samples].map(|count| count as f64);
        // Log-densities of the outcomes of every draw under every draw.
        let most = (MOST_NUMBERS / *SAMPLES.start() as f64).sqrt();
        within("the number of draws", c, 1.0..=most)?;
        fits("draws times draws times samples", c * c * m, ("samples", m))?;
        // What all designs of a round share, of one draw.
        let shared = m * (c * (d + 1.0) + 2.0 * d);
        fits("samples times draws times variables", shared, ("samples", m))?;
        let (replicates, product) =
            (self.replicates.at_a_time() as f64, "replicates times samples times draws times variables");
        fits(product, shared * replicates, ("replicates", replicates))?;
        // The results of every draw for every design of a table.
        let of_design = if self.strategy.parts().0 == Utility::Discrepancy { 2.0 * d } else { 2.0 };
        let values = self.values.most(self.evaluations) as f64;
        let product = "values of each target times targets times draws";
        fits(product, values * targets as f64 * c * of_design, ("the number of values", values))
    }
}

/// Numbers that a path keeps of a row for one set of parents, about: coordinates of a process.
const NUMBERS_OF_ROW: f64 = 32.0;

/// Is the number within the range? NaN never is.
pub(super) fn within(key: &'static str, got: f64, range: RangeInclusive<f64>) -> Result<(), DesignError> {
    if range.contains(&got) {
        return Ok(());
    }
    Err(DesignError::OutOfRange { key, got, least: *range.start(), most: *range.end() })
}

/// Do this many numbers fit in memory? If not, lowering one of the factors helps.
fn fits(product: &'static str, got: f64, (key, now): (&'static str, f64)) -> Result<(), DesignError> {
    if got <= MOST_NUMBERS {
        return Ok(());
    }
    Err(DesignError::TooLarge { product, got, key, most: (now * MOST_NUMBERS / got) as usize })
}

/// As people write it: powers of ten where there would be many zeros.
fn shown(number: f64) -> String {
    let long = number != 0.0 && !(1e-4..1e10).contains(&number.abs());
    if long { format!("{number:e}") } else { number.to_string() }
}
