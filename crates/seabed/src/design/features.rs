//! What is asked of a graph: yes-or-no features such as its edges, and how well they are known.
//!
//! The expected squared error of the probability π of a feature is π (1 - π); summed over all features it is the loss that
//! experiments are chosen to reduce. Features that all graphs answer alike cost nothing and are left out.

use super::goal::Goal;
use crate::belief::GraphBelief;
use crate::graph::{Dag, Node};

/// For every feature that is in question the graphs that have it.
pub(super) struct Features(Vec<Vec<u32>>);

/// Which features: edges `i -> j`, or pairs in which i is an ancestor of j.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Edges,
    Ancestors,
}

impl Features {
    /// The features of a kind that bear on the goal.
    pub(super) fn new(belief: &GraphBelief, kind: Kind, goal: Goal) -> Self {
        let nodes = belief.names().len();
        let graphs: Vec<Vec<bool>> = belief.graphs().iter().map(|graph| answers(graph, kind)).collect();
        let wanted = |from: Node, to: Node| match goal {
            Goal::Everything => true,
            Goal::Edge { from: a, to: b } => (from, to) == (a, b),
            Goal::Parents { of } => to == of,
            Goal::Descendants { of } => from == of,
            Goal::Effect { of, on } => (from, to) == (of, on),
        };
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        let having = pairs.filter(|&(from, to)| from != to && wanted(from, to)).map(|(from, to)| {
            let has = |graph: &usize| graphs[*graph][from * nodes + to];
            (0..graphs.len()).filter(has).map(|graph| graph as u32).collect::<Vec<_>>()
        });
        Self(having.filter(|having| !having.is_empty() && having.len() < graphs.len()).collect())
    }

    /// Σ π (1 - π) under each of `count` sets of weights, `weights[graph][set]`, each with sum 1.
    pub(super) fn losses(&self, weights: &[f64], count: usize) -> Vec<f64> {
        let mut losses = vec![0.0; count];
        let mut probability = vec![0.0; count];
        for having in &self.0 {
            probability.fill(0.0);
            for &graph in having {
                let row = &weights[graph as usize * count..][..count];
                probability.iter_mut().zip(row).for_each(|(p, weight)| *p += weight);
            }
            losses.iter_mut().zip(&probability).for_each(|(loss, p)| *loss += p * (1.0 - p));
        }
        losses
    }
}

fn answers(graph: &Dag, kind: Kind) -> Vec<bool> {
    let nodes = graph.len();
    let mut answers = vec![false; nodes * nodes];
    match kind {
        Kind::Edges => graph.edges().for_each(|(from, to)| answers[from * nodes + to] = true),
        Kind::Ancestors => {
            for (from, descendants) in graph.all_descendants().iter().enumerate() {
                descendants.iter().for_each(|to| answers[from * nodes + to] = from != to);
            }
        }
    }
    answers
}
