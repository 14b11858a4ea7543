//! Tests of two variables: whether residuals depend on each other, whether effects are curved, and whether setting one
//! variable does to the other what the graph says.

use faer::Mat;

use super::ranks::{correlation, correlation_tail};
use super::regression::{Fitted, LEAST_ROWS, curves};
use super::verdict::{Evidence, Test};
use crate::data::Dataset;
use crate::graph::{Dag, Node};
use crate::num::matrix::product;

/// The highest degree of the polynomials that a linear effect is compared with.
const CURVE_DEGREE: usize = 4;

/// Rows in which a variable was set, and rows in which it was not, for the two to be compared.
const LEAST_SET: usize = 3;

/// The evidence on all pairs of variables that have regressions.
pub(super) fn evidence(data: &Dataset, graph: &Dag, fitted: &[Option<&Fitted>]) -> Vec<Evidence> {
    let mut found = dependence(data, graph, fitted);
    let is_set: Vec<Vec<bool>> = (0..data.variables()).map(|node| set_rows(data, node)).collect();
    for (to, one) in fitted.iter().enumerate() {
        let Some(one) = one else { continue };
        for from in (0..data.variables()).filter(|&from| from != to) {
            let edge = graph.parents(to).contains(from);
            let about =
                |test, (p_value, size)| Evidence { test, nodes: [from, to], p_value, size, row: None, edge };
            if edge && one.linear {
                found.extend(curvature(data, from, one).map(|p| about(Test::Curvature, p)));
            }
            let set: Vec<bool> = one.rows.iter().map(|&row| is_set[from][row]).collect();
            let count = set.iter().filter(|set| **set).count();
            if count >= LEAST_SET && one.rows.len() - count >= LEAST_SET {
                found.extend(effect(data, from, one, &set).map(|p| about(Test::Effect, p)));
                found.push(about(Test::WhereSet, spread_where_set(one, &set)));
            }
        }
    }
    found
}

fn set_rows(data: &Dataset, node: Node) -> Vec<bool> {
    (0..data.rows()).map(|row| data.targets(row).contains(node)).collect()
}

/// Do polynomials of a parent's ranks explain what is left?
fn curvature(data: &Dataset, from: Node, fitted: &Fitted) -> Option<(f64, f64)> {
    let values: Vec<f64> = fitted.rows.iter().map(|&row| data.column(from)[row]).collect();
    fitted.additional(curves(&values, CURVE_DEGREE))
}

/// Do rows in which a variable was set have another mean, or another slope on it, than the other rows?
fn effect(data: &Dataset, from: Node, fitted: &Fitted, set: &[bool]) -> Option<(f64, f64)> {
    let values: Vec<f64> = fitted.rows.iter().map(|&row| data.column(from)[row]).collect();
    let chosen = || values.iter().zip(set).filter(|(_, set)| **set).map(|(x, _)| *x);
    let mean = chosen().sum::<f64>() / chosen().count() as f64;
    let level = set.iter().map(|set| f64::from(u8::from(*set))).collect();
    let slope = values.iter().zip(set).map(|(x, set)| if *set { x - mean } else { 0.0 }).collect();
    fitted.additional(vec![level, slope])
}

/// The correlation of the sizes of residuals with whether a variable was set.
fn spread_where_set(fitted: &Fitted, set: &[bool]) -> (f64, f64) {
    let set: Vec<f64> = set.iter().map(|set| f64::from(u8::from(*set))).collect();
    let together = correlation(&fitted.size_ranks, &set);
    (correlation_tail(together, set.len() as f64), together)
}

/// Correlations of residuals, of their sizes, and of one with the other, of all pairs that no edge joins: an edge explains
/// what two variables share.
fn dependence(data: &Dataset, graph: &Dag, fitted: &[Option<&Fitted>]) -> Vec<Evidence> {
    let nodes = data.variables();
    // Ranks in the first half of the columns, ranks of sizes in the second; 0 where the variable was set.
    let mut scores = Mat::<f64>::zeros(data.rows(), 2 * nodes);
    let mut measured = Mat::<f64>::zeros(data.rows(), nodes);
    for (node, one) in fitted.iter().enumerate() {
        let Some(one) = one else { continue };
        for (k, &row) in one.rows.iter().enumerate() {
            scores[(row, node)] = one.ranks[k];
            scores[(row, nodes + node)] = one.size_ranks[k];
            measured[(row, node)] = 1.0;
        }
    }
    let mut sums = Mat::zeros(2 * nodes, 2 * nodes);
    product(sums.as_mut(), scores.transpose(), scores.as_ref());
    let mut common = Mat::zeros(nodes, nodes);
    product(common.as_mut(), measured.transpose(), measured.as_ref());

    let mut found = Vec::new();
    for b in (0..nodes).filter(|&b| fitted[b].is_some()) {
        for a in (0..b).filter(|&a| fitted[a].is_some()) {
            let rows: f64 = common[(a, b)];
            let joined = graph.parents(a).contains(b) || graph.parents(b).contains(a);
            if joined || rows < LEAST_ROWS as f64 {
                continue;
            }
            let tests = [
                (Test::Together, [a, b], (a, b)),
                (Test::Curved, [a, b], (nodes + a, b)),
                (Test::Curved, [b, a], (nodes + b, a)),
                (Test::Sizes, [a, b], (nodes + a, nodes + b)),
            ];
            for (test, pair, (i, j)) in tests {
                // Sums of squares over the common rows are their share of those over all rows.
                let share = |k: usize| sums[(k, k)] * rows / common[(k % nodes, k % nodes)];
                let size = sums[(i, j)] / (share(i) * share(j)).sqrt().max(1e-300);
                let size = size.clamp(-1.0, 1.0);
                let p_value = correlation_tail(size, rows);
                found.push(Evidence { test, nodes: pair, p_value, size, row: None, edge: false });
            }
        }
    }
    found
}
