//! Which graphs are likely before any data: a weight for every set of parents, whose product is the graph's.

use serde::{Deserialize, Serialize};

use super::mask::Mask;
use crate::data::{Names, position};
use crate::graph::Node;
use crate::posterior::UnusableData;
use crate::settings::{SettingsError, check_positive};

/// Which graphs are likely before any data; given that they are acyclic.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgePrior {
    /// Every edge with the same probability: `edges_per_node` of them are expected for each variable.
    Er {
        /// Expected number of edges for each variable, before cycles are ruled out.
        edges_per_node: f64,
    },
    /// A variable with k parents has a weight (1 + k)⁻³: few of them have many.
    Sf,
    /// A probability for single edges; the others as in `Er`.
    Pairs {
        /// (from, to, probability), by the names of the variables.
        probabilities: Vec<(String, String, f64)>,
        /// Of the pairs that are not listed.
        edges_per_node: f64,
    },
}

/// An acyclic graph can have an edge in at most one of two directions; a lower probability would in effect forbid edges.
const PROBABILITIES: (f64, f64) = (1e-6, 0.5);

impl EdgePrior {
    /// Are all numbers within their ranges, and is no pair named twice?
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let edges_per_node = match self {
            Self::Er { edges_per_node } | Self::Pairs { edges_per_node, .. } => *edges_per_node,
            Self::Sf => 1.0,
        };
        check_positive("edges-per-node", edges_per_node)?;
        let Self::Pairs { probabilities, .. } = self else { return Ok(()) };
        for (place, (from, to, probability)) in probabilities.iter().enumerate() {
            let twice = probabilities[..place].iter().any(|(a, b, _)| (a, b) == (from, to));
            let problem = if twice {
                format!("the prior has two probabilities for the edge {from:?} -> {to:?}; keep one of them")
            } else if !(*probability > 0.0 && *probability < 1.0) {
                format!(
                    "the edge {from:?} -> {to:?} has the prior probability {probability}: it must be above 0 and below 1; \
                     put certain edges into background knowledge"
                )
            } else {
                continue;
            };
            return Err(SettingsError::Conflict { problem });
        }
        Ok(())
    }

    /// Is every pair one of two different variables?
    pub(super) fn check_names(&self, names: &Names) -> Result<(), UnusableData> {
        let Self::Pairs { probabilities, .. } = self else { return Ok(()) };
        for (from, to, _) in probabilities {
            let (tail, head) = (position(names, from), position(names, to));
            if tail.is_none() || head.is_none() || tail == head {
                return Err(UnusableData::UnknownPair { from: from.clone(), to: to.clone() });
            }
        }
        Ok(())
    }

    /// The log-weights of sets of parents of a node, up to a constant.
    pub(super) fn of_node(&self, node: Node, names: &Names) -> LogPrior {
        let nodes = names.len();
        let usual = |edges_per_node: f64| {
            let p = edges_per_node / (nodes.max(2) - 1) as f64;
            log_odds(p.clamp(PROBABILITIES.0, PROBABILITIES.1))
        };
        match self {
            Self::Er { edges_per_node } => LogPrior::Odds(vec![usual(*edges_per_node); nodes]),
            Self::Sf => LogPrior::Few,
            Self::Pairs { probabilities, edges_per_node } => {
                let mut odds = vec![usual(*edges_per_node); nodes];
                for (from, to, p) in probabilities {
                    if position(names, to) == Some(node) {
                        odds[position(names, from).expect("checked")] = log_odds(*p);
                    }
                }
                LogPrior::Odds(odds)
            }
        }
    }
}

fn log_odds(p: f64) -> f64 {
    p.ln() - (1.0 - p).ln()
}

/// The log-weight of a set of parents of one node.
pub(super) enum LogPrior {
    /// ln p/(1 - p) of every parent.
    Odds(Vec<f64>),
    /// (1 + number of parents)⁻³.
    Few,
}

impl LogPrior {
    pub fn of(&self, parents: Mask) -> f64 {
        match self {
            Self::Odds(odds) => parents.nodes().map(|parent| odds[parent]).sum(),
            Self::Few => -3.0 * (1.0 + parents.len() as f64).ln(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::mcmc::mask::bit;

    #[test]
    fn weights_of_sets() {
        let names: Names = ["a", "b", "c"].map(String::from).into();
        let er = EdgePrior::Er { edges_per_node: 0.5 }.of_node(0, &names);
        assert!((er.of(bit(1) | bit(2)) - 2.0 * (0.25f64 / 0.75).ln()).abs() < 1e-12);
        assert_eq!(er.of(Mask::EMPTY), 0.0);
        let sf = EdgePrior::Sf.of_node(0, &names);
        assert!((sf.of(bit(1) | bit(2)) + 3.0 * 3f64.ln()).abs() < 1e-12);
        let listed = vec![("b".to_string(), "a".to_string(), 0.9)];
        let pairs = EdgePrior::Pairs { probabilities: listed, edges_per_node: 0.5 };
        assert!((pairs.of_node(0, &names).of(bit(1)) - 9f64.ln()).abs() < 1e-12);
        assert!((pairs.of_node(2, &names).of(bit(1)) - (1f64 / 3.0).ln()).abs() < 1e-12);
        assert!(pairs.check().is_ok() && pairs.check_names(&names).is_ok());
        for (from, to, p) in [("b", "z", 0.5), ("b", "b", 0.5), ("b", "a", 1.0), ("b", "a", f64::NAN)] {
            let probabilities = vec![(from.to_string(), to.to_string(), p)];
            let prior = EdgePrior::Pairs { probabilities, edges_per_node: 1.0 };
            assert!(prior.check().is_err() || prior.check_names(&names).is_err());
        }
    }
}
