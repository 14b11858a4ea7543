//! Edge probabilities against the true edges: ranking, squared error, calibration.
//!
//! `probabilities[i][j]` belongs to the edge `i -> j`; the diagonal is ignored. Ties are handled as in
//! scikit-learn: tied probabilities count as one threshold.

use serde::Serialize;

use crate::graph::Adjacency;

/// Edge probabilities between `lower` and `upper`, and how often such edges are true.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Bin {
    /// Lower end, included.
    pub lower: f64,
    /// Upper end, excluded except for 1.
    pub upper: f64,
    /// Number of ordered pairs in the bin.
    pub pairs: usize,
    /// Mean probability of these pairs.
    pub mean_probability: f64,
    /// Fraction of these pairs that are true edges.
    pub frequency: f64,
}

const BINS: usize = 10;

/// (probability, is it a true edge?) of every ordered pair of different nodes.
fn pairs(probabilities: &[Vec<f64>], truth: &impl Adjacency) -> Vec<(f64, bool)> {
    let of_row = |i: usize| {
        let edges = truth.row(i);
        let others = (0..truth.nodes()).filter(move |&j| j != i);
        others.map(|j| (probabilities[i][j], edges.contains(j))).collect::<Vec<_>>()
    };
    (0..truth.nodes()).flat_map(of_row).collect()
}

/// (probability that they are joined, are they?) of every unordered pair of different nodes.
fn joined_pairs(probabilities: &[Vec<f64>], truth: &impl Adjacency) -> Vec<(f64, bool)> {
    let rows: Vec<_> = (0..truth.nodes()).map(|i| truth.row(i)).collect();
    // Sums of rounded probabilities, rounded as they are, so that equal ones tie.
    let rounded = |p: f64| (p * 1e12).round() / 1e12;
    let below = |j: usize| (0..j).map(move |i| (i, j));
    let pair = |(i, j): (usize, usize)| {
        (rounded(probabilities[i][j] + probabilities[j][i]), rows[i].contains(j) || rows[j].contains(i))
    };
    (0..truth.nodes()).flat_map(below).map(pair).collect()
}

/// For every distinct probability, from the highest down: (true edges, other pairs) with that probability.
fn thresholds(mut ranked: Vec<(f64, bool)>) -> Vec<(f64, f64)> {
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked
        .chunk_by(|a, b| a.0 == b.0)
        .map(|tied| {
            let edges = tied.iter().filter(|(_, edge)| *edge).count();
            (edges as f64, (tied.len() - edges) as f64)
        })
        .collect()
}

/// Area under the ROC curve: how often a true edge is more probable than another pair, ties counting half.
/// None if one of the two kinds is missing.
pub fn area_under_roc(probabilities: &[Vec<f64>], truth: &impl Adjacency) -> Option<f64> {
    area(pairs(probabilities, truth))
}

/// As [`area_under_roc`], of the skeleton: how often a pair that the truth joins is more probably joined than another
/// pair, whatever the directions.
pub fn skeleton_area_under_roc(probabilities: &[Vec<f64>], truth: &impl Adjacency) -> Option<f64> {
    area(joined_pairs(probabilities, truth))
}

fn area(pairs: Vec<(f64, bool)>) -> Option<f64> {
    let (mut edges, mut others, mut won) = (0.0, 0.0, 0.0);
    for (tied_edges, tied_others) in thresholds(pairs) {
        won += tied_others * (edges + 0.5 * tied_edges);
        edges += tied_edges;
        others += tied_others;
    }
    (edges > 0.0 && others > 0.0).then(|| won / (edges * others))
}

/// Average precision: the mean over true edges of the precision at their threshold. None without true edges.
pub fn average_precision(probabilities: &[Vec<f64>], truth: &impl Adjacency) -> Option<f64> {
    let (mut edges, mut all, mut sum) = (0.0, 0.0, 0.0);
    for (tied_edges, tied_others) in thresholds(pairs(probabilities, truth)) {
        edges += tied_edges;
        all += tied_edges + tied_others;
        sum += tied_edges * edges / all;
    }
    (edges > 0.0).then(|| sum / edges)
}

/// Sum over pairs of the squared difference between probability and truth.
pub fn edge_loss(probabilities: &[Vec<f64>], truth: &impl Adjacency) -> f64 {
    let square = |(p, edge): (f64, bool)| (p - f64::from(u8::from(edge))).powi(2);
    pairs(probabilities, truth).into_iter().map(square).sum()
}

/// Mean squared difference between probability and truth; 0 for fewer than two nodes.
pub fn brier(probabilities: &[Vec<f64>], truth: &impl Adjacency) -> f64 {
    let nodes = truth.nodes();
    edge_loss(probabilities, truth) / (nodes * nodes.saturating_sub(1)).max(1) as f64
}

/// Ten bins of equal width; empty ones are left out.
pub fn calibration(probabilities: &[Vec<f64>], truth: &impl Adjacency) -> Vec<Bin> {
    let mut sums = [(0usize, 0.0, 0usize); BINS];
    for (p, edge) in pairs(probabilities, truth) {
        let bin = &mut sums[((p * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += 1;
        bin.1 += p;
        bin.2 += usize::from(edge);
    }
    let bin = |(k, &(pairs, sum, edges)): (usize, &(usize, f64, usize))| Bin {
        lower: k as f64 / BINS as f64,
        upper: (k + 1) as f64 / BINS as f64,
        pairs,
        mean_probability: sum / pairs as f64,
        frequency: edges as f64 / pairs as f64,
    };
    sums.iter().enumerate().filter(|(_, sum)| sum.0 > 0).map(bin).collect()
}

/// The mean over pairs of the distance between probability and frequency of their bin.
pub fn expected_calibration_error(bins: &[Bin]) -> f64 {
    let pairs: usize = bins.iter().map(|bin| bin.pairs).sum();
    let miss = |bin: &Bin| bin.pairs as f64 * (bin.mean_probability - bin.frequency).abs();
    bins.iter().map(miss).sum::<f64>() / pairs.max(1) as f64
}
