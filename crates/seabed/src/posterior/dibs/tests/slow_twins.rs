//! The formulas of the nonlinear and linear models and of their estimators, written as on paper.
//!
//! In double precision, sample by sample; the tests compare them with the reference code's numbers and with finite
//! differences, and the fast code with them.

use std::f64::consts::TAU;

use super::super::parameters::{Layout, NoisePrior};
use crate::num::log_sum_exp;

/// A column's data: inputs `[rows][nodes]` and values `[rows]` of the rows in which it was not a target.
pub struct SlowColumn {
    pub layout: Layout,
    pub inputs: Vec<Vec<f64>>,
    pub values: Vec<f64>,
    pub noise: NoisePrior,
}

/// A value with its gradients.
#[derive(Clone, Debug)]
pub struct Slope {
    pub value: f64,
    pub by_graph: Vec<f64>,
    pub by_parameters: Vec<f64>,
}

impl SlowColumn {
    pub fn mean(&self, row: usize, graph: &[f64], theta: &[f64]) -> f64 {
        let l = &self.layout;
        let unit = |h: usize| -> f64 {
            (0..l.nodes).map(|i| graph[i] * theta[l.weight(i, h)] * self.inputs[row][i]).sum()
        };
        if l.nonlinear {
            let hidden = |h: usize| theta[l.w2(h)] * f64::max(0.0, theta[l.b1(h)] + unit(h));
            theta[l.b2()] + (0..l.units).map(hidden).sum::<f64>()
        } else {
            theta[l.b2()] + unit(0)
        }
    }

    /// log p(values | graph, parameters).
    pub fn log_likelihood(&self, graph: &[f64], theta: &[f64]) -> Slope {
        let l = &self.layout;
        let log_variance = theta[l.log_variance()];
        let variance = log_variance.exp();
        let mut slope = Slope { value: 0.0, by_graph: vec![0.0; l.nodes], by_parameters: vec![0.0; l.len()] };
        for (row, value) in self.values.iter().enumerate() {
            let residual = value - self.mean(row, graph, theta);
            slope.value += -0.5 * (TAU.ln() + log_variance + residual * residual / variance);
            let pull = residual / variance;
            let x = &self.inputs[row];
            for h in 0..l.units {
                let mut delta = pull;
                if l.nonlinear {
                    let unit: f64 = (0..l.nodes).map(|i| graph[i] * theta[l.weight(i, h)] * x[i]).sum();
                    let active = theta[l.b1(h)] + unit;
                    slope.by_parameters[l.w2(h)] += pull * active.max(0.0);
                    delta *= if active > 0.0 { theta[l.w2(h)] } else { 0.0 };
                    slope.by_parameters[l.b1(h)] += delta;
                }
                for i in 0..l.nodes {
                    slope.by_parameters[l.weight(i, h)] += delta * graph[i] * x[i];
                    slope.by_graph[i] += delta * theta[l.weight(i, h)] * x[i];
                }
            }
            if l.intercept {
                slope.by_parameters[l.b2()] += pull;
            }
            if self.noise != NoisePrior::Known {
                slope.by_parameters[l.log_variance()] += -0.5 + 0.5 * residual * residual / variance;
            }
        }
        slope
    }

    /// log p(parameters | graph): weights count as much as their edges.
    pub fn log_prior(&self, graph: &[f64], theta: &[f64]) -> Slope {
        let l = &self.layout;
        let mut slope = Slope { value: 0.0, by_graph: vec![0.0; l.nodes], by_parameters: vec![0.0; l.len()] };
        let down = |parameter: f64| -parameter / (l.prior_sd * l.prior_sd);
        for i in 0..l.nodes {
            slope.by_graph[i] = l.log_prior_of_input(theta, i);
            slope.value += graph[i] * slope.by_graph[i];
            for h in 0..l.units {
                slope.by_parameters[l.weight(i, h)] = graph[i] * down(theta[l.weight(i, h)]);
            }
        }
        for k in l.always() {
            slope.value += l.log_prior(theta[k]);
            slope.by_parameters[k] = down(theta[k]);
        }
        let (value, down) = self.noise.log_density(theta[l.log_variance()]);
        slope.value += value;
        slope.by_parameters[l.log_variance()] += down;
        slope
    }

    /// log p(parameters, values | graph).
    pub fn log_joint(&self, graph: &[f64], theta: &[f64]) -> Slope {
        let (mut sum, prior) = (self.log_likelihood(graph, theta), self.log_prior(graph, theta));
        sum.value += prior.value;
        add(&mut sum.by_graph, &prior.by_graph, 1.0);
        add(&mut sum.by_parameters, &prior.by_parameters, 1.0);
        sum
    }
}

pub fn add(sum: &mut [f64], x: &[f64], weight: f64) {
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum += weight * x;
    }
}

pub fn softmax(values: &[f64]) -> Vec<f64> {
    let total = log_sum_exp(values);
    values.iter().map(|x| (x - total).exp()).collect()
}

/// Samples of graphs: `[sample][to][from]`.
pub type Graphs = Vec<Vec<Vec<f64>>>;

/// The weights of samples for one column: of the whole graph (joint), or of the column alone.
pub fn weights(columns: &[SlowColumn], graphs: &Graphs, theta: &[Vec<f64>], joint: bool) -> Vec<Vec<f64>> {
    let log_joint = |j: usize, sample: &Vec<Vec<f64>>| columns[j].log_joint(&sample[j], &theta[j]).value;
    let nodes = 0..columns.len();
    if joint {
        let totals: Vec<f64> =
            graphs.iter().map(|sample| nodes.clone().map(|j| log_joint(j, sample)).sum()).collect();
        vec![softmax(&totals); columns.len()]
    } else {
        nodes
            .map(|j| softmax(&graphs.iter().map(|sample| log_joint(j, sample)).collect::<Vec<_>>()))
            .collect()
    }
}

/// Gradient by the scores u_i·v_j, `[to][from]`, through soft graphs with entries sigmoid(noise + α score).
pub fn by_scores(
    columns: &[SlowColumn],
    soft: &Graphs,
    theta: &[Vec<f64>],
    alpha: f64,
    joint: bool,
) -> Vec<Vec<f64>> {
    let weights = weights(columns, soft, theta, joint);
    let mut sums = vec![vec![0.0; columns.len()]; columns.len()];
    for (s, sample) in soft.iter().enumerate() {
        for (j, column) in columns.iter().enumerate() {
            let slope = column.log_joint(&sample[j], &theta[j]).by_graph;
            for i in 0..columns.len() {
                let g = sample[j][i];
                sums[j][i] += weights[j][s] * slope[i] * alpha * g * (1.0 - g);
            }
        }
    }
    sums
}

/// Gradient by the parameters, `[to][parameter]`, over hard graphs.
pub fn by_parameters(
    columns: &[SlowColumn],
    hard: &Graphs,
    theta: &[Vec<f64>],
    joint: bool,
) -> Vec<Vec<f64>> {
    let weights = weights(columns, hard, theta, joint);
    let mut sums: Vec<Vec<f64>> = theta.iter().map(|column| vec![0.0; column.len()]).collect();
    for (s, sample) in hard.iter().enumerate() {
        for (j, column) in columns.iter().enumerate() {
            add(&mut sums[j], &column.log_joint(&sample[j], &theta[j]).by_parameters, weights[j][s]);
        }
    }
    sums
}
