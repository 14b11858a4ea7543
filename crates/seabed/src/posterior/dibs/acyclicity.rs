//! How far a soft graph is from acyclic: h(G) = tr((I + G/d)^d) - d, a weighted count of its closed walks.

use faer::traits::RealField;
use faer::{Mat, MatRef};

use crate::num::matrix::product;

/// h of a matrix `[to * nodes + from]`, and dh/dG in the same places.
///
/// One power, (I + G/d)^(d-1), gives both: its transpose is the gradient, and its product with I + G/d has h + d as
/// its trace. The slow twin of [`quick_slopes`].
#[cfg(test)]
pub(super) fn acyclicity(graph: &[f64], nodes: usize) -> (f64, Vec<f64>) {
    let step = 1.0 / nodes as f64;
    // A column of the slice is the column of an edge's head: entry (from, to), like everywhere.
    let g = MatRef::from_column_major_slice(graph, nodes, nodes);
    let walk = Mat::from_fn(nodes, nodes, |i, j| step * g[(i, j)] + if i == j { 1.0 } else { 0.0 });
    let power = power(&walk, nodes - 1);
    let mut trace = 0.0;
    let mut gradient = vec![0.0; nodes * nodes];
    for j in 0..nodes {
        for i in 0..nodes {
            gradient[j * nodes + i] = power[(j, i)];
            trace += walk[(i, j)] * power[(j, i)];
        }
    }
    (trace - nodes as f64, gradient)
}

/// dh/dG in single precision, which takes a quarter of the time; for samples, whose own spread is far larger.
pub(super) fn quick_slopes(graph: &[f64], nodes: usize) -> Vec<f64> {
    let step = 1.0 / nodes as f64;
    let g = MatRef::from_column_major_slice(graph, nodes, nodes);
    let walk = Mat::from_fn(nodes, nodes, |i, j| (step * g[(i, j)] + if i == j { 1.0 } else { 0.0 }) as f32);
    let power = power(&walk, nodes - 1);
    let mut slopes = Vec::with_capacity(nodes * nodes);
    for j in 0..nodes {
        slopes.extend((0..nodes).map(|i| f64::from(power[(j, i)])));
    }
    slopes
}

/// base^exponent by repeated squaring.
fn power<T: RealField>(base: &Mat<T>, mut exponent: usize) -> Mat<T> {
    let n = base.nrows();
    let mut square = base.clone();
    let mut result: Option<Mat<T>> = None;
    let mut next = Mat::zeros(n, n);
    while exponent > 0 {
        if exponent & 1 == 1 {
            match &mut result {
                None => result = Some(square.clone()),
                Some(result) => {
                    product(next.as_mut(), result.as_ref(), square.as_ref());
                    std::mem::swap(result, &mut next);
                }
            }
        }
        exponent >>= 1;
        if exponent > 0 {
            product(next.as_mut(), square.as_ref(), square.as_ref());
            std::mem::swap(&mut square, &mut next);
        }
    }
    result.unwrap_or_else(|| Mat::identity(n, n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    #[test]
    fn single_precision_is_enough_for_samples() {
        for nodes in [1, 2, 7, 50] {
            let mut graph = vec![0.0; nodes * nodes];
            Seed::new(1).stream(Purpose::Graph).fill_uniform(&mut graph);
            for (quick, exact) in quick_slopes(&graph, nodes).iter().zip(acyclicity(&graph, nodes).1) {
                assert!((quick - exact).abs() < 1e-5 * exact.abs(), "{quick} against {exact}");
            }
        }
    }
}
