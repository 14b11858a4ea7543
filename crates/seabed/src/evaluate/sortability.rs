//! Is a benchmark too easy? In many simulated worlds the variance of a variable, or how well the others predict
//! it, grows along the causal order, and sorting by it finds the order without any causal reasoning.
//!
//! Definitions: Reisach et al., 2021 (variance) and 2023 (R²). 0.5 says nothing about the order, 1 gives it away,
//! 0 gives it away backwards.

use faer::Mat;
use serde::Serialize;

use crate::data::Dataset;
use crate::graph::{Dag, NodeSet};
use crate::num::matrix::Cholesky;

/// The fraction of directed paths along which a quantity grows, ties counting half.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Sortability {
    /// By the variances of the variables.
    pub var_sortability: f64,
    /// By the fraction of each variable's variance that a linear regression on all others explains.
    pub r2_sortability: f64,
}

/// Why sortability is not defined.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SortabilityError {
    /// The true graph has no edge.
    #[error("the true graph has no edge, so there is no causal order to sort by")]
    NoEdges,
    /// Too few rows without an intervention.
    #[error(
        "{rows} observational rows for {variables} variables: sortability needs more rows than variables"
    )]
    TooFewRows {
        /// Observational rows.
        rows: usize,
        /// Variables.
        variables: usize,
    },
    /// A column does not vary.
    #[error(
        "column {column:?} is constant in the observational rows, so it has no correlations; leave it out"
    )]
    Constant {
        /// The column.
        column: String,
    },
    /// The columns are linearly dependent.
    #[error(
        "the columns are linearly dependent, so R² is not defined; leave out a column that the others determine"
    )]
    Collinear,
}

/// Sortability of the observational rows by the true graph, which is over the same variables in the same order.
pub fn sortability(data: &Dataset, truth: &Dag) -> Result<Sortability, SortabilityError> {
    if truth.edge_count() == 0 {
        return Err(SortabilityError::NoEdges);
    }
    let observed: Vec<usize> = (0..data.rows()).filter(|&row| data.targets(row).is_empty()).collect();
    let (rows, variables) = (observed.len(), data.variables());
    if rows <= variables {
        return Err(SortabilityError::TooFewRows { rows, variables });
    }
    let is_constant = |node: &usize| {
        let column = data.column(*node);
        observed.iter().all(|&row| column[row] == column[observed[0]])
    };
    if let Some(node) = (0..variables).find(is_constant) {
        return Err(SortabilityError::Constant { column: data.names()[node].clone() });
    }
    let mut scales = Vec::with_capacity(variables);
    let centred: Vec<Vec<f64>> = (0..variables)
        .map(|node| {
            let column = data.column(node);
            let mean = observed.iter().map(|&row| column[row] / rows as f64).sum::<f64>();
            let centred: Vec<f64> = observed.iter().map(|&row| column[row] - mean).collect();
            // Squares of the largest and the smallest numbers would overflow or underflow.
            let largest = centred.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
            scales.push(largest.ln());
            centred.into_iter().map(|x| x / largest).collect()
        })
        .collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let variances: Vec<f64> = centred.iter().map(|x| dot(x, x) / rows as f64).collect();
    let log_variances: Vec<f64> =
        variances.iter().zip(&scales).map(|(variance, scale)| variance.ln() + 2.0 * scale).collect();
    let correlations = Mat::from_fn(variables, variables, |i, j| {
        dot(&centred[i], &centred[j]) / (rows as f64 * (variances[i] * variances[j]).sqrt())
    });
    let cholesky = Cholesky::of(correlations.as_ref()).ok_or(SortabilityError::Collinear)?;
    // 1 / (1 - R²) is the diagonal of the inverse of the correlation matrix.
    let explained: Vec<f64> = (0..variables)
        .map(|node| {
            let mut unit = vec![0.0; variables];
            unit[node] = 1.0;
            cholesky.solve_in_place(&mut unit);
            1.0 - 1.0 / unit[node]
        })
        .collect();
    Ok(Sortability {
        var_sortability: order_agreement(truth, &log_variances),
        r2_sortability: order_agreement(truth, &explained),
    })
}

/// Of all (start, end, length) for which a directed path of that length exists, the fraction along which the
/// values grow.
fn order_agreement(dag: &Dag, values: &[f64]) -> f64 {
    let (mut paths, mut growing) = (0.0, 0.0);
    for start in 0..dag.len() {
        let mut ends = dag.children(start).clone();
        while !ends.is_empty() {
            for end in &ends {
                paths += 1.0;
                growing += match values[start].total_cmp(&values[end]) {
                    std::cmp::Ordering::Less => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Greater => 0.0,
                };
            }
            let mut next = NodeSet::empty(dag.len());
            for end in &ends {
                next.union_with(dag.children(end));
            }
            ends = next;
        }
    }
    growing / paths
}
