//! A belief about the world: weighted draws of structural causal models over the same variables.

use super::Scm;
use crate::data::Names;
use crate::graph::{Dag, Node};
use crate::num::{log_sum_exp, sum_in_order};

/// Weighted models over the same variables; never empty, weights positive with sum 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Ensemble {
    draws: Vec<Scm>,
    weights: Vec<f64>,
}

/// Why draws are not an ensemble.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum EnsembleError {
    /// No draw at all.
    #[error("an ensemble needs at least one draw with a weight above 0")]
    Empty,
    /// The numbers of draws and weights differ.
    #[error("{draws} draws but {weights} weights: every draw needs one weight")]
    Counts {
        /// Number of draws.
        draws: usize,
        /// Number of weights.
        weights: usize,
    },
    /// An invalid weight.
    #[error("draw {draw} has the weight {weight}: weights must be finite and at least 0")]
    Weight {
        /// The draw, counted from 0.
        draw: usize,
        /// Its weight.
        weight: f64,
    },
    /// Draws over different variables.
    #[error(
        "draw {draw} has other variables than draw 0: all draws must have the same names in the same order"
    )]
    Names {
        /// The first draw that differs, counted from 0.
        draw: usize,
    },
}

impl Ensemble {
    /// An ensemble of weighted draws; weights are normalised to sum 1, and draws whose weight is 0 are left out.
    pub fn new(draws: Vec<Scm>, weights: Vec<f64>) -> Result<Self, EnsembleError> {
        if draws.len() != weights.len() {
            return Err(EnsembleError::Counts { draws: draws.len(), weights: weights.len() });
        }
        let Some(first) = draws.first() else { return Err(EnsembleError::Empty) };
        let counts = |weight: f64| weight >= 0.0 && weight.is_finite();
        if let Some(draw) = weights.iter().position(|&weight| !counts(weight)) {
            return Err(EnsembleError::Weight { draw, weight: weights[draw] });
        }
        if let Some(draw) = draws.iter().position(|scm| scm.names() != first.names()) {
            return Err(EnsembleError::Names { draw });
        }
        // Divided by the largest first, so that no sum overflows.
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let relative: Vec<f64> = weights.iter().map(|weight| weight / largest).collect();
        let total = sum_in_order(&relative);
        // Weights that are already normalised stay as they are, so that a file read back is the file written.
        let weights = if (sum_in_order(&weights) - 1.0).abs() < 1e-12 {
            weights
        } else {
            relative.iter().map(|weight| weight / total).collect()
        };
        let (draws, weights): (Vec<Scm>, Vec<f64>) =
            draws.into_iter().zip(weights).filter(|(_, weight)| *weight > 0.0).unzip();
        if draws.is_empty() { Err(EnsembleError::Empty) } else { Ok(Self { draws, weights }) }
    }

    /// An ensemble in which every draw counts the same.
    pub fn uniform(draws: Vec<Scm>) -> Result<Self, EnsembleError> {
        let weights = vec![1.0 / draws.len() as f64; draws.len()];
        Self::new(draws, weights)
    }

    /// The variables' names.
    pub fn names(&self) -> &Names {
        self.draws[0].names()
    }

    /// The models.
    pub fn draws(&self) -> &[Scm] {
        &self.draws
    }

    /// The weights of the models, with sum 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weighted mean of one value per draw; exactly the value where all are equal.
    pub fn mean(&self, values: &[f64]) -> f64 {
        let first = values.first().copied().unwrap_or(0.0);
        let weighted: Vec<f64> =
            values.iter().zip(&self.weights).map(|(x, weight)| weight * (x - first)).collect();
        first + sum_in_order(&weighted) / sum_in_order(&self.weights)
    }

    /// `[i][j]` = probability of the edge `i -> j`, to 12 decimals: exactly 0 where no draw has it, exactly 1 where all
    /// have it.
    pub fn edge_probabilities(&self) -> Vec<Vec<f64>> {
        let graphs = self.draws.iter().zip(&self.weights).map(|(draw, weight)| (draw.dag(), *weight));
        edge_probabilities(self.names().len(), graphs)
    }

    /// Entropy of the edge probabilities, summed over all ordered pairs, in nats: 0 when every edge is decided.
    pub fn edge_entropy(&self) -> f64 {
        let term = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
        self.edge_probabilities().iter().flatten().map(|&p| term(p) + term(1.0 - p)).sum()
    }

    /// ln Σ_k weight_k exp(values\[k\]): the log of a mean over the draws.
    pub fn log_mean_exp(&self, values: &[f64]) -> f64 {
        let weighted: Vec<f64> =
            values.iter().zip(&self.weights).map(|(x, weight)| x + weight.ln()).collect();
        log_sum_exp(&weighted)
    }
}

/// As [`Ensemble::edge_probabilities`], of weighted graphs.
pub(crate) fn edge_probabilities<'a>(
    nodes: usize,
    graphs: impl Iterator<Item = (&'a Dag, f64)>,
) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; nodes]; nodes];
    let mut counts = vec![vec![0; nodes]; nodes];
    let mut all = 0;
    for (graph, weight) in graphs {
        all += 1;
        for (from, to) in graph.edges() {
            sums[from][to] += weight;
            counts[from][to] += 1;
        }
    }
    // Equal sums of weights must be equal numbers, in whatever order they were added: rankings and bins see ties.
    let rounded = |p: f64| (p * 1e12).round() / 1e12;
    let probability = |from: Node, to: Node| match counts[from][to] {
        0 => 0.0,
        count if count == all => 1.0,
        _ => rounded(sums[from][to]).clamp(1e-12, 1.0 - 1e-12),
    };
    (0..nodes).map(|from| (0..nodes).map(|to| probability(from, to)).collect()).collect()
}
