//! What a laboratory can do: which variables it can set, to which values, at what cost, how often.

use serde::{Deserialize, Serialize};

pub(super) use crate::data::MOST_VALUE;
use crate::data::{DataSummary, Dataset, Names, VariableSummary};
use crate::graph::Node;
use crate::scm::Intervention;

/// Values that a variable can be set to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Levels {
    /// Anything from the first to the second number.
    Range(f64, f64),
    /// One of these, ascending.
    List(Vec<f64>),
}

/// A variable that can be set.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// To which values.
    pub levels: Levels,
    /// What a row in which it is set costs, above 0.
    #[serde(default = "one")]
    pub cost: f64,
}

fn one() -> f64 {
    1.0
}

/// All that limits a batch; with the variables by name it is a [`NamedConstraints`](super::NamedConstraints).
#[derive(Clone, PartialEq, Debug)]
pub struct Constraints {
    /// For every variable how it can be set, or none if it cannot.
    pub variables: Vec<Option<Allowed>>,
    /// What an experiment costs besides its rows, once for all rows in which the same is set; not below 0.
    pub experiment_cost: f64,
    /// The most that a batch may cost.
    pub budget: Option<f64>,
    /// The most experiments of a batch that set the same variable.
    pub max_repeats: Option<usize>,
    /// The most variables that one experiment sets.
    pub max_targets: usize,
}

/// Constraints that no batch can meet.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ConstraintError {
    /// Nothing can be set.
    #[error("no variable can be intervened on; allow at least one target")]
    NoTarget,
    /// An invalid range.
    #[error("{name:?} has the range {low} to {high}: bounds must be finite, the lower one first")]
    Range {
        /// The variable.
        name: String,
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// No level, or one that is not finite.
    #[error("the levels of {name:?} are {levels:?}: list at least one finite number")]
    Levels {
        /// The variable.
        name: String,
        /// The levels.
        levels: Vec<f64>,
    },
    /// An extreme value.
    #[error("{name:?} has the value {value:e}: values must lie between -1e100 and 1e100")]
    Extreme {
        /// The variable.
        name: String,
        /// The value.
        value: f64,
    },
    /// Constraints on the wrong number of variables.
    #[error("the constraints are for {given} variables, but there are {variables}")]
    Count {
        /// Variables in the constraints.
        given: usize,
        /// Variables of the belief.
        variables: usize,
    },
    /// An unknown name.
    #[error("{name:?} is not a variable{}", near.as_ref().map_or(String::new(), |near| format!("; did you mean {near:?}?")))]
    Unknown {
        /// The name.
        name: String,
        /// The name that was probably meant.
        near: Option<String>,
    },
    /// An invalid cost.
    #[error("an experiment on {name:?} costs {cost}: costs must be above 0 and at most 1e100")]
    Cost {
        /// The variable.
        name: String,
        /// The cost.
        cost: f64,
    },
    /// An invalid cost of every experiment.
    #[error("an experiment costs {cost} besides its rows: this must be from 0 to 1e100")]
    ExperimentCost {
        /// The cost.
        cost: f64,
    },
    /// The budget does not pay for the cheapest experiment.
    #[error("the budget is {budget}, but the cheapest experiment costs {cheapest}")]
    Budget {
        /// The budget.
        budget: f64,
        /// The lowest cost.
        cheapest: f64,
    },
    /// The batch needs more experiments than targets and repeats allow.
    #[error(
        "{targets} targets with at most {repeats} experiments each allow at most {most} experiments, not {batch}; \
         allow more targets or repeats, or ask for a smaller batch"
    )]
    Repeats {
        /// Variables that can be set.
        targets: usize,
        /// Most repeats of one.
        repeats: usize,
        /// Their product.
        most: usize,
        /// The batch that was asked for.
        batch: usize,
    },
    /// No targets per experiment.
    #[error("an experiment must set at least one variable")]
    NoTargets,
}

impl Levels {
    /// The allowed value nearest to `value`.
    pub fn nearest(&self, value: f64) -> f64 {
        match self {
            Self::Range(low, high) => value.clamp(*low, *high),
            Self::List(levels) => {
                let distance = |level: &&f64| (**level - value).abs();
                *levels
                    .iter()
                    .min_by(|a, b| distance(a).total_cmp(&distance(b)))
                    .expect("levels are not empty")
            }
        }
    }

    /// Is the value allowed?
    pub fn allows(&self, value: f64) -> bool {
        match self {
            Self::Range(low, high) => (*low..=*high).contains(&value),
            Self::List(levels) => levels.contains(&value),
        }
    }

    /// Every number in it.
    fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Range(low, high) => vec![*low, *high],
            Self::List(levels) => levels.clone(),
        }
    }

    /// `count` values spread over what is allowed; fewer if there are fewer levels.
    pub fn spread(&self, count: usize) -> Vec<f64> {
        match self {
            Self::Range(low, high) if count == 1 => vec![0.5 * (low + high)],
            Self::Range(low, high) => {
                let step = (high - low) / (count - 1) as f64;
                (0..count).map(|k| self.nearest(rounded(low + step * k as f64, high - low))).collect()
            }
            Self::List(levels) if levels.len() <= count => levels.clone(),
            Self::List(levels) if count == 1 => vec![levels[levels.len() / 2]],
            Self::List(levels) => (0..count).map(|k| levels[k * (levels.len() - 1) / (count - 1)]).collect(),
        }
    }
}

/// The value rounded to about a ten-thousandth of the width: nobody sets a dial to sixteen digits.
fn rounded(value: f64, width: f64) -> f64 {
    let digits = 4 - (width.max(1e-300).log10().floor() as i32).clamp(-290, 290);
    let unit = 10f64.powi(digits.abs());
    let rounded = if digits >= 0 { (value * unit).round() / unit } else { (value / unit).round() * unit };
    if rounded.is_finite() { rounded } else { value }
}

impl Constraints {
    /// Every variable can be set to anything between the bounds, at cost 1.
    pub fn range(variables: usize, low: f64, high: f64) -> Self {
        let allowed = Allowed { levels: Levels::Range(low, high), cost: 1.0 };
        Self::of(vec![Some(allowed); variables])
    }

    /// What a table of data suggests: every variable can be set, at cost 1, to anything between the least and the most that was
    /// measured or set. One that never varied cannot be set.
    pub fn observed(data: &Dataset) -> Self {
        Self::remembered(&DataSummary::of(data))
    }

    /// As [`Constraints::observed`], by what a belief remembers of its data.
    pub fn remembered(data: &DataSummary) -> Self {
        let allowed = |variable: &VariableSummary| {
            let (low, high) = variable.range();
            (low < high).then_some(Allowed { levels: Levels::Range(low, high), cost: 1.0 })
        };
        Self::of(data.variables.iter().map(allowed).collect())
    }

    /// One variable at a time, and no other limits.
    fn of(variables: Vec<Option<Allowed>>) -> Self {
        Self { variables, experiment_cost: 0.0, budget: None, max_repeats: None, max_targets: 1 }
    }

    /// The constraints over variables in another order: variable k of the result is the one that was `from[k]`.
    pub(super) fn reordered(&self, from: &[Node]) -> Self {
        Self { variables: from.iter().map(|&node| self.variables[node].clone()).collect(), ..self.clone() }
    }

    /// The constraints when every experiment is done, and paid, this many times.
    pub(super) fn repeated(mut self, times: usize) -> Self {
        for allowed in self.variables.iter_mut().flatten() {
            allowed.cost *= times as f64;
        }
        self.max_targets = self.max_targets.min(self.targets().count());
        self
    }

    /// Information is divided by this when designs are compared: what one adds to the cost of the batch, if costs differ or
    /// there is a budget.
    pub(super) fn price(&self, batch: &[Intervention], design: &Intervention) -> f64 {
        let matters = self.budget.is_some() || self.experiment_cost > 0.0 || !self.costs_are_equal();
        if matters { self.added_cost(batch, design) } else { 1.0 }
    }

    /// Does a row cost the same whatever is set?
    pub(super) fn costs_are_equal(&self) -> bool {
        let mut costs = self.variables.iter().flatten().map(|allowed| allowed.cost);
        let first = costs.next();
        costs.all(|cost| Some(cost) == first)
    }

    /// Can a batch of this size meet the constraints?
    pub fn check(&self, names: &Names, batch: usize) -> Result<(), ConstraintError> {
        if self.variables.len() != names.len() {
            return Err(ConstraintError::Count { given: self.variables.len(), variables: names.len() });
        }
        if !(0.0..=MOST_VALUE).contains(&self.experiment_cost) {
            return Err(ConstraintError::ExperimentCost { cost: self.experiment_cost });
        }
        let mut cheapest = f64::INFINITY;
        for (name, allowed) in names.iter().zip(&self.variables) {
            let Some(allowed) = allowed else { continue };
            let name = || name.clone();
            match &allowed.levels {
                Levels::Range(low, high) if !(low <= high && low.is_finite() && high.is_finite()) => {
                    return Err(ConstraintError::Range { name: name(), low: *low, high: *high });
                }
                Levels::List(levels)
                    if levels.is_empty() || levels.iter().any(|level| !level.is_finite()) =>
                {
                    return Err(ConstraintError::Levels { name: name(), levels: levels.clone() });
                }
                _ => {}
            }
            if let Some(value) = allowed.levels.numbers().into_iter().find(|value| value.abs() > MOST_VALUE) {
                return Err(ConstraintError::Extreme { name: name(), value });
            }
            if !(allowed.cost > 0.0 && allowed.cost <= MOST_VALUE) {
                return Err(ConstraintError::Cost { name: name(), cost: allowed.cost });
            }
            cheapest = cheapest.min(allowed.cost + self.experiment_cost);
        }
        let targets = self.targets().count();
        if targets == 0 {
            return Err(ConstraintError::NoTarget);
        }
        if self.max_targets == 0 {
            return Err(ConstraintError::NoTargets);
        }
        if let Some(budget) = self.budget.filter(|budget| budget.is_nan() || *budget < cheapest) {
            return Err(ConstraintError::Budget { budget, cheapest });
        }
        if let Some(repeats) = self.max_repeats {
            let most = targets.saturating_mul(repeats);
            if batch > most {
                return Err(ConstraintError::Repeats { targets, repeats, most, batch });
            }
        }
        Ok(())
    }

    /// The variables that can be set.
    pub fn targets(&self) -> impl Iterator<Item = Node> + '_ {
        self.variables.iter().enumerate().filter(|(_, allowed)| allowed.is_some()).map(|(node, _)| node)
    }

    /// What a row of an experiment costs: the sum over its targets.
    pub fn cost(&self, design: &Intervention) -> f64 {
        design.settings().iter().filter_map(|(node, _)| self.variables[*node].as_ref()).map(|a| a.cost).sum()
    }

    /// What the design adds to the cost of the batch.
    pub(super) fn added_cost(&self, batch: &[Intervention], design: &Intervention) -> f64 {
        self.cost(design) + if batch.contains(design) { 0.0 } else { self.experiment_cost }
    }

    /// Can the design be added to the batch within the budget?
    pub(super) fn affords(&self, batch: &[Intervention], design: &Intervention) -> bool {
        let Some(budget) = self.budget else { return true };
        let spent: f64 = (0..batch.len()).map(|k| self.added_cost(&batch[..k], &batch[k])).sum();
        // A budget that is a sum of costs must admit that sum, whatever the rounding.
        spent + self.added_cost(batch, design) <= budget * (1.0 + 1e-12)
    }

    /// Can the design be added to the batch?
    pub fn admits(&self, batch: &[Intervention], design: &Intervention) -> bool {
        let possible = design.settings().iter().all(|&(node, value)| {
            self.variables[node].as_ref().is_some_and(|allowed| allowed.levels.allows(value))
        });
        let repeats = |node: Node| batch.iter().filter(|chosen| chosen.value(node).is_some()).count();
        let fresh = self
            .max_repeats
            .is_none_or(|most| design.settings().iter().all(|&(node, _)| repeats(node) < most));
        possible && self.affords(batch, design) && fresh && design.settings().len() <= self.max_targets
    }
}
