//! The goal of the experiments: learning the whole model, or the answer to a question about it.
//!
//! A question divides the draws into groups with the same answer; information about it is the mutual information
//! between the outcome and the group.

use serde::{Deserialize, Serialize};

use crate::graph::{Adjacency, Dag, Node, NodeSet};
use crate::scm::{Ensemble, Intervention};

/// What the experiments are for.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The whole model.
    #[default]
    Everything,
    /// Is there an edge `from -> to`?
    Edge {
        /// The cause.
        from: Node,
        /// The effect.
        to: Node,
    },
    /// Which variables are parents of `of`?
    Parents {
        /// The variable.
        of: Node,
    },
    /// Which variables descend from `of`?
    Descendants {
        /// The variable.
        of: Node,
    },
    /// By how much does the mean of `on` change when `of` is set to 1 instead of 0? Effects are divided into exactly
    /// none and eight groups of about equal weight.
    Effect {
        /// The cause.
        of: Node,
        /// The effect.
        on: Node,
    },
}

/// Groups that the effects other than none are divided into.
pub const EFFECT_GROUPS: usize = 8;

/// Outcomes per mean; the two interventions have the same noise, so linear effects are exact to
/// rounding.
const EFFECT_SAMPLES: usize = 500;

impl Goal {
    /// The same question about variables in another order: variable k becomes `to[k]`.
    pub(super) fn relabelled(&self, to: &[Node]) -> Self {
        match *self {
            Self::Everything => Self::Everything,
            Self::Edge { from, to: head } => Self::Edge { from: to[from], to: to[head] },
            Self::Parents { of } => Self::Parents { of: to[of] },
            Self::Descendants { of } => Self::Descendants { of: to[of] },
            Self::Effect { of, on } => Self::Effect { of: to[of], on: to[on] },
        }
    }

    /// The variables that the question is about.
    pub(super) fn variables(&self) -> Vec<Node> {
        match *self {
            Self::Everything => vec![],
            Self::Edge { from, to } => vec![from, to],
            Self::Parents { of } | Self::Descendants { of } => vec![of],
            Self::Effect { of, on } => vec![of, on],
        }
    }

    /// Does the pair, as an edge or as ancestor and descendant, bear on the question?
    pub(super) fn asks_about(&self, from: Node, to: Node) -> bool {
        match *self {
            Self::Everything => true,
            Self::Edge { from: a, to: b } | Self::Effect { of: a, on: b } => (from, to) == (a, b),
            Self::Parents { of } => to == of,
            Self::Descendants { of } => from == of,
        }
    }

    /// The answer of every draw, as a group number from 0 on.
    pub fn groups(&self, ensemble: &Ensemble, stream: crate::num::random::Stream) -> Vec<usize> {
        let draws = ensemble.draws();
        match *self {
            Self::Everything => (0..draws.len()).collect(),
            Self::Edge { .. } | Self::Parents { .. } | Self::Descendants { .. } => {
                let graphs: Vec<Dag> = draws.iter().map(|draw| draw.dag().clone()).collect();
                self.groups_of_graphs(&graphs)
            }
            Self::Effect { of, on } => {
                let mean = |draw: &crate::scm::Scm, value: f64| {
                    let setting = Intervention::new([(of, value)]).expect("one target with a finite value");
                    let column = &draw.sample(EFFECT_SAMPLES, &setting, stream)[on];
                    column.iter().sum::<f64>() / EFFECT_SAMPLES as f64
                };
                let effects: Vec<Option<f64>> = draws
                    .iter()
                    .map(|draw| {
                        let connected = draw.dag().descendants(of).contains(on);
                        connected.then(|| mean(draw, 1.0) - mean(draw, 0.0))
                    })
                    .collect();
                grouped_effects(&effects, ensemble.weights())
            }
        }
    }
}

impl Goal {
    /// The answer that a graph, which may have cycles, gives: the parents or the descendants asked for; for an edge or an
    /// effect its head, if it is there. None about everything.
    pub fn answer(&self, graph: &impl Adjacency) -> Option<NodeSet> {
        let nodes = graph.nodes();
        let head = |there: bool, head: Node| NodeSet::of(nodes, there.then_some(head));
        Some(match *self {
            Self::Everything => return None,
            Self::Edge { from, to } => head(graph.row(from).contains(to), to),
            Self::Parents { of } => {
                NodeSet::of(nodes, (0..nodes).filter(|&node| graph.row(node).contains(of)))
            }
            Self::Descendants { of } => reached(graph, of),
            Self::Effect { of, on } => head(reached(graph, of).contains(on), on),
        })
    }

    /// The answer of every graph, as a group number from 0 on; an effect is there or not.
    pub(super) fn groups_of_graphs(&self, graphs: &[Dag]) -> Vec<usize> {
        match *self {
            Self::Everything => (0..graphs.len()).collect(),
            _ => numbered(graphs.iter().map(|graph| self.answer(graph))),
        }
    }
}

/// All other nodes that directed paths lead to.
fn reached(graph: &impl Adjacency, from: Node) -> NodeSet {
    let mut found = NodeSet::empty(graph.nodes());
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        open.extend(graph.row(node).iter().filter(|&next| found.insert(next)));
    }
    found.remove(from);
    found
}

/// Equal answers get equal numbers, in the order of their first appearance.
fn numbered<T: PartialEq>(answers: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known: Vec<T> = Vec::new();
    answers
        .map(|answer| match known.iter().position(|k| *k == answer) {
            Some(number) => number,
            None => {
                known.push(answer);
                known.len() - 1
            }
        })
        .collect()
}

/// No effect is a group of its own; the others are cut by size into groups of about equal weight.
fn grouped_effects(effects: &[Option<f64>], weights: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..effects.len()).filter(|&l| effects[l].is_some()).collect();
    order.sort_by(|&a, &b| effects[a].unwrap_or(0.0).total_cmp(&effects[b].unwrap_or(0.0)));
    let total: f64 = order.iter().map(|&l| weights[l]).sum();
    let mut answer = vec![0; effects.len()];
    let mut before = 0.0;
    let mut last: Option<(f64, usize)> = None;
    // Effects are means over simulated outcomes: what differs by rounding is the same effect.
    let scale = order.iter().map(|&l| effects[l].unwrap_or(0.0).abs()).fold(0.0, f64::max);
    for &l in &order {
        let effect = effects[l].unwrap_or(0.0);
        let group = 1 + (((before / total) * EFFECT_GROUPS as f64) as usize).min(EFFECT_GROUPS - 1);
        answer[l] = match last {
            Some((same, group)) if effect - same <= 1e-9 * scale => group,
            _ => group,
        };
        last = Some((effect, answer[l]));
        before += weights[l];
    }
    numbered(answer.into_iter())
}
