//! The expected information of a design, from log-densities computed elsewhere; never samples, never touches a model.
//!
//! `densities[l][k]` = log p(y_k | draw l, design) for outcomes y_k of one generating draw i. The average inside the
//! logarithm runs over the evaluating draws l, for a fixed outcome.

use serde::{Deserialize, Serialize};

use crate::num::elementwise::{exp_in_place, ln_in_place};
use crate::num::not_below;

/// Expected information of a design or a batch, in nats.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Information {
    /// The estimate.
    pub nats: f64,
    /// Its Monte Carlo standard error, over outcomes; the ensemble is taken as it is.
    pub standard_error: f64,
}

impl Information {
    /// Can it be written down?
    pub(super) fn is_finite(&self) -> bool {
        self.nats.is_finite() && self.standard_error.is_finite()
    }
}

/// Ways to estimate the information.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// Nested Monte Carlo: log p(y | i) - log mean_l p(y | l).
    #[default]
    Nested,
    /// The bound of the paper's appendix: log p(y | i) - mean_l log p(y | l). Never below the information.
    Bound,
    /// The entropy that the outcome takes from the draws: H(weights) - H(weights given y), as ABCD writes it.
    Entropy,
}

/// The belief that information is about: weights of the draws, and which draws count as the same answer.
pub(super) struct Weighting {
    log_weights: Vec<f64>,
    weights: Vec<f64>,
    /// `group[l]`: the answer that draw l gives; draws of one group are one answer.
    group: Vec<usize>,
    /// Weight of every group.
    group_weight: Vec<f64>,
}

impl Weighting {
    pub(super) fn new(weights: &[f64], group: Vec<usize>) -> Self {
        let mut group_weight = vec![0.0; group.iter().max().map_or(0, |k| k + 1)];
        for (&group, weight) in group.iter().zip(weights) {
            group_weight[group] += weight;
        }
        let log_weights = weights.iter().map(|weight| weight.ln()).collect();
        Self { log_weights, weights: weights.to_vec(), group, group_weight }
    }

    /// Entropy of the answers: no batch can give more information.
    pub(super) fn entropy(&self) -> f64 {
        self.group_weight.iter().map(|w| if *w > 0.0 { -w * w.ln() } else { 0.0 }).sum::<f64>() + 0.0
    }

    /// Mean and variance over the outcomes of generating draw `i`; `densities` is [draws][outcomes], one row after
    /// the other.
    pub(super) fn of_draw(
        &self,
        i: usize,
        densities: &[f64],
        outcomes: usize,
        estimator: Estimator,
    ) -> (f64, f64) {
        mean_and_variance(&self.values(i, densities, outcomes, estimator))
    }

    /// As `of_draw`, of the difference between `densities` and those `before`, outcome by outcome.
    pub(super) fn of_draw_beyond(
        &self,
        i: usize,
        densities: &[f64],
        before: &[f64],
        outcomes: usize,
        estimator: Estimator,
    ) -> (f64, f64) {
        let mut values = self.values(i, densities, outcomes, estimator);
        for (value, before) in values.iter_mut().zip(self.values(i, before, outcomes, estimator)) {
            *value -= before;
        }
        mean_and_variance(&values)
    }

    /// The information in each outcome of generating draw `i`.
    fn values(&self, i: usize, densities: &[f64], outcomes: usize, estimator: Estimator) -> Vec<f64> {
        let mine = &densities[i * outcomes..(i + 1) * outcomes];
        match estimator {
            Estimator::Bound => {
                let mut mean = vec![0.0; outcomes];
                for (row, weight) in densities.chunks_exact(outcomes).zip(&self.weights) {
                    for (sum, x) in mean.iter_mut().zip(row) {
                        *sum += weight * x;
                    }
                }
                mine.iter().zip(&mean).map(|(x, mean)| x - mean).collect()
            }
            Estimator::Nested => {
                let evidence = self.log_mixture(densities, outcomes, |_| true);
                let group = self.group[i];
                let log_group = self.group_weight[group].ln();
                if self.group_weight[group] == self.weights[i] {
                    mine.iter().zip(&evidence).map(|(x, evidence)| x - evidence).collect()
                } else {
                    let answer = self.log_mixture(densities, outcomes, |l| self.group[l] == group);
                    answer.iter().zip(&evidence).map(|(x, evidence)| x - log_group - evidence).collect()
                }
            }
            Estimator::Entropy => {
                let evidence = self.log_mixture(densities, outcomes, |_| true);
                let mut left = vec![0.0; outcomes];
                for group in 0..self.group_weight.len() {
                    let answer = self.log_mixture(densities, outcomes, |l| self.group[l] == group);
                    for ((left, x), evidence) in left.iter_mut().zip(&answer).zip(&evidence) {
                        let log = x - evidence;
                        // x ln x is 0 at 0. NaN stays: comparisons with it are false.
                        *left -= if log <= -700.0 { 0.0 } else { log * log.exp() };
                    }
                }
                left.iter().map(|left| self.entropy() - left).collect()
            }
        }
    }

    /// ln Σ_l weight_l exp(densities\[l\]\[k\]) over the draws that `keep` lets through, for every outcome k at once.
    fn log_mixture(&self, densities: &[f64], outcomes: usize, keep: impl Fn(usize) -> bool) -> Vec<f64> {
        let rows = || {
            let rows = densities.chunks_exact(outcomes).zip(&self.log_weights).enumerate();
            rows.filter(|(l, _)| keep(*l)).map(|(_, row)| row)
        };
        let mut largest = vec![f64::NEG_INFINITY; outcomes];
        for (row, log_weight) in rows() {
            for (largest, x) in largest.iter_mut().zip(row) {
                let x = x + log_weight;
                *largest = if x > *largest { x } else { *largest };
            }
        }
        let mut sums = vec![0.0; outcomes];
        let mut terms = vec![0.0; outcomes];
        for (row, log_weight) in rows() {
            for ((term, x), largest) in terms.iter_mut().zip(row).zip(&largest) {
                *term = not_below(x + log_weight - largest);
            }
            exp_in_place(&mut terms);
            for (sum, term) in sums.iter_mut().zip(&terms) {
                *sum += term;
            }
        }
        ln_in_place(&mut sums);
        for (sum, largest) in sums.iter_mut().zip(&largest) {
            *sum += largest;
        }
        sums
    }

    /// The mean over generating draws of `(mean, variance)` pairs, each of `outcomes` outcomes.
    pub(super) fn total(&self, of_draws: &[(f64, f64)], outcomes: usize) -> Information {
        let nats = of_draws.iter().zip(&self.weights).map(|((mean, _), w)| w * mean).sum();
        let variance: f64 = of_draws
            .iter()
            .zip(&self.weights)
            .map(|((_, variance), w)| w * w * variance / outcomes as f64)
            .sum();
        Information { nats, standard_error: variance.sqrt() }
    }
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0))
}

/// Information of one design from a whole tensor: `densities[l][i][k]` = log p(y_ik | draw l), outcome k of
/// generating draw i, with weights of the draws.
pub fn information_of(densities: &[Vec<Vec<f64>>], weights: &[f64], estimator: Estimator) -> Information {
    let weighting = Weighting::new(weights, (0..weights.len()).collect());
    let outcomes = densities[0][0].len();
    let of_draw = |i: usize| {
        let rows: Vec<f64> = densities.iter().flat_map(|of_l| of_l[i].iter().copied()).collect();
        weighting.of_draw(i, &rows, outcomes, estimator)
    };
    weighting.total(&(0..weights.len()).map(of_draw).collect::<Vec<_>>(), outcomes)
}
