//! How experiments are chosen, as people write it: the flat table `[design]` of a configuration.

use serde::{Deserialize, Serialize};

use super::constraints::{ConstraintError, Constraints, MOST_VALUE};
use super::designer::{DesignError, Designer, within};
use super::goal::Goal;
use super::goal_text::GoalError;
use super::information::Estimator;
use super::named_constraints::node_named;
use super::replicates::Replicates;
use super::strategy::Strategy;
use super::temperature::Temperature;
use super::value::Values;

/// How experiments are chosen; see [`Designer`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DesignSettings {
    /// How the batch is put together.
    pub strategy: Strategy,
    /// How values are chosen.
    pub values: ValuesName,
    /// The value of `fixed`.
    pub fixed_value: f64,
    /// The values of `grid`.
    pub grid: Vec<f64>,
    /// Experiments per round.
    pub batch: usize,
    /// Rows of each experiment.
    pub replicates: Replicates,
    /// Outcomes simulated of each draw.
    pub samples: usize,
    /// Values tried for each target.
    pub evaluations: usize,
    /// Temperature of the soft strategies.
    pub temperature: Temperature,
    /// How information is estimated.
    pub estimator: Estimator,
    /// Lowest and highest value that a variable can be set to.
    pub range: (f64, f64),
    /// The question to answer, as in [`Goal::parse`]; the whole model if empty. Random choices do not depend on it.
    pub goal: String,
    /// What an experiment costs besides its rows.
    pub experiment_cost: f64,
    /// Variables that are never set, by name.
    pub forbidden: Vec<String>,
    /// Is no variable set again before all others that may be set, over all rounds?
    pub without_replacement: bool,
}

/// Ways to choose values, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValuesName {
    /// One value for all.
    Fixed,
    /// Draws around what is observed.
    Sample,
    /// A list of values.
    Grid,
    /// Evenly spread values, then more beside the best.
    Refined,
    /// Bayesian optimisation of the information.
    GpUcb,
}

impl Default for DesignSettings {
    fn default() -> Self {
        let designer = Designer::default();
        Self {
            strategy: designer.strategy,
            values: ValuesName::GpUcb,
            fixed_value: 0.0,
            grid: Vec::new(),
            batch: designer.batch,
            replicates: designer.replicates,
            samples: designer.samples,
            evaluations: designer.evaluations,
            // As in the paper.
            temperature: Temperature::Given(2.0),
            estimator: designer.estimator,
            range: (-10.0, 10.0),
            goal: String::new(),
            experiment_cost: 0.0,
            forbidden: Vec::new(),
            without_replacement: false,
        }
    }
}

impl DesignSettings {
    /// The designer with these settings, for the whole model: the question needs names, see [`goal`](Self::goal).
    pub fn designer(&self) -> Designer {
        Designer {
            strategy: self.strategy,
            values: match self.values {
                ValuesName::Fixed => Values::Fixed(self.fixed_value),
                ValuesName::Sample => Values::Sample,
                ValuesName::Grid => Values::Grid(self.grid.clone()),
                ValuesName::Refined => Values::Refined,
                ValuesName::GpUcb => Values::gp_ucb(),
            },
            batch: self.batch,
            replicates: self.replicates,
            samples: self.samples,
            evaluations: self.evaluations,
            temperature: self.temperature,
            estimator: self.estimator,
            goal: Goal::Everything,
        }
    }

    /// Are these settings valid? Checked before any work.
    pub fn check(&self) -> Result<(), DesignError> {
        let (low, high) = self.range;
        within("the lower end of range", low, -MOST_VALUE..=MOST_VALUE)?;
        within("the upper end of range", high, low..=MOST_VALUE)?;
        if self.estimator == Estimator::Bound && !self.goal.is_empty() {
            return Err(DesignError::BoundWithGoal);
        }
        if self.replicates == Replicates::Auto && self.without_replacement {
            return Err(DesignError::AutoWithoutReplacement);
        }
        self.designer().check()
    }

    /// The question about variables with these names.
    pub fn goal(&self, names: &[String]) -> Result<Goal, GoalError> {
        if self.goal.is_empty() { Ok(Goal::Everything) } else { Goal::parse(&self.goal, names) }
    }

    /// The constraints on variables with these names.
    pub fn constraints(&self, names: &[String]) -> Result<Constraints, ConstraintError> {
        let mut constraints = Constraints {
            experiment_cost: self.experiment_cost,
            ..Constraints::range(names.len(), self.range.0, self.range.1)
        };
        for name in &self.forbidden {
            constraints.variables[node_named(name, names)?] = None;
        }
        if constraints.targets().next().is_none() {
            return Err(ConstraintError::NoTarget);
        }
        Ok(constraints)
    }
}
