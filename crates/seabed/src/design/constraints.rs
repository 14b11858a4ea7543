//! What a laboratory can do: which variables it can set, to which values, at what cost, how often.

use crate::data::Names;
use crate::graph::Node;
use crate::scm::Intervention;

/// Values that a variable can be set to.
#[derive(Clone, PartialEq, Debug)]
pub enum Levels {
    /// Anything from the first to the second number.
    Range(f64, f64),
    /// One of these, ascending.
    List(Vec<f64>),
}

/// A variable that can be set.
#[derive(Clone, PartialEq, Debug)]
pub struct Allowed {
    /// To which values.
    pub levels: Levels,
    /// What an experiment on it costs, above 0.
    pub cost: f64,
}

/// All that limits a batch.
#[derive(Clone, PartialEq, Debug)]
pub struct Constraints {
    /// For every variable how it can be set, or none if it cannot.
    pub variables: Vec<Option<Allowed>>,
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
    /// A range that is none.
    #[error("{name:?} can be set from {low} to {high}: bounds are finite, the lower one first")]
    Range {
        /// The variable.
        name: String,
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// No level, or one that is no number.
    #[error("the levels of {name:?} are {levels:?}: list at least one finite number")]
    Levels {
        /// The variable.
        name: String,
        /// The levels.
        levels: Vec<f64>,
    },
    /// A cost that is none.
    #[error("an experiment on {name:?} costs {cost}: costs are finite and above 0")]
    Cost {
        /// The variable.
        name: String,
        /// The cost.
        cost: f64,
    },
    /// Not even the cheapest experiment can be paid.
    #[error("the budget is {budget}, but the cheapest experiment costs {cheapest}")]
    Budget {
        /// The budget.
        budget: f64,
        /// The lowest cost.
        cheapest: f64,
    },
    /// The batch needs more experiments than targets and repeats allow.
    #[error(
        "{targets} targets with at most {repeats} experiments each allow no more than {most} experiments, not {batch}; \
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
    /// No target at a time.
    #[error("an experiment sets at least one variable")]
    NoTargets,
}

impl Levels {
    /// The allowed value nearest to a wish.
    pub fn nearest(&self, wish: f64) -> f64 {
        match self {
            Self::Range(low, high) => wish.clamp(*low, *high),
            Self::List(levels) => {
                let distance = |level: &&f64| (**level - wish).abs();
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

/// The value to some ten-thousandth of the width: nobody sets a dial to sixteen digits.
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
        Self { variables: vec![Some(allowed); variables], budget: None, max_repeats: None, max_targets: 1 }
    }

    /// The constraints over variables in another order: variable k of the result is the one that was `from[k]`.
    pub(super) fn reordered(&self, from: &[Node]) -> Self {
        Self { variables: from.iter().map(|&node| self.variables[node].clone()).collect(), ..self.clone() }
    }

    /// Can a batch of this size meet the constraints at all?
    pub fn check(&self, names: &Names, batch: usize) -> Result<(), ConstraintError> {
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
            if !(allowed.cost > 0.0 && allowed.cost.is_finite()) {
                return Err(ConstraintError::Cost { name: name(), cost: allowed.cost });
            }
            cheapest = cheapest.min(allowed.cost);
        }
        let targets = self.targets().count();
        if targets == 0 {
            return Err(ConstraintError::NoTarget);
        }
        if self.max_targets == 0 {
            return Err(ConstraintError::NoTargets);
        }
        if let Some(budget) = self.budget.filter(|budget| !(*budget >= cheapest)) {
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

    /// What an experiment costs: the sum over its targets.
    pub fn cost(&self, design: &Intervention) -> f64 {
        design.settings().iter().filter_map(|(node, _)| self.variables[*node].as_ref()).map(|a| a.cost).sum()
    }

    /// Can the design be added to the batch?
    pub fn admits(&self, batch: &[Intervention], design: &Intervention) -> bool {
        let possible = design.settings().iter().all(|&(node, value)| {
            self.variables[node].as_ref().is_some_and(|allowed| allowed.levels.allows(value))
        });
        let spent: f64 = batch.iter().map(|chosen| self.cost(chosen)).sum();
        // A budget that is a sum of costs must admit that sum, whatever the rounding.
        let paid = self.budget.is_none_or(|budget| spent + self.cost(design) <= budget * (1.0 + 1e-12));
        let repeats = |node: Node| batch.iter().filter(|chosen| chosen.value(node).is_some()).count();
        let fresh = self
            .max_repeats
            .is_none_or(|most| design.settings().iter().all(|&(node, _)| repeats(node) < most));
        possible && paid && fresh && design.settings().len() <= self.max_targets
    }
}
