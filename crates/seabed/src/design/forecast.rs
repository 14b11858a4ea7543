//! What a batch is expected to change, in the words of people who ask about edges.

use serde::{Deserialize, Serialize};

use super::features::Features;
use crate::graph::{Dag, Node};

/// What a batch is expected to change in the belief about edges. A pair of variables has three answers: an edge one
/// way, an edge the other way, or none.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Forecast {
    /// Expected number of pairs that are wrong when every pair gets its most probable answer; pending outcomes are
    /// counted as known.
    pub wrong_now: f64,
    /// The same after the batch.
    pub wrong_after: f64,
    /// Expected number of pairs without an answer of at least 90 %.
    pub undecided_now: f64,
    /// The same after the batch.
    pub undecided_after: f64,
    /// As many graphs of equal weight would be as uncertain as the belief.
    pub effective_graphs: f64,
    /// Share of the belief in graphs that were drawn only once. Where it is large, worths are judged on blocks of variables
    /// whose parents depend on each other.
    pub drawn_once: f64,
}

/// From which probability on an answer counts as decided.
const DECIDED: f64 = 0.9;

/// How the probability of an edge is found.
#[derive(Clone, Copy)]
enum Edge {
    Certain(bool),
    Feature { part: usize, place: usize, first: bool },
}

/// Pairs of variables about which not everything is certain.
pub(super) struct Pairs(Vec<(Edge, Edge)>);

impl Pairs {
    /// Of the features of all parts of a belief, one graph of which is the example.
    pub(super) fn new<'a>(parts: impl Iterator<Item = &'a Features>, example: &Dag) -> Self {
        let nodes = example.len();
        let at = |from: Node, to: Node| from * nodes + to;
        let mut edges: Vec<Edge> =
            (0..nodes * nodes).map(|k| Edge::Certain(example.has_edge(k / nodes, k % nodes))).collect();
        for (part, features) in parts.enumerate() {
            for (place, (&(from, to), &first)) in features.pairs.iter().zip(&features.first).enumerate() {
                edges[at(from, to)] = Edge::Feature { part, place, first };
            }
        }
        let open = |edge: Edge| matches!(edge, Edge::Feature { .. });
        let pairs = (0..nodes).flat_map(|i| (0..i).map(move |j| (i, j)));
        let both = pairs.map(|(i, j)| (edges[at(i, j)], edges[at(j, i)]));
        Self(both.filter(|(there, back)| open(*there) || open(*back)).collect())
    }

    /// Expected wrong pairs and undecided pairs, when `otherwise[part][feature]` is the probability that a feature is not
    /// as in the first configuration of its part.
    pub(super) fn count(&self, otherwise: &[Vec<f64>]) -> (f64, f64) {
        let probability = |edge: Edge| match edge {
            Edge::Certain(there) => f64::from(u8::from(there)),
            Edge::Feature { part, place, first: true } => 1.0 - otherwise[part][place],
            Edge::Feature { part, place, first: false } => otherwise[part][place],
        };
        let (mut wrong, mut undecided) = (0.0, 0.0);
        for &(there, back) in &self.0 {
            let (there, back) = (probability(there), probability(back));
            let best = there.max(back).max(1.0 - there - back);
            wrong += (1.0 - best).max(0.0);
            undecided += f64::from(u8::from(best < DECIDED));
        }
        (wrong, undecided)
    }
}
