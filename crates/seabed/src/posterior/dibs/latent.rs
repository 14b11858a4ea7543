//! The latent graph: vectors u_i and v_j of every variable, whose product says how likely the edge i -> j is.
//!
//! Z is one flat vector: the rows u_0, u_1, … and then the rows v_0, v_1, …, each of the same width. Scores stand
//! column after column, `[to * nodes + from]`, because everything that follows works on columns of the graph.

use faer::{MatMut, MatRef};

use crate::graph::{Node, NodeSet};
use crate::num::elementwise::sigmoid;
use crate::num::matrix::product;
use crate::posterior::Knowledge;

/// Which edges may vary, and which are there for certain.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    /// `free[j]`, ascending: every i for which i -> j is neither forbidden nor required.
    pub free: Vec<Vec<Node>>,
    /// `always[j]`: every i for which i -> j is required.
    pub always: Vec<NodeSet>,
}

impl Edges {
    pub fn of(knowledge: &Knowledge) -> Self {
        let nodes = knowledge.forbidden().len();
        let always: Vec<NodeSet> = (0..nodes).map(|j| knowledge.required().parents(j).clone()).collect();
        let is_free = |i: Node, j: Node| i != j && !knowledge.forbids(i, j) && !always[j].contains(i);
        let free = (0..nodes).map(|j| (0..nodes).filter(|&i| is_free(i, j)).collect()).collect();
        Self { free, always }
    }

    pub fn nodes(&self) -> usize {
        self.free.len()
    }

    /// The graph of the edges with positive scores, cyclic or not: `[to]` holds the parents.
    pub fn limit(&self, scores: &[f64]) -> Vec<NodeSet> {
        let nodes = self.nodes();
        let parents = |j: Node| {
            let mut parents = self.always[j].clone();
            for &i in self.free[j].iter().filter(|&&i| scores[j * nodes + i] > 0.0) {
                parents.insert(i);
            }
            parents
        };
        (0..nodes).map(parents).collect()
    }

    /// sigmoid(α score) of every edge, `[to * nodes + from]`; exactly 0 and 1 where nothing is free.
    pub fn probabilities(&self, scores: &[f64], alpha: f64) -> Vec<f64> {
        let nodes = self.nodes();
        let mut probabilities = vec![0.0; nodes * nodes];
        for j in 0..nodes {
            for i in &self.always[j] {
                probabilities[j * nodes + i] = 1.0;
            }
            for &i in &self.free[j] {
                probabilities[j * nodes + i] = sigmoid(alpha * scores[j * nodes + i]);
            }
        }
        probabilities
    }
}

/// u_i·v_j for all pairs, `[to * nodes + from]`.
pub(super) fn scores(z: &[f64], nodes: usize) -> Vec<f64> {
    let (u, v) = halves(z, nodes);
    let mut scores = vec![0.0; nodes * nodes];
    product(MatMut::from_column_major_slice_mut(&mut scores, nodes, nodes), u, v.transpose());
    scores
}

/// The gradient by Z, given the one by the scores.
pub(super) fn by_latent(z: &[f64], by_scores: &[f64], nodes: usize) -> Vec<f64> {
    let (u, v) = halves(z, nodes);
    let slope = MatRef::from_column_major_slice(by_scores, nodes, nodes);
    let width = u.ncols();
    let mut gradient = vec![0.0; z.len()];
    let (by_u, by_v) = gradient.split_at_mut(nodes * width);
    product(MatMut::from_row_major_slice_mut(by_u, nodes, width), slope, v);
    product(MatMut::from_row_major_slice_mut(by_v, nodes, width), slope.transpose(), u);
    gradient
}

fn halves(z: &[f64], nodes: usize) -> (MatRef<'_, f64>, MatRef<'_, f64>) {
    let (u, v) = z.split_at(z.len() / 2);
    let width = u.len() / nodes;
    (MatRef::from_row_major_slice(u, nodes, width), MatRef::from_row_major_slice(v, nodes, width))
}
