//! A walk over graphs under the exact marginal posterior, for models without parameters.
//!
//! SVGD leaves every particle on one graph near the top of its region, and twenty tops are not a posterior. Where
//! p(D | G) is known exactly, Metropolis–Hastings moves of single edges start from the particle's graph and have
//! p(G | D) as their limit, whatever the start; a move costs one or two local scores, most of them remembered.

use super::bge::Bge;
use super::graph_prior::GraphPrior;
use super::latent::Edges;
use crate::graph::{Dag, Node, NodeSet};
use crate::num::random::Draws;

/// Moves between two graphs that are kept, for each ordered pair of variables.
const MOVES: usize = 20;

/// The current graph, with its local scores.
struct Walker<'a> {
    bge: &'a Bge,
    edges: &'a Edges,
    prior: &'a GraphPrior,
    dag: Dag,
    /// ln p(values of a node | its parents) + ln p(its parents), of every node.
    scores: Vec<f64>,
}

/// `count` graphs on a walk that begins at `start`, which obeys `edges`.
pub(super) fn walk(
    bge: &Bge,
    edges: &Edges,
    prior: &GraphPrior,
    start: &Dag,
    count: usize,
    draws: &mut Draws,
) -> Vec<Dag> {
    let nodes = start.len();
    let mut walker = Walker { bge, edges, prior, dag: start.clone(), scores: vec![0.0; nodes] };
    for node in 0..nodes {
        walker.scores[node] = walker.score(node, start.parents(node));
    }
    let graph = |_| {
        for _ in 0..MOVES * nodes * (nodes - 1) {
            walker.step(draws);
        }
        walker.dag.clone()
    };
    (0..count).map(graph).collect()
}

impl Walker<'_> {
    fn score(&self, node: Node, parents: &NodeSet) -> f64 {
        self.bge.local(node, parents) + self.prior.of_column(parents.len(), self.dag.len())
    }

    /// A symmetric proposal: an ordered pair and a kind of move, which adds, removes or reverses an edge.
    fn step(&mut self, draws: &mut Draws) {
        let nodes = self.dag.len();
        let from = draws.below(nodes);
        let to = (from + 1 + draws.below(nodes - 1)) % nodes;
        let turn = draws.bits() & 1 == 1;
        let threshold = draws.uniform().ln();
        let there = self.dag.has_edge(from, to);
        let is_free = |from: Node, to: Node| self.edges.free[to].binary_search(&from).is_ok();
        if !is_free(from, to) || turn && !(there && is_free(to, from)) {
            return;
        }
        let with = |node: Node, parent: Node| {
            let mut parents = self.dag.parents(node).clone();
            if !parents.insert(parent) {
                parents.remove(parent);
            }
            self.score(node, &parents)
        };
        let of_to = with(to, from);
        let of_from = if turn { with(from, to) } else { self.scores[from] };
        let gain = of_to + of_from - self.scores[to] - self.scores[from];
        // Comparing two scores takes less time than looking for cycles. Sets without a score are never taken.
        if gain.is_nan() || gain <= threshold {
            return;
        }
        if there {
            self.dag.remove_edge(from, to);
        }
        let closes = match (turn, there) {
            (true, _) => self.dag.add_edge(to, from).is_err(),
            (false, true) => false,
            (false, false) => self.dag.add_edge(from, to).is_err(),
        };
        if !closes {
            (self.scores[to], self.scores[from]) = (of_to, of_from);
        } else if there {
            self.dag.add_edge(from, to).expect("it was there before");
        }
    }
}
