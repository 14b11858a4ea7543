//! Single rows: a measurement that contradicts all others, and a value so far out that it alone decides.

use super::nodes::shape;
use super::regression::Fitted;
use super::verdict::{Evidence, Test};
use crate::data::Dataset;
use crate::graph::Node;
use crate::num::special::student_tail;

/// A value counts as far out from so many spreads of the other values on, from the nearest of them: what a laboratory
/// sets on purpose may well be ten spreads away.
const FAR: f64 = 50.0;

/// Below this probability residuals without their largest still have the wrong shape.
const STILL_MISSHAPEN: f64 = 1e-3;

/// From this probability on the largest residual may be chance.
const BY_CHANCE: f64 = 1e-4;

/// The row with the largest residual.
pub(super) struct Outlier {
    /// In the data, counted from 0.
    pub row: usize,
    /// The probability of one as large among all rows; 1 if the others are misshapen as well.
    pub p_value: f64,
    /// Its residual, in spreads of the others.
    pub size: f64,
    /// The residuals whose shape is looked at: all, or all but that one if it is alone.
    pub others: Vec<f64>,
}

/// Each residual against the spread of the others (externally studentised); the largest of n has n chances.
pub(super) fn outlier(fitted: &Fitted) -> Outlier {
    let (rows, free) = (fitted.rows.len(), fitted.free());
    let studentised = |k: usize| {
        let square = fitted.residual[k].powi(2) / (1.0 - fitted.leverage[k]).max(1e-12);
        let rest = (fitted.rss - square).max(1e-300 * fitted.rss) / (free - 1.0);
        (square / rest).sqrt()
    };
    let sizes: Vec<f64> = (0..rows).map(studentised).collect();
    let largest = (1..rows).fold(0, |best, k| if sizes[k] > sizes[best] { k } else { best });
    let p_value = (rows as f64 * student_tail(sizes[largest], free - 1.0)).min(1.0);
    let without = || {
        let mut others = fitted.residual.clone();
        others.remove(largest);
        others
    };
    let (p_value, others) = if p_value > BY_CHANCE {
        (p_value, fitted.residual.clone())
    } else {
        let others = without();
        let misshapen = shape(&others).is_some_and(|[_, kurtosis]| kurtosis.0 < STILL_MISSHAPEN);
        if misshapen { (1.0, fitted.residual.clone()) } else { (p_value, others) }
    };
    Outlier { row: fitted.rows[largest], p_value, size: sizes[largest], others }
}

/// For every variable the value that lies far from all others, measured or set; probabilities are those of normal values.
pub(super) fn far_values(data: &Dataset) -> Vec<Evidence> {
    (0..data.variables()).filter_map(|node| far_value(data, node)).collect()
}

fn far_value(data: &Dataset, node: Node) -> Option<Evidence> {
    let column = data.column(node);
    let n = column.len() as f64;
    let middle = {
        let mut sorted = column.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let further = |best: usize, k: usize| {
        if (column[k] - middle).abs() > (column[best] - middle).abs() { k } else { best }
    };
    let row = (1..column.len()).fold(0, further);
    let others = || column.iter().enumerate().filter(|(k, _)| *k != row).map(|(_, x)| *x);
    // A dose that was given once, where all others are one value or two, is no mistake.
    let first = others().next()?;
    let second = others().find(|x| *x != first)?;
    others().find(|x| *x != first && *x != second)?;
    let scale = others().fold(0.0, |most: f64, x| most.max((x - middle).abs()));
    if n < 6.0 || scale <= 0.0 {
        return None;
    }
    let mean = others().map(|x| (x - middle) / scale).sum::<f64>() / (n - 1.0);
    let variance = others().map(|x| ((x - middle) / scale - mean).powi(2)).sum::<f64>() / (n - 2.0);
    let nearest = others().map(|x| (x - column[row]).abs()).fold(f64::INFINITY, f64::min);
    let size = nearest / (scale * variance.sqrt());
    let p_value = if size > FAR { n * student_tail(size, n - 2.0) } else { 1.0 };
    Some(Evidence { test: Test::FarValue, nodes: [node, node], p_value, size, row: Some(row), edge: false })
}
