//! The gradient of log p(Θ, D | Z), estimated from sampled graphs.
//!
//! The columns of a graph are independent given Z and p(Θ, D | G) is a product over columns, so the logarithm of its
//! mean over graphs is a sum over columns, and samples can be weighted column by column: a softmax over the M samples
//! of a column, as good as M^d whole graphs. The joint estimator of the DiBS paper, one weight for a whole graph,
//! is there for comparison. Edges get their gradient through soft graphs, parameters theirs over hard ones, both
//! from the same noise; equal samples are worked on once, and backwards only those that carry weight.

use multiversion::multiversion;
use serde::{Deserialize, Serialize};

use super::bge::Bge;
use super::column::{Column, ColumnData, Scratch};
use super::latent::Edges;
use super::parameters::{Layout, NoisePrior};
use crate::graph::{Node, NodeSet};
use crate::num::elementwise::sigmoid_in_place;
use crate::num::log_sum_exp;
use crate::num::random::Stream;

/// How samples of graphs are weighted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// Column by column: the same mean, far less variance.
    Columns,
    /// Whole graphs, as in the DiBS paper.
    Joint,
}

/// What is estimated from: data and the edges that may vary.
pub(super) struct Problem {
    pub edges: Edges,
    pub terms: Terms,
}

/// The model's terms, one per column.
pub(super) enum Terms {
    Parameters { layout: Layout, columns: Vec<ColumnData> },
    Marginal(Box<Bge>),
}

/// The estimated gradients, and soft graphs for the acyclicity penalty.
pub(super) struct Estimate {
    /// By the scores, `[to * nodes + from]`.
    pub by_scores: Vec<f64>,
    /// By the parameters, column after column.
    pub by_theta: Vec<f64>,
    /// The first few soft graphs, each `[to * nodes + from]`.
    pub soft: Vec<Vec<f64>>,
}

/// How many samples are drawn, and how they are weighted.
#[derive(Clone, Copy)]
pub(super) struct Sampling {
    pub estimator: Estimator,
    pub samples: usize,
    /// How many of the soft graphs are handed on.
    pub soft: usize,
}

/// A soft edge below this counts as absent: its part of a log-density is lost in single precision.
const LEAST_EDGE: f64 = 1e-7;

/// A sample below this weight is left out of the backward pass.
const LEAST_WEIGHT: f64 = 1e-8;

/// Samples of a column's parents; equal ones are kept once.
struct Samples {
    /// `[different * nodes]`
    graphs: Vec<f32>,
    /// For every sample, which of the different ones it is.
    which: Vec<usize>,
}

impl Samples {
    fn of(graphs: &[f32], nodes: usize) -> Self {
        let mut samples = Self { graphs: Vec::new(), which: Vec::new() };
        // Most samples differ; their marks show that without comparing entries.
        let mut marks: Vec<u64> = Vec::new();
        for graph in graphs.chunks_exact(nodes) {
            let own = mark(graph);
            let same = |&k: &usize| marks[k] == own && samples.graphs[k * nodes..(k + 1) * nodes] == *graph;
            let known = (0..marks.len()).find(same);
            samples.which.push(known.unwrap_or(marks.len()));
            if known.is_none() {
                marks.push(own);
                samples.graphs.extend_from_slice(graph);
            }
        }
        samples
    }

    /// The different samples that carry weight, with their weights, which have sum 1.
    fn weighted(&self, weights: &[f64], nodes: usize) -> (Vec<f32>, Vec<f64>) {
        let mut totals = vec![0.0; self.graphs.len() / nodes];
        for (&k, weight) in self.which.iter().zip(weights) {
            totals[k] += weight;
        }
        let kept: Vec<usize> = (0..totals.len()).filter(|&k| totals[k] > LEAST_WEIGHT).collect();
        let total: f64 = kept.iter().map(|&k| totals[k]).sum();
        let graphs = kept.iter().flat_map(|&k| &self.graphs[k * nodes..(k + 1) * nodes]).copied().collect();
        (graphs, kept.iter().map(|&k| totals[k] / total).collect())
    }
}

/// Equal slices have equal marks, different ones hardly ever.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn mark(values: &[f32]) -> u64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut factor = STEP;
    let mut mark = 0u64;
    for value in values {
        // Zeros and ones differ in their high bits only.
        let bits = u64::from(value.to_bits());
        mark = mark.wrapping_add((bits ^ bits >> 23).wrapping_mul(factor));
        factor = factor.wrapping_add(STEP << 1);
    }
    mark
}

/// Logistic noise plus α score for every sample of a column's free edges, `[samples * free]`.
fn arguments(
    problem: &Problem,
    scores: &[f64],
    alpha: f64,
    to: Node,
    samples: usize,
    stream: Stream,
) -> Vec<f64> {
    let (free, nodes) = (&problem.edges.free[to], problem.edges.nodes());
    let mut arguments = vec![0.0; samples * free.len()];
    stream.at(to as u64).fill_logistic(&mut arguments);
    let shift: Vec<f64> = free.iter().map(|&from| alpha * scores[to * nodes + from]).collect();
    for sample in arguments.chunks_exact_mut(free.len().max(1)) {
        for (x, shift) in sample.iter_mut().zip(&shift) {
            *x += shift;
        }
    }
    arguments
}

/// Graphs `[samples * nodes]` with certain edges set and free ones as `edge` says.
fn graphs(edges: &Edges, to: Node, samples: usize, free: &[f64], edge: impl Fn(f64) -> f32) -> Vec<f32> {
    let nodes = edges.nodes();
    let mut graphs = vec![0.0; samples * nodes];
    for (sample, graph) in graphs.chunks_exact_mut(nodes).enumerate() {
        for from in &edges.always[to] {
            graph[from] = 1.0;
        }
        let own = &free[sample * edges.free[to].len()..];
        for (&from, &x) in edges.free[to].iter().zip(own) {
            graph[from] = edge(x);
        }
    }
    graphs
}

/// The gradient at a particle: its scores `[to * nodes + from]` and parameters.
pub(super) fn estimate(
    problem: &Problem,
    scores: &[f64],
    theta: &[f64],
    alpha: f64,
    sampling: Sampling,
    stream: Stream,
) -> Estimate {
    let nodes = problem.edges.nodes();
    let mut soft_graphs = vec![vec![0.0; nodes * nodes]; sampling.soft];
    let mut drawn = Vec::with_capacity(nodes);
    let soft_needed = match problem.terms {
        Terms::Parameters { .. } => sampling.samples,
        Terms::Marginal(_) => sampling.soft.min(sampling.samples),
    };
    for to in 0..nodes {
        let mut x = arguments(problem, scores, alpha, to, sampling.samples, stream);
        let hard = graphs(&problem.edges, to, sampling.samples, &x, |x| if x > 0.0 { 1.0 } else { 0.0 });
        x.truncate(soft_needed * problem.edges.free[to].len());
        sigmoid_in_place(&mut x);
        let soft =
            graphs(&problem.edges, to, soft_needed, &x, |p| if p < LEAST_EDGE { 0.0 } else { p as f32 });
        for (sample, graph) in soft_graphs.iter_mut().enumerate() {
            let entries = &soft[sample * nodes..(sample + 1) * nodes];
            for (out, &edge) in graph[to * nodes..(to + 1) * nodes].iter_mut().zip(entries) {
                *out = f64::from(edge);
            }
        }
        drawn.push((Samples::of(&soft, nodes), Samples::of(&hard, nodes)));
    }
    let (soft, hard): (Vec<Samples>, Vec<Samples>) = drawn.into_iter().unzip();
    let (by_scores, by_theta) = match &problem.terms {
        Terms::Parameters { layout, columns } => {
            let columns: Vec<Column> = (0..nodes)
                .map(|j| Column::new(layout, &columns[j], &theta[j * layout.len()..(j + 1) * layout.len()]))
                .collect();
            let mut scratch = Scratch::default();
            let by_scores = by_scores(&problem.edges, &columns, &soft, alpha, sampling, &mut scratch);
            let by_theta = by_theta(layout, &columns, &hard, sampling, &mut scratch);
            (by_scores, by_theta)
        }
        Terms::Marginal(bge) => (marginal(&problem.edges, bge, &hard, scores, alpha, sampling), Vec::new()),
    };
    Estimate { by_scores, by_theta, soft: soft_graphs }
}

/// The weights of every column's samples, given the log joint of every column's different samples.
fn weights(log_joints: &[Vec<f64>], samples: &[Samples], sampling: Sampling) -> Vec<Vec<f64>> {
    let of_column = |(values, samples): (&Vec<f64>, &Samples)| -> Vec<f64> {
        samples.which.iter().map(|&k| values[k]).collect()
    };
    let columns: Vec<Vec<f64>> = log_joints.iter().zip(samples).map(of_column).collect();
    match sampling.estimator {
        Estimator::Columns => columns.iter().map(|values| softmax(values)).collect(),
        Estimator::Joint => {
            let totals: Vec<f64> = (0..sampling.samples)
                .map(|sample| columns.iter().map(|column| column[sample]).sum())
                .collect();
            vec![softmax(&totals); columns.len()]
        }
    }
}

fn softmax(values: &[f64]) -> Vec<f64> {
    let total = log_sum_exp(values);
    values.iter().map(|x| (x - total).exp()).collect()
}

fn by_scores(
    edges: &Edges,
    columns: &[Column],
    soft: &[Samples],
    alpha: f64,
    sampling: Sampling,
    scratch: &mut Scratch,
) -> Vec<f64> {
    let nodes = edges.nodes();
    let mut slopes = vec![0.0; nodes * nodes];
    let log_joints: Vec<Vec<f64>> =
        columns.iter().zip(soft).map(|(column, soft)| column.log_joints(&soft.graphs, scratch)).collect();
    for (to, weights) in weights(&log_joints, soft, sampling).iter().enumerate() {
        let (graphs, weights) = soft[to].weighted(weights, nodes);
        let by_graphs = columns[to].by_graphs(&graphs, &weights, scratch);
        for (graph, by_graph) in graphs.chunks_exact(nodes).zip(by_graphs.chunks_exact(nodes)) {
            for &from in &edges.free[to] {
                let edge = f64::from(graph[from]);
                slopes[to * nodes + from] += by_graph[from] * alpha * edge * (1.0 - edge);
            }
        }
    }
    slopes
}

fn by_theta(
    layout: &Layout,
    columns: &[Column],
    hard: &[Samples],
    sampling: Sampling,
    scratch: &mut Scratch,
) -> Vec<f64> {
    let mut slopes = vec![0.0; columns.len() * layout.len()];
    let log_joints: Vec<Vec<f64>> =
        columns.iter().zip(hard).map(|(column, hard)| column.log_joints(&hard.graphs, scratch)).collect();
    for (to, weights) in weights(&log_joints, hard, sampling).iter().enumerate() {
        let (graphs, weights) = hard[to].weighted(weights, layout.nodes);
        let out = &mut slopes[to * layout.len()..(to + 1) * layout.len()];
        columns[to].add_by_parameters(&graphs, &weights, scratch, out);
    }
    slopes
}

/// By the scores, for a model without parameters: α (weighted mean of the edge - plain mean of it).
///
/// The plain mean is an estimate of the edge's probability from the same samples, so that what they have in common
/// cancels. Columns with few candidates are enumerated exactly.
fn marginal(
    edges: &Edges,
    bge: &Bge,
    hard: &[Samples],
    scores: &[f64],
    alpha: f64,
    sampling: Sampling,
) -> Vec<f64> {
    let nodes = edges.nodes();
    let mut slopes = vec![0.0; nodes * nodes];
    let local = |to: Node, graph: &[f32]| {
        bge.local(to, &NodeSet::of(nodes, (0..nodes).filter(|&from| graph[from] > 0.0)))
    };
    let enumerable = |to: Node| 1 << edges.free[to].len().min(40) <= sampling.samples;
    if sampling.estimator == Estimator::Columns && (0..nodes).all(enumerable) {
        for to in 0..nodes {
            let slopes = &mut slopes[to * nodes..(to + 1) * nodes];
            enumerated(edges, bge, to, &scores[to * nodes..(to + 1) * nodes], alpha, slopes);
        }
        return slopes;
    }
    let log_joints: Vec<Vec<f64>> = (0..nodes)
        .map(|to| hard[to].graphs.chunks_exact(nodes).map(|graph| local(to, graph)).collect())
        .collect();
    for (to, weights) in weights(&log_joints, hard, sampling).iter().enumerate() {
        let plain = 1.0 / weights.len() as f64;
        for (&k, weight) in hard[to].which.iter().zip(weights) {
            let graph = &hard[to].graphs[k * nodes..(k + 1) * nodes];
            for &from in &edges.free[to] {
                slopes[to * nodes + from] += alpha * (weight - plain) * f64::from(graph[from]);
            }
        }
    }
    slopes
}

/// α (posterior - prior probability) of every free edge into a node, over all sets of its parents.
fn enumerated(edges: &Edges, bge: &Bge, to: Node, scores: &[f64], alpha: f64, slopes: &mut [f64]) {
    let free = &edges.free[to];
    let log_odds: Vec<f64> = free.iter().map(|&from| alpha * scores[from]).collect();
    let set = |bits: usize| (0..free.len()).filter(move |k| bits >> k & 1 == 1);
    // ln p(set) up to a constant is the sum of the log-odds of its members.
    let prior: Vec<f64> = (0..1 << free.len()).map(|bits| set(bits).map(|k| log_odds[k]).sum()).collect();
    let scored = |bits: usize| {
        let mut parents = edges.always[to].clone();
        for k in set(bits) {
            parents.insert(free[k]);
        }
        prior[bits] + bge.local(to, &parents)
    };
    let posterior = softmax(&(0..prior.len()).map(scored).collect::<Vec<_>>());
    let prior = softmax(&prior);
    for bits in 0..prior.len() {
        for k in set(bits) {
            slopes[free[k]] += alpha * (posterior[bits] - prior[bits]);
        }
    }
}

impl Problem {
    /// Sets learned noise variances to what a graph, given as the parents of every node, leaves unexplained.
    pub fn set_noise(&self, parents: &[NodeSet], theta: &mut [f64]) {
        let Terms::Parameters { layout, columns } = &self.terms else { return };
        let mut scratch = Scratch::default();
        for (j, theta) in theta.chunks_exact_mut(layout.len()).enumerate() {
            if columns[j].noise != NoisePrior::Known {
                let mut graph = vec![0.0; parents.len()];
                parents[j].iter().for_each(|i| graph[i] = 1.0);
                let left = Column::new(layout, &columns[j], theta).mean_square(&graph, &mut scratch);
                theta[layout.log_variance()] = left.max(f64::MIN_POSITIVE).ln();
            }
        }
    }

    /// log p(Θ, D | G) of a graph given as the parents of every node.
    pub fn log_joint(&self, parents: &[NodeSet], theta: &[f64]) -> f64 {
        let nodes = parents.len();
        let mut scratch = Scratch::default();
        let column = |j: usize| match &self.terms {
            Terms::Marginal(bge) => bge.local(j, &parents[j]),
            Terms::Parameters { layout, columns } => {
                let mut graph = vec![0.0; nodes];
                parents[j].iter().for_each(|i| graph[i] = 1.0);
                let theta = &theta[j * layout.len()..(j + 1) * layout.len()];
                Column::new(layout, &columns[j], theta).log_joints(&graph, &mut scratch)[0]
            }
        };
        (0..nodes).map(column).sum()
    }
}
