//! How much a design teaches, from log-densities that are already there; never samples, never touches a model.
//!
//! `densities[l][k]` = log p(y_k | draw l, design) for outcomes y_k of one generating draw i. The average inside the
//! logarithm runs over the evaluating draws l, for a fixed outcome.

use crate::num::log_sum_exp;

/// Expected information of a design or a batch, in nats.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Information {
    /// The estimate.
    pub nats: f64,
    /// Its Monte Carlo standard error, over outcomes; the ensemble is taken as it is.
    pub standard_error: f64,
}

/// Ways to estimate the information.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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

    /// Entropy of the answers: no batch can teach more.
    pub(super) fn entropy(&self) -> f64 {
        -self.group_weight.iter().map(|w| if *w > 0.0 { w * w.ln() } else { 0.0 }).sum::<f64>()
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
        let draws = self.weights.len();
        let mut column = vec![0.0; draws];
        let (mut sum, mut squares) = (0.0, 0.0);
        for k in 0..outcomes {
            for l in 0..draws {
                column[l] = densities[l * outcomes + k];
            }
            let value = self.of_outcome(i, &mut column, estimator);
            sum += value;
            squares += value * value;
        }
        let n = outcomes as f64;
        let mean = sum / n;
        (mean, (squares / n - mean * mean).max(0.0))
    }

    /// What one outcome of draw `i` teaches; `column[l]` = log p(y | l), used up.
    fn of_outcome(&self, i: usize, column: &mut [f64], estimator: Estimator) -> f64 {
        if estimator == Estimator::Bound {
            let mean: f64 = column.iter().zip(&self.weights).map(|(x, w)| w * x).sum();
            return column[i] - mean;
        }
        for (x, log_weight) in column.iter_mut().zip(&self.log_weights) {
            *x += log_weight;
        }
        let evidence = log_sum_exp(column);
        if estimator == Estimator::Entropy {
            let mut posterior = vec![0.0; self.group_weight.len()];
            for (x, &group) in column.iter().zip(&self.group) {
                posterior[group] += (x - evidence).exp();
            }
            return self.entropy()
                + posterior.iter().map(|p| if *p > 0.0 { p * p.ln() } else { 0.0 }).sum::<f64>();
        }
        let group = self.group[i];
        let mine = if self.group_weight[group] == self.weights[i] {
            column[i]
        } else {
            let members: Vec<f64> =
                column.iter().zip(&self.group).filter(|(_, g)| **g == group).map(|(x, _)| *x).collect();
            log_sum_exp(&members)
        };
        mine - self.group_weight[group].ln() - evidence
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

/// The discrepancy score of AIT: variance of the draws' mean outcomes over the variance within draws, all variables
/// together. `moments[i][n]` = mean and sum of squared deviations of variable n over the outcomes of draw i.
pub fn discrepancy(moments: &[Vec<(f64, f64)>], weights: &[f64]) -> f64 {
    let draws = weights.len() as f64;
    let variables = moments[0].len();
    let (mut between, mut within) = (0.0, 0.0);
    for n in 0..variables {
        let grand: f64 = moments.iter().zip(weights).map(|(m, w)| w * m[n].0).sum();
        for (m, w) in moments.iter().zip(weights) {
            between += draws * w * (m[n].0 - grand).powi(2);
            within += draws * w * m[n].1;
        }
    }
    if within > 0.0 { between / within } else { 0.0 }
}
