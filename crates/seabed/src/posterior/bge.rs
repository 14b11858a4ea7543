//! BGe: linear mechanisms whose parameters are integrated out, so that a parent set has a score of its own.
//!
//! The prior is normal–Wishart with mean ν, weight α_μ of the mean, α_λ degrees of freedom and scale t I,
//! t = α_μ (α_λ - d - 1)/(α_μ + 1). A node's statistics leave out the rows in which it was a target.

use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::Mutex;

use faer::Mat;

use crate::belief::LinearConditional;
use crate::graph::{Node, NodeSet};
use crate::num::matrix::{Cholesky, solve_lower_in_place};
use crate::num::random::Draws;
use crate::num::special::ln_gamma;
use crate::scm::Linear;

/// The prior: weight of its mean, and its degrees of freedom beyond the number of variables.
pub(super) const MEAN_WEIGHT: f64 = 1.0;
pub(super) const EXTRA_FREEDOM: f64 = 2.0;

/// Scores that are kept for a node before its memory is emptied.
const MOST_KEPT: usize = 20_000;

/// Local scores of parent sets, and draws of the parameters given a parent set.
pub(super) struct Bge {
    nodes: usize,
    mean_weight: f64,
    freedom: f64,
    /// t.
    scale: f64,
    statistics: Vec<Statistics>,
    /// `statistics_of[j]`: which of them are node j's; nodes with the same rows share them.
    statistics_of: Vec<usize>,
    kept: Vec<Mutex<HashMap<NodeSet, f64>>>,
}

/// What the rows of a node say.
struct Statistics {
    rows: f64,
    /// Posterior mean of the variables.
    mean: Vec<f64>,
    /// Posterior scale matrix R, [nodes * nodes].
    scale: Vec<f64>,
}

impl Bge {
    /// The scores of data `columns[variable][row]`, where `rows_of[k]` are the rows of a node k, in ascending order.
    pub fn new(
        columns: &[Vec<f64>],
        rows_of: &[Vec<usize>],
        prior_mean: &[f64],
        mean_weight: f64,
        freedom: f64,
    ) -> Self {
        let nodes = columns.len();
        let scale = mean_weight * (freedom - nodes as f64 - 1.0) / (mean_weight + 1.0);
        let mut groups: Vec<&Vec<usize>> = Vec::new();
        let mut statistics = Vec::new();
        let mut statistics_of = Vec::new();
        for rows in rows_of {
            let known = groups.iter().position(|group| *group == rows);
            statistics_of.push(known.unwrap_or(groups.len()));
            if known.is_none() {
                groups.push(rows);
                statistics.push(Statistics::new(columns, rows, prior_mean, mean_weight, scale));
            }
        }
        let kept = (0..nodes).map(|_| Mutex::new(HashMap::new())).collect();
        Self { nodes, mean_weight, freedom, scale, statistics, statistics_of, kept }
    }

    /// log p(values of `node` | values of `parents`), parameters integrated out; not a number if numbers run out of digits.
    pub fn local(&self, node: Node, parents: &NodeSet) -> f64 {
        let kept = self.kept[node].lock().expect("no thread fails while it holds a score");
        if let Some(score) = kept.get(parents) {
            return *score;
        }
        drop(kept);
        let score = self.score(node, parents);
        let mut kept = self.kept[node].lock().expect("no thread fails while it holds a score");
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(parents.clone(), score);
        score
    }

    /// As [`Bge::local`], computed anew.
    pub fn score(&self, node: Node, parents: &NodeSet) -> f64 {
        let statistics = &self.statistics[self.statistics_of[node]];
        let (rows, own) = (statistics.rows, parents.len() as f64);
        // Columns that are the same but for rounding, in units that dwarf the prior.
        let Some(factor) = statistics.factor(node, parents, self.nodes) else { return f64::NAN };
        let l = factor.factor();
        let of_parents = 2.0 * (0..parents.len()).map(|k| l[(k, k)].ln()).sum::<f64>();
        let of_family = of_parents + 2.0 * l[(parents.len(), parents.len())].ln();
        let freedom = self.freedom - self.nodes as f64 + own;
        0.5 * (self.mean_weight / (rows + self.mean_weight)).ln() + ln_gamma(0.5 * (rows + freedom + 1.0))
            - ln_gamma(0.5 * (freedom + 1.0))
            - 0.5 * rows * PI.ln()
            + 0.5 * (freedom + own + 1.0) * self.scale.ln()
            + 0.5 * (rows + freedom) * of_parents
            - 0.5 * (rows + freedom + 1.0) * of_family
    }

    /// What is known about the mechanism given the parents, which come in ascending order; none if numbers run out of digits.
    pub fn conditional(&self, node: Node, parents: &NodeSet) -> Option<LinearConditional> {
        let statistics = &self.statistics[self.statistics_of[node]];
        let factor = statistics.factor(node, parents, self.nodes)?;
        let (l, size) = (factor.factor(), parents.len());
        // The weights have the covariance σ² (L Lᵀ)⁻¹, so L⁻ᵀ is a factor of it; and the last row of the factor is L⁻¹ R_pa,j.
        let mut inverse = Mat::<f64>::identity(size, size);
        solve_lower_in_place(l.submatrix(0, 0, size, size), inverse.as_mut());
        let weight = |k: usize| (0..size).map(|m| inverse[(m, k)] * l[(size, m)]).sum();
        let entry = |row: usize, column: usize| match (row, column) {
            (0, 0) => (statistics.rows + self.mean_weight).sqrt().recip(),
            (0, _) | (_, 0) => 0.0,
            _ => inverse[(column - 1, row - 1)],
        };
        Some(LinearConditional {
            degrees: self.degrees(statistics, size),
            scale: l[(size, size)] * l[(size, size)],
            centre: parents.iter().map(|parent| statistics.mean[parent]).collect(),
            location: [statistics.mean[node]].into_iter().chain((0..size).map(weight)).collect(),
            factor: (0..=size).flat_map(|row| (0..=size).map(move |column| entry(row, column))).collect(),
        })
    }

    /// Degrees of freedom of the noise given so many parents.
    fn degrees(&self, statistics: &Statistics, parents: usize) -> f64 {
        statistics.rows + self.freedom - self.nodes as f64 + parents as f64 + 1.0
    }

    /// A mechanism and a noise variance from their posterior given the parents; weights in ascending order of them.
    ///
    /// 1/σ² is a scaled χ², the weights are normal given σ², the intercept is normal given both.
    pub fn draw(&self, node: Node, parents: &NodeSet, draws: &mut Draws) -> (Linear, f64) {
        let statistics = &self.statistics[self.statistics_of[node]];
        let size = parents.len();
        let factor = statistics.factor(node, parents, self.nodes).expect("a set that has a score");
        let l = factor.factor();
        // χ² with a whole number of degrees of freedom, as a sum of squares.
        let degrees = self.degrees(statistics, size);
        let chi_squared: f64 = (0..degrees.round() as usize).map(|_| draws.normal()).map(|z| z * z).sum();
        let variance = l[(size, size)] * l[(size, size)] / chi_squared;
        // L Lᵀ w = R_pa,j and the last row of the factor is L⁻¹ R_pa,j: one back substitution gives the mean, and
        // with normals added before it, the draw.
        let mut weights: Vec<f64> =
            (0..size).map(|k| l[(size, k)] + variance.sqrt() * draws.normal()).collect();
        for k in (0..size).rev() {
            let known: f64 = (k + 1..size).map(|m| l[(m, k)] * weights[m]).sum();
            weights[k] = (weights[k] - known) / l[(k, k)];
        }
        let mean: f64 = parents.iter().zip(&weights).map(|(parent, w)| w * statistics.mean[parent]).sum();
        let spread = (variance / (statistics.rows + self.mean_weight)).sqrt();
        let intercept = statistics.mean[node] - mean + spread * draws.normal();
        (Linear { weights, intercept }, variance)
    }
}

impl Statistics {
    fn new(columns: &[Vec<f64>], rows: &[usize], prior_mean: &[f64], mean_weight: f64, scale: f64) -> Self {
        let (nodes, count) = (columns.len(), rows.len() as f64);
        let mean_of = |column: &Vec<f64>| rows.iter().map(|&row| column[row]).sum::<f64>() / count.max(1.0);
        let means: Vec<f64> = columns.iter().map(mean_of).collect();
        let centred: Vec<Vec<f64>> = columns
            .iter()
            .zip(&means)
            .map(|(column, mean)| rows.iter().map(|&row| column[row] - mean).collect())
            .collect();
        let shrunk = count * mean_weight / (count + mean_weight);
        let mut matrix = vec![0.0; nodes * nodes];
        for a in 0..nodes {
            for b in 0..=a {
                let moment: f64 = centred[a].iter().zip(&centred[b]).map(|(x, y)| x * y).sum();
                let shift = shrunk * (means[a] - prior_mean[a]) * (means[b] - prior_mean[b]);
                matrix[a * nodes + b] = moment + shift + if a == b { scale } else { 0.0 };
                matrix[b * nodes + a] = matrix[a * nodes + b];
            }
        }
        let posterior = |k: usize| (mean_weight * prior_mean[k] + count * means[k]) / (mean_weight + count);
        Self { rows: count, mean: (0..nodes).map(posterior).collect(), scale: matrix }
    }

    /// The Cholesky factor of R over the parents, in ascending order, and then the node.
    /// None if numbers run out of digits.
    fn factor(&self, node: Node, parents: &NodeSet, nodes: usize) -> Option<Cholesky> {
        let family: Vec<Node> = parents.iter().chain([node]).collect();
        let matrix =
            Mat::from_fn(family.len(), family.len(), |a, b| self.scale[family[a] * nodes + family[b]]);
        Cholesky::of(matrix.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    /// The draws have the posterior's moments: two correlated parents, 3000 draws, z-scores below 4.5 for the means of
    /// 1/σ², weights and intercept, and for the second moments of the weights.
    #[test]
    fn parameters_are_drawn_from_their_posterior() {
        let mut noise = Seed::new(5).stream(Purpose::Noise).draws();
        let x: Vec<f64> = (0..40).map(|_| 3.0 + noise.normal()).collect();
        let y: Vec<f64> = x.iter().map(|x| 0.8 * x + 0.6 * noise.normal()).collect();
        let z: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 1.0 - 2.0 * x + y + 0.5 * noise.normal()).collect();
        let rows: Vec<usize> = (0..40).collect();
        let bge = Bge::new(&[x, y, z], &vec![rows; 3], &[3.0, 2.0, -5.0], 1.0, 5.0);
        let s = &bge.statistics[0];
        let r = |a: usize, b: usize| s.scale[3 * a + b];
        // The normal equations of two parents, solved by hand.
        let determinant = r(0, 0) * r(1, 1) - r(0, 1) * r(0, 1);
        let inverse =
            [[r(1, 1), -r(0, 1)], [-r(0, 1), r(0, 0)]].map(|row| row.map(|entry| entry / determinant));
        let weights = inverse.map(|row| row[0] * r(0, 2) + row[1] * r(1, 2));
        let left = r(2, 2) - weights[0] * r(0, 2) - weights[1] * r(1, 2);
        let degrees = 40.0 + 5.0 - 3.0 + 2.0 + 1.0;
        let variance = left / (degrees - 2.0);
        let parents = NodeSet::of(3, [0, 1]);
        let drawn: Vec<(Linear, f64)> = (0..3000).map(|_| bge.draw(2, &parents, &mut noise)).collect();
        let check = |what: &str, of: &dyn Fn(&(Linear, f64)) -> f64, want: f64| {
            let values: Vec<f64> = drawn.iter().map(of).collect();
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let spread = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let z = (mean - want) / (spread / n).sqrt();
            assert!(z.abs() < 4.5, "{what}: {mean} {want} z {z}");
        };
        check("precision", &|draw| 1.0 / draw.1, degrees / left);
        check("variance", &|draw| draw.1, variance);
        for a in 0..2 {
            check("weight", &|draw| draw.0.weights[a], weights[a]);
            for b in 0..=a {
                let off = |draw: &(Linear, f64), k: usize| draw.0.weights[k] - weights[k];
                check("covariance", &|draw| off(draw, a) * off(draw, b), variance * inverse[a][b]);
            }
        }
        let at_mean = |draw: &(Linear, f64)| {
            draw.0.intercept + draw.0.weights[0] * s.mean[0] + draw.0.weights[1] * s.mean[1]
        };
        check("intercept", &at_mean, s.mean[2]);
        check("its variance", &|draw| (at_mean(draw) - s.mean[2]).powi(2), variance / 41.0);
    }
}
