//! What is asked of a graph: yes-or-no features such as its edges, and how well they are known.
//!
//! The expected squared error of the probability π of a feature is π (1 - π); summed over all features it is the loss that
//! experiments are chosen to reduce. A feature and its opposite cost the same, so for every configuration of a block
//! only those features are listed in which it differs from the heaviest one; they are few.

use std::collections::HashMap;

use super::blocks::Block;
use super::goal::Goal;
use crate::belief::GraphBelief;
use crate::graph::{Dag, Node};

/// Features of the configurations of a block.
pub(super) struct Features {
    /// Each a pair of variables: i -> j, or i an ancestor of j.
    pub(super) pairs: Vec<(Node, Node)>,
    /// Does the first configuration have it? `[feature]`
    pub(super) first: Vec<bool>,
    /// For every configuration the features in which it differs from the first.
    differing: Vec<Vec<u32>>,
}

/// Which features: edges `i -> j`, or pairs in which i is an ancestor of j.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Edges,
    Ancestors,
}

impl Features {
    /// The features of a kind that bear on the goal and on which configurations differ. Ancestors are a matter of all
    /// nodes: for them, the block is the whole graph.
    pub(super) fn new(belief: &GraphBelief, block: &Block, kind: Kind, goal: Goal) -> Self {
        Self::asked(belief, block, kind, |from, to| goal.asks_about(from, to))
    }

    /// The edges between variables that the goal joins in either direction: an edge there and the one back exclude each
    /// other, so one is not known without the other.
    pub(super) fn edges_both_ways(belief: &GraphBelief, block: &Block, goal: Goal) -> Self {
        let asked = |from, to| goal.asks_about(from, to) || goal.asks_about(to, from);
        Self::asked(belief, block, Kind::Edges, asked)
    }

    fn asked(belief: &GraphBelief, block: &Block, kind: Kind, asked: impl Fn(Node, Node) -> bool) -> Self {
        let examples: Vec<Vec<bool>> =
            block.example.iter().map(|&graph| answers(&belief.graphs()[graph], kind)).collect();
        let nodes = belief.names().len();
        let into: Vec<Node> = if kind == Kind::Edges { block.nodes.clone() } else { (0..nodes).collect() };
        let mut features = Self { pairs: vec![], first: vec![], differing: vec![vec![]; examples.len()] };
        for (from, to) in (0..nodes).flat_map(|from| into.iter().map(move |&to| (from, to))) {
            let place = from * nodes + to;
            let differing =
                || (0..examples.len()).filter(|&other| examples[other][place] != examples[0][place]);
            if from != to && asked(from, to) && differing().next().is_some() {
                let feature = features.pairs.len() as u32;
                differing().for_each(|other| features.differing[other].push(feature));
                features.pairs.push((from, to));
                features.first.push(examples[0][place]);
            }
        }
        features
    }

    /// Features of which no configuration is known.
    #[cfg(test)]
    pub(super) fn of_pairs(pairs: Vec<(Node, Node)>, first: Vec<bool>) -> Self {
        Self { pairs, first, differing: Vec::new() }
    }

    /// The probability that a feature is not as in the first configuration, `[feature][set]`, under each of `count` sets
    /// of weights, `weights[configuration][set]`, each with sum 1.
    pub(super) fn otherwise(&self, weights: &[f64], count: usize) -> Vec<f64> {
        let mut otherwise = vec![0.0; self.pairs.len() * count];
        for (differing, weights) in self.differing.iter().zip(weights.chunks_exact(count)) {
            for &feature in differing {
                let sums = &mut otherwise[feature as usize * count..][..count];
                sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
            }
        }
        otherwise
    }

    /// Σ π (1 - π) when only these configurations are possible, with these weights.
    pub(super) fn loss_among(&self, members: &[usize], weight: impl Fn(usize) -> f64) -> f64 {
        let mut otherwise: HashMap<u32, f64> = HashMap::new();
        for &member in members {
            let weight = weight(member);
            self.differing[member]
                .iter()
                .for_each(|&feature| *otherwise.entry(feature).or_default() += weight);
        }
        let mut losses: Vec<(u32, f64)> = otherwise.into_iter().collect();
        losses.sort_by_key(|(feature, _)| *feature);
        losses.into_iter().map(|(_, p)| p * (1.0 - p).max(0.0)).sum()
    }

    /// Adds Σ π (1 - π) under each of `count` sets of weights.
    pub(super) fn add_losses(&self, weights: &[f64], count: usize, losses: &mut [f64]) {
        for of_feature in self.otherwise(weights, count).chunks_exact(count) {
            losses.iter_mut().zip(of_feature).for_each(|(loss, p)| *loss += p * (1.0 - p).max(0.0));
        }
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
