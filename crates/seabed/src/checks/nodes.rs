//! Tests of one variable: the shape of its noise, whether its size stays the same, whether rows follow each other.

use super::ranks::{centred_ranks, correlation, correlation_tail};
use super::regression::{Fitted, LEAST_ROWS};
use super::rows;
use super::verdict::{Evidence, Test};
use crate::data::Dataset;
use crate::graph::Node;
use crate::num::special::erfc;

/// Fewer residuals have no shape.
const LEAST_SHAPED: usize = 20;

/// The evidence on every variable that has a regression.
pub(super) fn evidence(data: &Dataset, fitted: &[Option<&Fitted>]) -> Vec<Evidence> {
    let with_one = fitted.iter().enumerate().filter_map(|(node, one)| Some((node, (*one)?)));
    with_one.flat_map(|(node, one)| of_node(data, node, one)).collect()
}

fn of_node(data: &Dataset, node: Node, fitted: &Fitted) -> Vec<Evidence> {
    let about = |test: Test, p_value: f64, size: f64| Evidence {
        test,
        nodes: [node, node],
        p_value,
        size,
        row: None,
        edge: false,
    };
    let mut found = Vec::new();
    let outlier = rows::outlier(fitted);
    found.push(Evidence { row: Some(outlier.row), ..about(Test::Outlier, outlier.p_value, outlier.size) });
    // A single wrong row is told as such, not as a shape of the others.
    if let Some([skewness, kurtosis]) = shape(&outlier.others) {
        found.push(about(Test::Skewness, skewness.0, skewness.1));
        found.push(about(Test::Kurtosis, kurtosis.0, kurtosis.1));
    }
    if fitted.explains() {
        let rows = fitted.rows.len() as f64;
        let explained = centred_ranks(&fitted.explained);
        let outward = centred_ranks(&explained.iter().map(|rank| rank.abs()).collect::<Vec<_>>());
        for (test, place) in [(Test::GrowsWithMean, explained), (Test::GrowsOutward, outward)] {
            let together = correlation(&fitted.size_ranks, &place);
            found.push(about(test, correlation_tail(together, rows), together));
        }
    }
    for (test, together) in [(Test::Trend, trend(data, fitted)), (Test::Neighbours, neighbours(data, fitted))]
    {
        if let Some((together, rows)) = together {
            found.push(about(test, correlation_tail(together, rows), together));
        }
    }
    found
}

/// (probability, value) of skewness and kurtosis of numbers with mean 0, if these are normal: the transformations of
/// D'Agostino and of Anscombe and Glynn.
pub(super) fn shape(values: &[f64]) -> Option<[(f64, f64); 2]> {
    let n = values.len() as f64;
    if values.len() < LEAST_SHAPED {
        return None;
    }
    let scale = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let mean = values.iter().sum::<f64>() / n;
    let moment = |k: i32| values.iter().map(|x| ((x - mean) / scale).powi(k)).sum::<f64>() / n;
    let (second, third, fourth) = (moment(2), moment(3), moment(4));
    if second.is_nan() || second <= 0.0 {
        return None;
    }
    let (skewness, kurtosis) = (third / second.powf(1.5), fourth / (second * second));
    let two_sided = |z: f64| erfc(z.abs() / 2f64.sqrt());

    let y = skewness * ((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0))).sqrt();
    let b = 3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
        / ((n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0));
    let w = (2.0 * (b - 1.0)).sqrt() - 1.0;
    let of_skewness = (y / (2.0 / (w - 1.0)).sqrt()).asinh() / (0.5 * w.ln()).sqrt();

    let expected = 3.0 * (n - 1.0) / (n + 1.0);
    let variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0) * (n + 1.0) * (n + 3.0) * (n + 5.0));
    let x = (kurtosis - expected) / variance.sqrt();
    let root = 6.0 * (n * n - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
        * (6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0))).sqrt();
    let a = 6.0 + 8.0 / root * (2.0 / root + (1.0 + 4.0 / (root * root)).sqrt());
    let below = 1.0 + x * (2.0 / (a - 4.0)).sqrt();
    let cube = if below > 0.0 { ((1.0 - 2.0 / a) / below).cbrt() } else { f64::INFINITY };
    let transformed = ((1.0 - 2.0 / (9.0 * a) - cube) / (2.0 / (9.0 * a)).sqrt()).max(-30.0);
    // Below, the transformation finds too much (seven times 1 in 10 000 at 100 rows); a quarter of the plain score mends it.
    let of_kurtosis = if transformed < 0.0 { 0.75 * transformed + 0.25 * x } else { transformed };
    Some([(two_sided(of_skewness), skewness), (two_sided(of_kurtosis), kurtosis)])
}

/// The correlation of residuals with the place of their row, both within regimes, and the rows that count.
fn trend(data: &Dataset, fitted: &Fitted) -> Option<(f64, f64)> {
    let (mut places, mut residuals, mut regimes) = (Vec::new(), Vec::new(), 0.0);
    for members in by_regime(data, fitted) {
        let within = centred_ranks(&members.iter().map(|&k| fitted.ranks[k]).collect::<Vec<_>>());
        let n = members.len() as f64;
        places.extend((0..members.len()).map(|k| (k as f64 + 0.5) / n - 0.5));
        residuals.extend(within);
        regimes += 1.0;
    }
    (regimes > 0.0).then(|| (correlation(&places, &residuals), places.len() as f64 + 1.0 - regimes))
}

/// The correlation of residuals of neighbouring rows of the same regime, and the rows that count.
fn neighbours(data: &Dataset, fitted: &Fitted) -> Option<(f64, f64)> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for members in by_regime(data, fitted) {
        let within = centred_ranks(&members.iter().map(|&k| fitted.ranks[k]).collect::<Vec<_>>());
        before.extend_from_slice(&within[..within.len() - 1]);
        after.extend_from_slice(&within[1..]);
    }
    (!before.is_empty()).then(|| (correlation(&before, &after), before.len() as f64))
}

/// The rows of a regression by regime, in their order; regimes of a few rows are left out.
fn by_regime(data: &Dataset, fitted: &Fitted) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); data.regimes().len()];
    for (k, &row) in fitted.rows.iter().enumerate() {
        members[data.regime_of_row()[row] as usize].push(k);
    }
    members.retain(|members| members.len() >= LEAST_ROWS);
    members
}
