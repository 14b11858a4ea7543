//! Interventions: do(X_j = v) on any set of targets.

use serde::{Deserialize, Serialize};

use crate::graph::{Node, NodeSet};

/// The targets and the values that they are set to. No target: an observation.
///
/// In files a list of pairs of node and value: `[[2, 1.5]]`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<(Node, f64)>", into = "Vec<(Node, f64)>")]
pub struct Intervention {
    /// Ascending by node, each node once.
    settings: Vec<(Node, f64)>,
}

/// Why settings are not an intervention.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum InterventionError {
    /// Two values for one target.
    #[error("variable {node} is set twice, to {first} and to {second}; a target takes one value")]
    Twice {
        /// The target.
        node: Node,
        /// Its first value.
        first: f64,
        /// Its second value.
        second: f64,
    },
    /// A value that is not finite.
    #[error("variable {node} is set to {value}; a target takes a finite number")]
    NotFinite {
        /// The target.
        node: Node,
        /// The value.
        value: f64,
    },
}

impl TryFrom<Vec<(Node, f64)>> for Intervention {
    type Error = InterventionError;

    fn try_from(settings: Vec<(Node, f64)>) -> Result<Self, InterventionError> {
        Self::new(settings)
    }
}

impl From<Intervention> for Vec<(Node, f64)> {
    fn from(intervention: Intervention) -> Self {
        intervention.settings
    }
}

impl Intervention {
    /// No target: the system is only observed.
    pub fn none() -> Self {
        Self::default()
    }

    /// do(X_node = value) for every pair; each node at most once, finite values.
    pub fn new(settings: impl IntoIterator<Item = (Node, f64)>) -> Result<Self, InterventionError> {
        let mut settings: Vec<_> = settings.into_iter().collect();
        settings.sort_by_key(|&(node, _)| node);
        if let Some(&(node, value)) = settings.iter().find(|(_, value)| !value.is_finite()) {
            return Err(InterventionError::NotFinite { node, value });
        }
        if let Some(pair) = settings.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(InterventionError::Twice { node: pair[0].0, first: pair[0].1, second: pair[1].1 });
        }
        Ok(Self { settings })
    }

    /// The targets with their values, ascending by node.
    pub fn settings(&self) -> &[(Node, f64)] {
        &self.settings
    }

    /// The value that a node is set to, if it is a target.
    pub fn value(&self, node: Node) -> Option<f64> {
        let at = self.settings.binary_search_by_key(&node, |&(target, _)| target).ok()?;
        Some(self.settings[at].1)
    }

    /// The targets as a set of nodes out of `universe`.
    pub fn targets(&self, universe: usize) -> NodeSet {
        NodeSet::of(universe, self.settings.iter().map(|&(node, _)| node))
    }
}
