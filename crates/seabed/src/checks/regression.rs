//! What a graph leaves unexplained of a variable: least squares on what its parents can do to it.
//!
//! Where the models are linear, the regressors are the parents. Where they are not, they are the mean of the models' own functions and,
//! beside the parents, polynomials of their ranks: a single drawn function is off by more than a test can
//! bear, and what is off by a smooth function of a parent is taken out. Either way residuals are those of least
//! squares, so that tests know their law.

use std::collections::HashMap;

use super::ranks::centred_ranks;
use crate::data::Dataset;
use crate::graph::{Dag, Node, NodeSet};
use crate::num::parallel::ordered_map;
use crate::num::special::f_tail;
use crate::observer::{Observer, Pulse, Stopped, report};
use crate::scm::{Mechanism, Scm};

/// Fewer rows say nothing about a distribution.
pub(super) const LEAST_ROWS: usize = 10;

/// Rows beyond the regressors.
const LEAST_FREE: usize = 8;

/// Rows for each regressor before polynomials are added.
const ROWS_PER_REGRESSOR: usize = 10;

/// Drawn functions that are averaged.
const MOST_FUNCTIONS: usize = 16;

/// What is left of a column beside the others, relative to its spread, that is not rounding.
const LEAST_LEFT: f64 = 1e-7;

/// A variable regressed on its parents over the rows in which it was not set.
pub(super) struct Fitted {
    /// The rows, ascending.
    pub rows: Vec<usize>,
    /// Orthonormal regressors, the constant first, `[regressors][rows]`.
    basis: Vec<Vec<f64>>,
    /// `[rows]`.
    pub residual: Vec<f64>,
    /// Sum of their squares.
    pub rss: f64,
    /// What is explained, `[rows]`, about its mean.
    pub explained: Vec<f64>,
    /// How much a row's own value counts for what is explained of it, `[rows]`.
    pub leverage: Vec<f64>,
    /// Ranks of the residuals, and of their sizes, centred, `[rows]`.
    pub ranks: Vec<f64>,
    /// Of the residuals' absolute values, each in units of its own spread.
    pub size_ranks: Vec<f64>,
    /// Are the models' functions linear?
    pub linear: bool,
}

impl Fitted {
    /// None if there are too few rows, or nothing is left to explain.
    fn new(data: &Dataset, node: Node, parents: &NodeSet, models: &[Scm]) -> Option<Self> {
        let rows: Vec<usize> = data.untouched_rows(node).collect();
        let of_rows = |column: &[f64]| -> Vec<f64> { rows.iter().map(|&row| column[row]).collect() };
        let functions: Vec<&Scm> =
            models.iter().filter(|model| model.dag().parents(node) == parents).take(MOST_FUNCTIONS).collect();
        let is_linear = |model: &&Scm| matches!(model.mechanism(node), Mechanism::Linear(_));
        let linear = parents.is_empty() || functions.iter().all(is_linear);
        let mut columns: Vec<Vec<f64>> = parents.iter().map(|parent| of_rows(data.column(parent))).collect();
        if !linear {
            let polynomials = polynomials(&columns, rows.len());
            columns.extend(polynomials);
            columns.push(of_rows(&mean_function(&functions, node, data)));
        }
        if rows.len() < LEAST_ROWS.max(columns.len() + 1 + LEAST_FREE) {
            return None;
        }
        let mut basis = vec![vec![(rows.len() as f64).sqrt().recip(); rows.len()]];
        for column in columns {
            basis.extend(orthogonal(column, &basis).map(|(column, _)| column));
        }
        let values = of_rows(data.column(node));
        let (direction, norm) = orthogonal(values.clone(), &basis)?;
        let residual: Vec<f64> = direction.iter().map(|x| x * norm).collect();
        let mean = values.iter().sum::<f64>() / rows.len() as f64;
        let explained: Vec<f64> = values.iter().zip(&residual).map(|(x, r)| x - mean - r).collect();
        let square = |row: usize| basis.iter().map(|column| column[row] * column[row]).sum::<f64>();
        let leverage: Vec<f64> = (0..rows.len()).map(|row| square(row).min(1.0)).collect();
        let size = |(r, h): (&f64, &f64)| r.abs() / (1.0 - h).max(1e-12).sqrt();
        let sizes: Vec<f64> = direction.iter().zip(&leverage).map(size).collect();
        let (ranks, size_ranks) = (centred_ranks(&residual), centred_ranks(&sizes));
        let rss = norm * norm;
        Some(Self { rows, basis, residual, rss, explained, leverage, ranks, size_ranks, linear })
    }

    /// Rows beyond the regressors.
    pub fn free(&self) -> f64 {
        (self.rows.len() - self.basis.len()) as f64
    }

    /// Is anything explained at all?
    pub fn explains(&self) -> bool {
        self.basis.len() > 1
    }

    /// The probability that columns `[rows]` which have nothing to do with the variable explain as much of the residual as
    /// these, and the part of its sum of squares that they explain. None if they add nothing to the regressors.
    pub fn additional(&self, columns: Vec<Vec<f64>>) -> Option<(f64, f64)> {
        let mut added: Vec<Vec<f64>> = Vec::new();
        let mut basis = self.basis.clone();
        for column in columns {
            if let Some((column, _)) = orthogonal(column, &basis) {
                added.push(column.clone());
                basis.push(column);
            }
        }
        let (count, free) = (added.len() as f64, self.free() - added.len() as f64);
        if added.is_empty() || free < 2.0 {
            return None;
        }
        let gain: f64 = added.iter().map(|column| dot(column, &self.residual).powi(2)).sum::<f64>();
        let part = (gain / self.rss).min(1.0);
        let ratio = part / count / ((1.0 - part).max(1e-300) / free);
        Some((f_tail(ratio, count, free), part))
    }
}

/// The regressions of all pairs of a variable and parents that some graphs have.
pub(super) struct Regressions {
    found: HashMap<(Node, NodeSet), Option<Fitted>>,
}

impl Regressions {
    /// For these graphs; functions are those of all models, variables in the same order everywhere.
    pub fn new<'a>(
        data: &Dataset,
        graphs: impl Iterator<Item = &'a Dag>,
        models: &[Scm],
        observer: &dyn Observer,
    ) -> Result<Self, Stopped> {
        let mut keys: Vec<(Node, NodeSet)> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for graph in graphs {
            for node in 0..graph.len() {
                let key = (node, graph.parents(node).clone());
                if known.insert(key.clone()) {
                    keys.push(key);
                }
            }
        }
        // Functions that are not linear take their time on thousands of rows.
        let ask = |begun: u64| {
            report(observer, begun, keys.len() as u64, format_args!("mechanisms checked")).is_ok()
        };
        let pulse = Pulse::new(&ask);
        let fitted = ordered_map(&keys, |(node, parents)| {
            pulse.goes_on().then(|| Fitted::new(data, *node, parents, models)).ok_or(Stopped)
        });
        let fitted = fitted.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Self { found: keys.into_iter().zip(fitted).collect() })
    }

    /// For every variable its regression on its parents in a graph.
    pub fn of_graph(&self, graph: &Dag) -> Vec<Option<&Fitted>> {
        let of_node = |node: Node| self.found.get(&(node, graph.parents(node).clone()))?.as_ref();
        (0..graph.len()).map(of_node).collect()
    }
}

/// The mean of drawn functions, for every row.
fn mean_function(functions: &[&Scm], node: Node, data: &Dataset) -> Vec<f64> {
    let mut sum = vec![0.0; data.rows()];
    let mut means = vec![0.0; data.rows()];
    for function in functions {
        function.means(node, data.columns(), &mut means);
        sum.iter_mut().zip(&means).for_each(|(sum, mean)| *sum += mean / functions.len() as f64);
    }
    sum
}

/// Legendre polynomials of degree 2 to 5 of the ranks of every column, as far as the rows allow.
fn polynomials(columns: &[Vec<f64>], rows: usize) -> Vec<Vec<f64>> {
    let affordable = |degree: usize| rows >= ROWS_PER_REGRESSOR * (2 + degree * columns.len());
    let degree = [5, 3].into_iter().find(|&degree| affordable(degree)).unwrap_or(1);
    columns.iter().flat_map(|column| curves(column, degree)).collect()
}

/// Legendre polynomials of the ranks of a column, from degree 2 on.
pub(super) fn curves(column: &[f64], degree: usize) -> Vec<Vec<f64>> {
    let ranks: Vec<f64> = centred_ranks(column).iter().map(|rank| 2.0 * rank).collect();
    let mut found = vec![vec![1.0; ranks.len()], ranks.clone()];
    for k in 1..degree {
        let m = k as f64;
        let next =
            |row: usize| ((2.0 * m + 1.0) * ranks[row] * found[k][row] - m * found[k - 1][row]) / (m + 1.0);
        let column = (0..ranks.len()).map(next).collect();
        found.push(column);
    }
    found.split_off(2)
}

/// What is left of a column beside an orthonormal basis whose first member is the constant, with length 1, and its length
/// before. None if that is rounding.
fn orthogonal(mut column: Vec<f64>, basis: &[Vec<f64>]) -> Option<(Vec<f64>, f64)> {
    let largest = column.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let mean = column.iter().map(|x| x / largest.max(1e-300)).sum::<f64>() / column.len() as f64 * largest;
    column.iter_mut().for_each(|x| *x -= mean);
    let scale = column.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if scale <= 1e-13 * largest || scale == 0.0 {
        return None;
    }
    column.iter_mut().for_each(|x| *x /= scale);
    let spread = dot(&column, &column).sqrt();
    // Twice: what rounding left of the first pass is gone after the second.
    for _ in 0..2 {
        for other in basis {
            let weight = dot(&column, other);
            column.iter_mut().zip(other).for_each(|(x, y)| *x -= weight * y);
        }
    }
    let left = dot(&column, &column).sqrt();
    if left <= LEAST_LEFT * spread {
        return None;
    }
    column.iter_mut().for_each(|x| *x /= left);
    Some((column, left * scale))
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
