//! The marginal likelihood of the process itself, and its gradient: every pair of rows counts.

use faer::Mat;

use super::{LENGTHS, LINEAR, Regression, SIGMA, SMOOTH, kernel, log_prior};
use crate::belief::{Kernel, add_scaled, covariances, dot, matern};
use crate::num::matrix::Cholesky;

/// What pairs of rows have in common whatever the hyperparameters.
pub(super) struct Pairs {
    /// Σ_k x_k x'_k.
    products: Vec<f64>,
    /// (x_k - x'_k)² for every parent.
    squares: Vec<Vec<f64>>,
}

impl Pairs {
    fn new(count: usize) -> Self {
        Self { products: vec![0.0; count], squares: Vec::new() }
    }

    /// Another parent, whose values in the two rows of every pair are given.
    fn add(&mut self, values: impl Iterator<Item = (f64, f64)>) {
        let mut squares = Vec::with_capacity(self.products.len());
        for (product, (a, b)) in self.products.iter_mut().zip(values) {
            *product += a * b;
            squares.push((a - b).powi(2));
        }
        self.squares.push(squares);
    }
}

/// The columns of a lower triangle of `n` rows: the place where each begins among the pairs.
fn columns(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).scan(0, move |place, j| {
        let start = *place;
        *place += n - j;
        Some((j, start))
    })
}

impl Regression<'_> {
    /// Pairs of rows i ≥ j, column after column of a lower triangle.
    pub(super) fn pairs(&self) -> Pairs {
        let count = self.values.len();
        let mut pairs = Pairs::new(count * (count + 1) / 2);
        for x in &self.parents {
            pairs.add((0..count).flat_map(|j| x[j..].iter().map(move |other| (x[j], *other))));
        }
        pairs
    }

    /// Score and its gradient at some hyperparameters; none if C is not positive definite.
    #[cfg(test)]
    pub fn log_posterior(&self, hyper: &[f64]) -> Option<(f64, Vec<f64>)> {
        self.evaluate(hyper, &self.pairs())
    }

    pub(super) fn evaluate(&self, hyper: &[f64], pairs: &Pairs) -> Option<(f64, Vec<f64>)> {
        let (y, n, count) = (self.values, self.values.len(), self.parents.len());
        let Kernel { constant, linear, smooth, decays, noise } = kernel(hyper);
        let (mut kappa, mut slope) = (vec![0.0; pairs.products.len()], Vec::new());
        for (squares, decay) in pairs.squares.iter().zip(decays) {
            add_scaled(&mut kappa, decay, squares);
        }
        matern(&mut kappa, &mut slope);
        let mut matrix = Mat::<f64>::zeros(n, n);
        for (j, start) in columns(n) {
            let column = &mut matrix.col_as_slice_mut(j)[j..];
            column.copy_from_slice(&pairs.products[start..start + n - j]);
            covariances(column, constant, linear, smooth, &kappa[start..]);
            column[0] += noise;
        }
        let cholesky = Cholesky::of(matrix.as_ref())?;
        let mut solved = y.to_vec();
        cholesky.solve_in_place(&mut solved);
        let fit: f64 = y.iter().zip(&solved).map(|(a, b)| a * b).sum();
        let mut score = -0.5 * (fit + cholesky.log_determinant() + n as f64 * std::f64::consts::TAU.ln());
        // d log p = ½ Σ_ij (α α' - C⁻¹)_ij dC_ij, and off the diagonal everything is there twice.
        let inverse = cholesky.inverse();
        let mut gradient = vec![0.0; hyper.len()];
        let mut weights = Vec::with_capacity(pairs.products.len());
        for j in 0..n {
            let own = solved[j] * solved[j] - inverse[(j, j)];
            gradient[SIGMA] += own * noise;
            if count > 0 {
                let below = solved[j + 1..].iter().zip(&inverse.col_as_slice(j)[j + 1..]);
                weights.push(own);
                weights.extend(below.map(|(other, inverse)| 2.0 * (solved[j] * other - inverse)));
            }
        }
        if count > 0 {
            gradient[LINEAR] = linear * dot(&weights, &pairs.products);
            gradient[SMOOTH] = smooth * dot(&weights, &kappa);
            slope.iter_mut().zip(&weights).for_each(|(slope, weight)| *slope *= weight);
            for (k, squares) in pairs.squares.iter().enumerate() {
                let scale = 0.5 * smooth * (-2.0 * hyper[LENGTHS + k]).exp();
                gradient[LENGTHS + k] = scale * dot(&slope, squares);
            }
        }
        score += log_prior(hyper, Some(&mut gradient));
        (score.is_finite() && gradient.iter().all(|slope| slope.is_finite())).then_some((score, gradient))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toys::{columns, dense, regression};
    use super::super::usual;
    use super::*;

    #[test]
    fn the_marginal_likelihood_is_the_dense_normal_density() {
        for parents in 0..4 {
            let columns = columns(1 + parents, 30, parents as u64);
            for shift in [-0.7, 0.0, 0.9] {
                let hyper: Vec<f64> = usual(parents).iter().map(|h| h + shift).collect();
                let (score, _) = regression(&columns).log_posterior(&hyper).unwrap();
                let want = dense(&columns, &hyper) + log_prior(&hyper, None);
                assert!((score - want).abs() < 1e-9 * want.abs(), "{score} {want}");
            }
        }
    }

    #[test]
    fn the_gradient_is_a_finite_difference() {
        for parents in 0..4 {
            let columns = columns(1 + parents, 25, 10 + parents as u64);
            let regression = regression(&columns);
            let hyper: Vec<f64> =
                usual(parents).iter().enumerate().map(|(k, h)| h + 0.1 * k as f64).collect();
            let (_, gradient) = regression.log_posterior(&hyper).unwrap();
            for place in 0..hyper.len() {
                let at = |step: f64| {
                    let mut other = hyper.clone();
                    other[place] += step;
                    regression.log_posterior(&other).unwrap().0
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((gradient[place] - difference).abs() < 1e-5 * (1.0 + difference.abs()));
            }
        }
    }
}
