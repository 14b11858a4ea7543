//! The marginal likelihood of the process itself, and its gradient: every pair of rows counts.
//!
//! C = Φ S Φᵀ + K: the intercept and the slopes, Φ = (1, x) with prior variances S, are taken out of the covariance (Woodbury),
//! so that values a million spreads away, which make the linear part huge, leave the digits of everything else alone.

use faer::Mat;

use super::{LENGTHS, LINEAR, Regression, SIGMA, SMOOTH, kernel, log_prior};
use crate::belief::{Kernel, add_scaled, dot, matern};
use crate::num::matrix::Cholesky;

/// (x_k - x'_k)² of all pairs of rows, for every parent: the same whatever the hyperparameters.
pub(super) struct Pairs(Vec<Vec<f64>>);

/// The columns of a lower triangle of `n` rows: the place where each begins among the pairs.
fn columns(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).scan(0, move |place, j| {
        let start = *place;
        *place += n - j;
        Some((j, start))
    })
}

/// What the intercept and the slopes are, given the data.
struct Slopes {
    /// K⁻¹ Φ, [rows, 1 + parents].
    solved: Mat<f64>,
    /// Their covariance (S⁻¹ + Φᵀ K⁻¹ Φ)⁻¹.
    covariance: Mat<f64>,
    mean: Vec<f64>,
    /// ln det (S⁻¹ + Φᵀ K⁻¹ Φ) + ln det S.
    log_determinant: f64,
    /// meanᵀ S⁻¹ mean.
    size: f64,
}

impl Slopes {
    /// `solve` multiplies by K⁻¹.
    fn new(regression: &Regression, linear: f64, solve: &dyn Fn(&mut [f64])) -> Option<Self> {
        let (y, n, count) = (regression.values, regression.values.len(), regression.parents.len());
        let ones = vec![1.0; n];
        let feature = |k: usize| if k == 0 { &ones[..] } else { regression.parents[k - 1] };
        let variance = |k: usize| if k == 0 { 1.0 } else { linear };
        let mut solved = Mat::<f64>::zeros(n, 1 + count);
        for k in 0..=count {
            let column = solved.col_as_slice_mut(k);
            column.copy_from_slice(feature(k));
            solve(column);
        }
        // Features of any size: the matrix is factored with a diagonal of 1.
        let entry = |a: usize, b: usize| {
            dot(feature(a), solved.col_as_slice(b)) + if a == b { 1.0 / variance(a) } else { 0.0 }
        };
        let roots: Vec<f64> = (0..=count).map(|k| entry(k, k).sqrt()).collect();
        let precision = Mat::from_fn(1 + count, 1 + count, |a, b| {
            let (a, b) = if a < b { (b, a) } else { (a, b) };
            entry(a, b) / (roots[a] * roots[b])
        });
        let cholesky = Cholesky::of(precision.as_ref())?;
        let mut mean: Vec<f64> = (0..=count).map(|k| dot(y, solved.col_as_slice(k)) / roots[k]).collect();
        cholesky.solve_in_place(&mut mean);
        mean.iter_mut().zip(&roots).for_each(|(mean, root)| *mean /= root);
        let inverse = cholesky.inverse();
        let covariance = Mat::from_fn(1 + count, 1 + count, |a, b| inverse[(a, b)] / (roots[a] * roots[b]));
        let log_determinant = cholesky.log_determinant()
            + (0..=count).map(|k| 2.0 * roots[k].ln() + variance(k).ln()).sum::<f64>();
        let size = mean.iter().enumerate().map(|(k, mean)| mean * mean / variance(k)).sum();
        Some(Self { solved, covariance, mean, log_determinant, size })
    }

    /// What they leave of the values.
    fn residuals(&self, regression: &Regression) -> Vec<f64> {
        let mut left: Vec<f64> = regression.values.iter().map(|y| y - self.mean[0]).collect();
        for (x, slope) in regression.parents.iter().zip(&self.mean[1..]) {
            add_scaled(&mut left, -slope, x);
        }
        left
    }

    /// Takes K⁻¹ Φ covariance Φᵀ K⁻¹ from column j of K⁻¹, from the diagonal down.
    fn subtract_from(&self, column: &mut [f64], j: usize) {
        let count = self.mean.len();
        for a in 0..count {
            let along: f64 = (0..count).map(|b| self.covariance[(a, b)] * self.solved[(j, b)]).sum();
            add_scaled(column, -along, &self.solved.col_as_slice(a)[j..]);
        }
    }

    /// Σ over the parents of what the logarithm of the slopes' spread s gains: half the derivative by ln s².
    fn gradient(&self, linear: f64) -> f64 {
        let of = |k: usize| (self.mean[k] * self.mean[k] + self.covariance[(k, k)]) / linear - 1.0;
        (1..self.mean.len()).map(of).sum()
    }
}

impl Regression<'_> {
    /// Pairs of rows i ≥ j, column after column of a lower triangle.
    pub(super) fn pairs(&self) -> Pairs {
        let count = self.values.len();
        let squares = |x: &&[f64]| -> Vec<f64> {
            (0..count).flat_map(|j| x[j..].iter().map(move |other| (x[j] - other).powi(2))).collect()
        };
        Pairs(self.parents.iter().map(squares).collect())
    }

    /// Score and its gradient at some hyperparameters; none if C is not positive definite.
    #[cfg(test)]
    pub fn log_posterior(&self, hyper: &[f64]) -> Option<(f64, Vec<f64>)> {
        self.evaluate(hyper, &self.pairs())
    }

    pub(super) fn evaluate(&self, hyper: &[f64], pairs: &Pairs) -> Option<(f64, Vec<f64>)> {
        let (score, mut gradient) =
            if self.parents.is_empty() { self.alone(hyper) } else { self.with_parents(hyper, pairs) }?;
        let score = score + log_prior(hyper, Some(&mut gradient));
        (score.is_finite() && gradient.iter().all(|slope| slope.is_finite())).then_some((score, gradient))
    }

    /// Without parents K = σ² I.
    fn alone(&self, hyper: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (n, noise) = (self.values.len() as f64, kernel(hyper).noise);
        let slopes = Slopes::new(self, 1.0, &|column| column.iter_mut().for_each(|x| *x /= noise))?;
        let left = slopes.residuals(self);
        let fit = dot(&left, &left) / noise;
        let score = log_density(self.values.len(), fit, n * noise.ln(), &slopes);
        // |α|² σ² - tr C⁻¹ σ², α = residuals/σ².
        Some((score, vec![fit - n + slopes.covariance[(0, 0)] * n / noise]))
    }

    fn with_parents(&self, hyper: &[f64], pairs: &Pairs) -> Option<(f64, Vec<f64>)> {
        let n = self.values.len();
        let Kernel { linear, smooth, decays, noise, .. } = kernel(hyper);
        let (mut kappa, mut slope) = (vec![0.0; n * (n + 1) / 2], Vec::new());
        for (squares, decay) in pairs.0.iter().zip(decays) {
            add_scaled(&mut kappa, decay, squares);
        }
        matern(&mut kappa, &mut slope);
        let mut matrix = Mat::<f64>::zeros(n, n);
        for (j, start) in columns(n) {
            let column = &mut matrix.col_as_slice_mut(j)[j..];
            column.iter_mut().zip(&kappa[start..]).for_each(|(entry, kappa)| *entry = smooth * kappa);
            column[0] += noise;
        }
        let cholesky = Cholesky::of(matrix.as_ref())?;
        let slopes = Slopes::new(self, linear, &|column| cholesky.solve_in_place(column))?;
        let left = slopes.residuals(self);
        let mut solved = left.clone();
        cholesky.solve_in_place(&mut solved);
        let score = log_density(n, dot(&left, &solved), cholesky.log_determinant(), &slopes);
        // d log p = ½ Σ_ij (α α' - C⁻¹)_ij dC_ij, and off the diagonal everything is there twice.
        let mut inverse = cholesky.inverse();
        let mut gradient = vec![0.0; hyper.len()];
        let mut weights = Vec::with_capacity(kappa.len());
        for j in 0..n {
            let column = &mut inverse.col_as_slice_mut(j)[j..];
            slopes.subtract_from(column, j);
            let own = solved[j] * solved[j] - column[0];
            gradient[SIGMA] += own * noise;
            let below = solved[j + 1..].iter().zip(&column[1..]);
            weights.push(own);
            weights.extend(below.map(|(other, inverse)| 2.0 * (solved[j] * other - inverse)));
        }
        gradient[LINEAR] = slopes.gradient(linear);
        gradient[SMOOTH] = smooth * dot(&weights, &kappa);
        slope.iter_mut().zip(&weights).for_each(|(slope, weight)| *slope *= weight);
        for (k, squares) in pairs.0.iter().enumerate() {
            let scale = 0.5 * smooth * (-2.0 * hyper[LENGTHS + k]).exp();
            gradient[LENGTHS + k] = scale * dot(&slope, squares);
        }
        Some((score, gradient))
    }
}

/// Of the values, from what is left of them beside the slopes: `fit` = leftᵀ K⁻¹ left, and ln det K.
fn log_density(rows: usize, fit: f64, log_determinant: f64, slopes: &Slopes) -> f64 {
    let constant = rows as f64 * std::f64::consts::TAU.ln();
    -0.5 * (fit + slopes.size + log_determinant + slopes.log_determinant + constant)
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

    /// Two rows ten million spreads away: they tell the slope, and what the others say about the noise stays.
    #[test]
    fn rows_far_away_leave_the_digits_of_the_others() {
        let mut columns = columns(2, 40, 3);
        for row in 0..40 {
            if row < 2 {
                columns[1][row] = 1e7 * (1.0 - 2.0 * row as f64);
            }
            columns[0][row] = 0.5 * columns[1][row] + 0.1 * columns[0][row];
        }
        let mut hyper = usual(1);
        (hyper[SIGMA], hyper[SMOOTH]) = (0.1f64.ln(), -8.0);
        let (score, gradient) = regression(&columns).log_posterior(&hyper).unwrap();
        // Without the far rows and with the slope known, up to what the prior of the slope costs.
        let near: f64 = (2..40).map(|row| ((columns[0][row] - 0.5 * columns[1][row]) / 0.1).powi(2)).sum();
        let plain = -0.5 * (near + 38.0 * (TAU_TIMES_NOISE).ln());
        assert!((score - plain - log_prior(&hyper, None)).abs() < 30.0, "{score} {plain}");
        let at = |step: f64| {
            let mut other = hyper.clone();
            other[SIGMA] += step;
            regression(&columns).log_posterior(&other).unwrap().0
        };
        assert!((gradient[SIGMA] - (at(1e-4) - at(-1e-4)) / 2e-4).abs() < 0.1, "{}", gradient[SIGMA]);
    }

    const TAU_TIMES_NOISE: f64 = std::f64::consts::TAU * 0.01;
}
