//! Constraints as they are written in files: by the variables' names, in any order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::constraints::{Allowed, ConstraintError, Constraints};
use crate::data::{closest, position};
use crate::graph::Node;

/// The form of [`Constraints`] in files: `{"variables": {"X1": {"levels": {"range": [-2.0, 2.0]}, "cost": 1.0}, "X3":
/// {"levels": {"list": [0.0, 1.0]}}}, "budget": 10.0, "max-repeats": 2, "max-targets": 1, "experiment-cost": 5.0}`.
///
/// A variable that is not named cannot be set. The default cost is 1, and by default an experiment sets one variable and
/// nothing else is limited.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NamedConstraints {
    /// How variables can be set.
    pub variables: BTreeMap<String, Allowed>,
    /// What an experiment costs besides its rows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub experiment_cost: f64,
    /// The most that a batch may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The most experiments of a batch that set the same variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_repeats: Option<usize>,
    /// The most variables that one experiment sets.
    #[serde(default = "one")]
    pub max_targets: usize,
}

fn one() -> usize {
    1
}

fn is_zero(cost: &f64) -> bool {
    *cost == 0.0
}

impl NamedConstraints {
    /// The form of constraints on variables with these names.
    pub fn new(constraints: &Constraints, names: &[String]) -> Self {
        let allowed = names.iter().zip(&constraints.variables);
        Self {
            variables: allowed.filter_map(|(name, a)| Some((name.clone(), a.clone()?))).collect(),
            experiment_cost: constraints.experiment_cost,
            budget: constraints.budget,
            max_repeats: constraints.max_repeats,
            max_targets: constraints.max_targets,
        }
    }

    /// The constraints on variables with these names; every name that is written must be one of them.
    pub fn constraints(&self, names: &[String]) -> Result<Constraints, ConstraintError> {
        let mut variables = vec![None; names.len()];
        for (name, allowed) in &self.variables {
            variables[node_named(name, names)?] = Some(allowed.clone());
        }
        Ok(Constraints {
            variables,
            experiment_cost: self.experiment_cost,
            budget: self.budget,
            max_repeats: self.max_repeats,
            max_targets: self.max_targets,
        })
    }
}

/// The variable with this name.
pub(super) fn node_named(name: &str, names: &[String]) -> Result<Node, ConstraintError> {
    position(names, name).ok_or_else(|| ConstraintError::Unknown {
        name: name.to_string(),
        near: closest(name, names).map(str::to_string),
    })
}
