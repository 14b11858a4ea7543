//! One variable's part of the log-density for many graphs at once, in single precision: the hot loop of DiBS.
//!
//! The weights of all samples and hidden units stand side by side, each times the soft edge of its input, so that
//! one matrix product gives every hidden unit of every sample. Inputs without an edge in any sample take no part.
//! Residuals are single, their squares are added up in double precision.

use std::f64::consts::TAU;
use std::sync::Arc;

use faer::{MatMut, MatRef};
use multiversion::multiversion;

use super::parameters::{Layout, NoisePrior};
use crate::num::matrix::product;

/// The rows in which a variable was not a target.
#[derive(Clone, Debug)]
pub(super) struct ColumnData {
    /// All variables in these rows, column after column; shared by all variables with the same rows.
    pub inputs: Arc<Vec<f32>>,
    /// The variable itself.
    pub values: Vec<f32>,
    pub noise: NoisePrior,
}

/// A variable's data together with its parameters.
pub(super) struct Column<'a> {
    layout: &'a Layout,
    data: &'a ColumnData,
    theta: &'a [f64],
    /// `theta` in single precision.
    short: Vec<f32>,
    /// What an edge from each input costs.
    edge_prior: Vec<f64>,
    /// What does not depend on the graph or on the residuals.
    constant: f64,
}

/// Memory that is used again for every column.
#[derive(Default)]
pub(super) struct Scratch {
    active: Vec<usize>,
    /// The largest entry of each input over all samples, [nodes].
    largest: Vec<f32>,
    /// The weights of the active inputs, unit after unit, [active, units].
    plain: Vec<f32>,
    /// The active entries of one sample.
    edges: Vec<f32>,
    /// [rows, active]
    x: Vec<f32>,
    /// [active, samples * units]
    weights: Vec<f32>,
    /// [rows, samples * units]: input of every hidden unit, later its share of the residual.
    hidden: Vec<f32>,
    /// [rows, samples]
    residuals: Vec<f32>,
    /// [active, samples * units]
    slopes: Vec<f32>,
}

impl<'a> Column<'a> {
    pub fn new(layout: &'a Layout, data: &'a ColumnData, theta: &'a [f64]) -> Self {
        let edge_prior = (0..layout.nodes).map(|input| layout.log_prior_of_input(theta, input)).collect();
        let log_variance = theta[layout.log_variance()];
        let always: f64 = layout.always().map(|k| layout.log_prior(theta[k])).sum();
        let rows = data.values.len() as f64;
        let constant =
            always + data.noise.log_density(log_variance).0 - 0.5 * rows * (TAU.ln() + log_variance);
        let short = theta.iter().map(|&x| x as f32).collect();
        Self { layout, data, theta, short, edge_prior, constant }
    }

    fn rows(&self) -> usize {
        self.data.values.len()
    }

    fn precision(&self) -> f64 {
        (-self.theta[self.layout.log_variance()]).exp()
    }

    /// log p(parameters, data of this column | graph) for every sample of its parents, `[samples * nodes]`.
    pub fn log_joints(&self, graphs: &[f32], scratch: &mut Scratch) -> Vec<f64> {
        self.forward(graphs, scratch);
        let precision = self.precision();
        let rows = self.rows();
        let value = |(sample, graph): (usize, &[f32])| {
            let residuals = &scratch.residuals[sample * rows..(sample + 1) * rows];
            let edges: f64 = graph.iter().zip(&self.edge_prior).map(|(&g, prior)| f64::from(g) * prior).sum();
            self.constant + edges - 0.5 * precision * sum_of_squares(residuals)
        };
        graphs.chunks_exact(self.layout.nodes).enumerate().map(value).collect()
    }

    /// Mean square of what a graph leaves unexplained.
    pub fn mean_square(&self, graph: &[f32], scratch: &mut Scratch) -> f64 {
        self.forward(graph, scratch);
        sum_of_squares(&scratch.residuals) / self.rows() as f64
    }

    /// The derivative of every sample's log joint by its graph, times the sample's weight: `[samples * nodes]`.
    pub fn by_graphs(&self, graphs: &[f32], weights: &[f64], scratch: &mut Scratch) -> Vec<f64> {
        self.forward(graphs, scratch);
        self.backward(weights, scratch, None);
        let (nodes, units) = (self.layout.nodes, self.layout.units);
        let active = scratch.active.len();
        let mut slopes = vec![0.0; graphs.len()];
        for (sample, weight) in weights.iter().enumerate() {
            let out = &mut slopes[sample * nodes..(sample + 1) * nodes];
            // An edge that is not there has a slope too, but nothing asks for it: its probability does not move.
            for (k, &input) in scratch.active.iter().enumerate() {
                let by_units: f64 = (0..units)
                    .map(|unit| {
                        let slope = scratch.slopes[(sample * units + unit) * active + k];
                        f64::from(slope) * self.theta[self.layout.weight(input, unit)]
                    })
                    .sum();
                out[input] = by_units + weight * self.edge_prior[input];
            }
        }
        slopes
    }

    /// Adds the weighted mean over samples of the derivative by the parameters; the weights have sum 1.
    pub fn add_by_parameters(&self, graphs: &[f32], weights: &[f64], scratch: &mut Scratch, out: &mut [f64]) {
        self.forward(graphs, scratch);
        self.backward(weights, scratch, Some(out));
        let (layout, active) = (self.layout, scratch.active.len());
        let down = -1.0 / (layout.prior_sd * layout.prior_sd);
        for (sample, (graph, weight)) in graphs.chunks_exact(layout.nodes).zip(weights).enumerate() {
            for (k, &input) in scratch.active.iter().enumerate() {
                let edge = f64::from(graph[input]);
                for unit in 0..layout.units {
                    let slope = f64::from(scratch.slopes[(sample * layout.units + unit) * active + k]);
                    let place = layout.weight(input, unit);
                    out[place] += edge * (slope + weight * down * self.theta[place]);
                }
            }
        }
        for place in layout.always() {
            out[place] += down * self.theta[place];
        }
        out[layout.log_variance()] += self.data.noise.log_density(self.theta[layout.log_variance()]).1;
    }

    /// Fills hidden units and residuals of every sample.
    fn forward(&self, graphs: &[f32], scratch: &mut Scratch) {
        let (layout, rows) = (self.layout, self.rows());
        let (nodes, units) = (layout.nodes, layout.units);
        let samples = graphs.len() / nodes;
        scratch.largest.clear();
        scratch.largest.resize(nodes, 0.0);
        for graph in graphs.chunks_exact(nodes) {
            keep_larger(&mut scratch.largest, graph);
        }
        scratch.active.clear();
        scratch.active.extend((0..nodes).filter(|&input| scratch.largest[input] > 0.0));
        let active = scratch.active.len();
        scratch.x.clear();
        for &input in &scratch.active {
            scratch.x.extend_from_slice(&self.data.inputs[input * rows..(input + 1) * rows]);
        }
        scratch.plain.clear();
        for unit in 0..units {
            let weight = |&input: &usize| self.short[layout.weight(input, unit)];
            scratch.plain.extend(scratch.active.iter().map(weight));
        }
        scratch.weights.resize(active * samples * units, 0.0);
        for (sample, graph) in graphs.chunks_exact(nodes).enumerate() {
            scratch.edges.clear();
            scratch.edges.extend(scratch.active.iter().map(|&input| graph[input]));
            let block = &mut scratch.weights[sample * units * active..(sample + 1) * units * active];
            multiply_rows(block, &scratch.plain, &scratch.edges);
        }
        scratch.hidden.resize(rows * samples * units, 0.0);
        if active == 0 {
            scratch.hidden.fill(0.0);
        } else {
            product(
                MatMut::from_column_major_slice_mut(&mut scratch.hidden, rows, samples * units),
                MatRef::from_column_major_slice(&scratch.x, rows, active),
                MatRef::from_column_major_slice(&scratch.weights[..], active, samples * units),
            );
        }
        scratch.residuals.clear();
        for sample in 0..samples {
            let start = scratch.residuals.len();
            scratch.residuals.extend(self.data.values.iter().map(|y| y - self.short[layout.b2()]));
            let residuals = &mut scratch.residuals[start..];
            for unit in 0..units {
                let place = (sample * units + unit) * rows;
                let hidden = &mut scratch.hidden[place..place + rows];
                if layout.nonlinear {
                    let (bias, weight) = (self.short[layout.b1(unit)], self.short[layout.w2(unit)]);
                    subtract_rectified(residuals, hidden, bias, weight);
                } else {
                    subtract(residuals, hidden);
                }
            }
        }
    }

    /// Turns hidden units into their shares of the weighted residuals and fills the slopes; adds the derivatives
    /// by the parameters that do not belong to an edge.
    fn backward(&self, weights: &[f64], scratch: &mut Scratch, mut out: Option<&mut [f64]>) {
        let (layout, rows) = (self.layout, self.rows());
        let (units, active) = (layout.units, scratch.active.len());
        let precision = self.precision();
        for (sample, weight) in weights.iter().enumerate() {
            let residuals = &mut scratch.residuals[sample * rows..(sample + 1) * rows];
            if let Some(out) = out.as_deref_mut() {
                if self.data.noise != NoisePrior::Known {
                    let squares = sum_of_squares(residuals);
                    out[layout.log_variance()] += 0.5 * weight * (precision * squares - rows as f64);
                }
                if layout.intercept {
                    out[layout.b2()] += weight * precision * sum(residuals);
                }
            }
            scale(residuals, (weight * precision) as f32);
            for unit in 0..units {
                let place = (sample * units + unit) * rows;
                let hidden = &mut scratch.hidden[place..place + rows];
                if !layout.nonlinear {
                    hidden.copy_from_slice(residuals);
                    continue;
                }
                if let Some(out) = out.as_deref_mut() {
                    out[layout.w2(unit)] += rectified_product(residuals, hidden);
                }
                gate(hidden, residuals, self.short[layout.w2(unit)]);
                if let Some(out) = out.as_deref_mut() {
                    out[layout.b1(unit)] += sum(hidden);
                }
            }
        }
        if active > 0 {
            let columns = weights.len() * units;
            scratch.slopes.resize(active * columns, 0.0);
            product(
                MatMut::from_column_major_slice_mut(&mut scratch.slopes, active, columns),
                MatRef::from_column_major_slice(&scratch.x, rows, active).transpose(),
                MatRef::from_column_major_slice(&scratch.hidden[..rows * columns], rows, columns),
            );
        }
    }
}

/// largest = max(largest, values).
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn keep_larger(largest: &mut [f32], values: &[f32]) {
    for (largest, &value) in largest.iter_mut().zip(values) {
        *largest = if value > *largest { value } else { *largest };
    }
}

/// out = rows, each entry times that of `factors`; `rows` is a multiple of `factors` long.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn multiply_rows(out: &mut [f32], rows: &[f32], factors: &[f32]) {
    let length = factors.len().max(1);
    for (out, row) in out.chunks_exact_mut(length).zip(rows.chunks_exact(length)) {
        for ((out, x), factor) in out.iter_mut().zip(row).zip(factors) {
            *out = x * factor;
        }
    }
}

/// hidden += bias; residuals -= weight max(0, hidden).
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn subtract_rectified(residuals: &mut [f32], hidden: &mut [f32], bias: f32, weight: f32) {
    for (residual, hidden) in residuals.iter_mut().zip(hidden) {
        let value = *hidden + bias;
        *hidden = value;
        *residual -= weight * if value > 0.0 { value } else { 0.0 };
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn subtract(residuals: &mut [f32], means: &[f32]) {
    for (residual, mean) in residuals.iter_mut().zip(means) {
        *residual -= mean;
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn scale(values: &mut [f32], factor: f32) {
    for value in values {
        *value *= factor;
    }
}

/// hidden = weight * residual where the unit is active, else 0.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn gate(hidden: &mut [f32], residuals: &[f32], weight: f32) {
    for (hidden, residual) in hidden.iter_mut().zip(residuals) {
        *hidden = if *hidden > 0.0 { weight * residual } else { 0.0 };
    }
}

/// Sums side by side: their number is part of the result, whatever the machine's vectors are.
const LANES: usize = 8;

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn sum_of_squares(values: &[f32]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            let x = f64::from(chunk[lane]);
            sums[lane] += x * x;
        }
    }
    let rest: f64 = chunks.remainder().iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    sums.iter().sum::<f64>() + rest
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn sum(values: &[f32]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            sums[lane] += f64::from(chunk[lane]);
        }
    }
    sums.iter().sum::<f64>() + chunks.remainder().iter().map(|&x| f64::from(x)).sum::<f64>()
}

/// Σ weights values.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn weighted_sum(weights: &[f32], values: &[f64]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let mut parts = weights.chunks_exact(LANES);
    let mut others = values.chunks_exact(LANES);
    for (part, other) in (&mut parts).zip(&mut others) {
        for lane in 0..LANES {
            sums[lane] += f64::from(part[lane]) * other[lane];
        }
    }
    let rest = parts.remainder().iter().zip(others.remainder());
    sums.iter().sum::<f64>() + rest.map(|(&w, x)| f64::from(w) * x).sum::<f64>()
}

/// Σ residual max(0, hidden).
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn rectified_product(residuals: &[f32], hidden: &[f32]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let rectified = |x: f32| if x > 0.0 { f64::from(x) } else { 0.0 };
    let mut parts = residuals.chunks_exact(LANES);
    let mut others = hidden.chunks_exact(LANES);
    for (part, other) in (&mut parts).zip(&mut others) {
        for lane in 0..LANES {
            sums[lane] += f64::from(part[lane]) * rectified(other[lane]);
        }
    }
    let rest = parts.remainder().iter().zip(others.remainder());
    sums.iter().sum::<f64>() + rest.map(|(&r, &h)| f64::from(r) * rectified(h)).sum::<f64>()
}
