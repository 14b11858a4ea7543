//! The Gaussian interventional score with an L0 penalty, and a cache of scores computed before.
//!
//! local(v, P) = -(n_v/2) (1 + ln(RSS_v(P)/n_v)) - λ (1 + |P|), with n_v the rows in which v was not a target and
//! RSS of least squares with one intercept over these rows. Higher is better. A degenerate regression
//! (a constant or collinear column, as many parameters as rows) scores -inf and is never chosen.

use std::collections::HashMap;

use super::moments::Moments;
use crate::graph::{Dag, Node, NodeSet};
use crate::num::elementwise::ln_in_place;

/// What is left of a variable's moment after regression, relative to the moment itself, that still counts as
/// variation: below it is rounding.
const LEAST_VARIATION: f64 = 1e-12;

/// Why a regression is degenerate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Degenerate {
    /// The variable does not vary in its rows.
    Constant(Node),
    /// A parent is determined by the other parents (or does not vary).
    CollinearParent(Node),
    /// The parents determine the variable without any noise.
    Determined(Node),
    /// As many parameters as rows, or more.
    TooFewRows(Node),
}

/// Local scores of one data set, with a cache.
pub struct Scores {
    moments: Moments,
    penalty: f64,
    /// `local[v]`: parents -> score.
    local: Vec<HashMap<NodeSet, f64>>,
    /// `gains[v]`: parents -> additional parents that raise the score by more than the least gain, best first.
    gains: Vec<HashMap<NodeSet, Vec<Gain>>>,
    least_gain: f64,
    scratch: Scratch,
}

/// An additional parent and what it adds to the score.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    /// The additional parent.
    pub parent: Node,
    /// By how much the local score grows.
    pub gain: f64,
}

#[derive(Default)]
struct Scratch {
    /// Rows of the triangular factor times the moments of all variables.
    rows: Vec<f64>,
    own: Vec<f64>,
    left: Vec<f64>,
    logs: Vec<f64>,
}

impl Scores {
    /// Scores from moments; `penalty` is λ, or ½ ln N (BIC) if none is given.
    pub fn new(moments: Moments, penalty: Option<f64>, least_gain: f64) -> Self {
        let penalty = penalty.unwrap_or_else(|| 0.5 * moments.all_rows().ln());
        let p = moments.variables();
        let (local, gains) = (vec![HashMap::new(); p], vec![HashMap::new(); p]);
        Self { moments, penalty, local, gains, least_gain, scratch: Scratch::default() }
    }

    /// The statistics that the scores are made from.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// λ.
    pub fn penalty(&self) -> f64 {
        self.penalty
    }

    /// The score of a node with the given parents; -inf if the regression is degenerate.
    pub fn local(&mut self, node: Node, parents: &NodeSet) -> f64 {
        if let Some(&score) = self.local[node].get(parents) {
            return score;
        }
        let score = match regress(&self.moments, node, parents) {
            Ok(regression) => self.score_of(node, parents.len(), regression.residual),
            Err(Degenerate::Constant(_)) if parents.is_empty() => 0.0,
            Err(_) => f64::NEG_INFINITY,
        };
        self.local[node].insert(parents.clone(), score);
        score
    }

    /// The sum of all local scores.
    pub fn total(&mut self, dag: &Dag) -> f64 {
        (0..dag.len()).map(|node| self.local(node, dag.parents(node))).sum()
    }

    /// All additional parents that raise the score of a node by more than the least gain, best first.
    pub fn gains(&mut self, node: Node, parents: &NodeSet) -> &[Gain] {
        // Looked up twice because a reference from the first look-up would have to outlive the insertion.
        if !self.gains[node].contains_key(parents) {
            let gains = self.compute_gains(node, parents);
            self.gains[node].insert(parents.clone(), gains);
        }
        &self.gains[node][parents]
    }

    fn score_of(&self, node: Node, parents: usize, residual: f64) -> f64 {
        let rows = self.moments.rows(node);
        -0.5 * rows * (1.0 + (residual / rows).ln()) - self.penalty * (1 + parents) as f64
    }

    /// One factorisation for the present parents serves all candidates at once.
    fn compute_gains(&mut self, node: Node, parents: &NodeSet) -> Vec<Gain> {
        let (p, rows) = (self.moments.variables(), self.moments.rows(node));
        let size = parents.len();
        // One more parent, and the intercept, need as many rows and one to spare.
        if (size + 2) as f64 >= rows {
            return Vec::new();
        }
        let squares = self.moments.squares(node);
        let Scratch { rows: factor, own, left, logs } = &mut self.scratch;
        factor.resize(size * p, 0.0);
        left.clear();
        left.extend_from_slice(squares);
        own.resize(p, 0.0);
        self.moments.row(node, node, own);
        for (k, parent) in parents.iter().enumerate() {
            let (before, row) = factor.split_at_mut(k * p);
            let row = &mut row[..p];
            self.moments.row(node, parent, row);
            for earlier in before.chunks_exact(p) {
                let weight = earlier[parent];
                for (x, e) in row.iter_mut().zip(earlier) {
                    *x -= weight * e;
                }
            }
            if row[parent] <= LEAST_VARIATION * squares[parent] || squares[parent] == 0.0 {
                return Vec::new();
            }
            let root = row[parent].sqrt();
            for x in row.iter_mut() {
                *x /= root;
            }
            let weight = row[node];
            for ((own, left), x) in own.iter_mut().zip(left.iter_mut()).zip(row.iter()) {
                *own -= weight * x;
                *left -= x * x;
            }
        }
        let residual = own[node];
        let least = LEAST_VARIATION * squares[node];
        if residual <= least || squares[node] <= 0.0 {
            return Vec::new();
        }
        // ln(RSS with the candidate / RSS without); degenerate candidates are left at 1, without a gain.
        logs.clear();
        logs.extend((0..p).map(|u| {
            let rss = residual - own[u] * own[u] / left[u];
            let meaningful = u != node && left[u] > LEAST_VARIATION * squares[u] && rss > least;
            if meaningful { rss / residual } else { 1.0 }
        }));
        for parent in parents {
            logs[parent] = 1.0;
        }
        ln_in_place(logs);
        let gain = |log: f64| -0.5 * rows * log - self.penalty;
        let mut gains: Vec<Gain> = logs
            .iter()
            .enumerate()
            .map(|(parent, &log)| Gain { parent, gain: gain(log) })
            .filter(|candidate| candidate.gain > self.least_gain)
            .collect();
        gains.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        gains
    }
}

/// Least squares of a node on its parents, with an intercept, over the rows in which it was not a target.
#[derive(Clone, PartialEq, Debug)]
pub struct Regression {
    /// In ascending order of the parents.
    pub weights: Vec<f64>,
    /// The mean at zero.
    pub intercept: f64,
    /// Residual sum of squares.
    pub residual: f64,
}

/// Regresses by a Cholesky factorisation of the moments of the parents.
pub fn regress(moments: &Moments, node: Node, parents: &NodeSet) -> Result<Regression, Degenerate> {
    let squares = moments.squares(node);
    let columns: Vec<Node> = parents.iter().chain([node]).collect();
    let size = columns.len();
    if size as f64 >= moments.rows(node) {
        return Err(Degenerate::TooFewRows(node));
    }
    if squares[node] <= 0.0 {
        return Err(Degenerate::Constant(node));
    }
    // The factor's last row is the node's: its diagonal element is the root of the residual sum of squares.
    let mut factor = vec![0.0; size * size];
    for (i, &a) in columns.iter().enumerate() {
        for (j, &b) in columns[..=i].iter().enumerate() {
            let dot: f64 = (0..j).map(|k| factor[i * size + k] * factor[j * size + k]).sum();
            let rest = moments.entry(node, a, b) - dot;
            if i != j {
                factor[i * size + j] = rest / factor[j * size + j];
            } else if rest <= LEAST_VARIATION * squares[a] || squares[a] <= 0.0 {
                return Err(if a == node {
                    Degenerate::Determined(node)
                } else {
                    Degenerate::CollinearParent(a)
                });
            } else {
                factor[i * size + i] = rest.sqrt();
            }
        }
    }
    let parents = size - 1;
    let mut weights = factor[parents * size..parents * size + parents].to_vec();
    for k in (0..parents).rev() {
        let dot: f64 = (k + 1..parents).map(|l| factor[l * size + k] * weights[l]).sum();
        weights[k] = (weights[k] - dot) / factor[k * size + k];
    }
    let shift: f64 = columns[..parents].iter().zip(&weights).map(|(&a, w)| w * moments.mean(node, a)).sum();
    let root = factor[size * size - 1];
    Ok(Regression { weights, intercept: moments.mean(node, node) - shift, residual: root * root })
}
