//! The covariance of a Gaussian process: a constant, a linear part, and a smooth part with a length scale for every parent.
//!
//! k(x, x') = c + s² Σ_k x_k x'_k + a² κ(r), r² = Σ_k (x_k - x'_k)²/ℓ_k², with the Matérn function
//! κ(r) = (1 + √5 r + 5r²/3) e^(-√5 r); values of a row have noise σ² besides. Who finds the numbers is left to others.

use multiversion::multiversion;
use serde::{Deserialize, Serialize};

use crate::num::elementwise::exp_in_place;

/// The numbers of a covariance, in the units of standardised variables.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kernel {
    /// Variance of the intercept.
    pub constant: f64,
    /// s².
    pub linear: f64,
    /// a²; 0 without parents.
    pub smooth: f64,
    /// 5/ℓ² of every parent.
    pub decays: Vec<f64>,
    /// σ².
    pub noise: f64,
}

impl Kernel {
    /// Are these the numbers of a covariance, with noise?
    pub fn is_valid(&self) -> bool {
        let size = |x: &f64| x.is_finite() && *x >= 0.0;
        let parts = [self.constant, self.linear, self.smooth];
        parts.iter().chain(&self.decays).all(size) && self.noise.is_finite() && self.noise > 0.0
    }

    /// The same with all variances multiplied by a factor.
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            constant: factor * self.constant,
            linear: factor * self.linear,
            smooth: factor * self.smooth,
            decays: self.decays.clone(),
            noise: factor * self.noise,
        }
    }

    /// k(x, x), without noise.
    pub fn own(&self, point: impl Iterator<Item = f64>) -> f64 {
        self.constant + self.smooth + self.linear * point.map(|x| x * x).sum::<f64>()
    }

    /// k of every point with every centre into `out`, the centres of the first point first. `points` and `centres` hold a
    /// column for every parent.
    pub fn between(
        &self,
        points: &[&[f64]],
        centres: &[&[f64]],
        out: &mut [f64],
        scratch: &mut KernelScratch,
    ) {
        let KernelScratch { kappa, slopes } = scratch;
        kappa.clear();
        kappa.resize(out.len(), 0.0);
        out.fill(0.0);
        for ((points, centres), &decay) in points.iter().zip(centres).zip(&self.decays) {
            add_pairs(points, centres, decay, out, kappa);
        }
        matern(kappa, slopes);
        covariances(out, self.constant, self.linear, self.smooth, kappa);
    }
}

/// Memory of [`Kernel::between`].
#[derive(Default)]
pub(crate) struct KernelScratch {
    kappa: Vec<f64>,
    slopes: Vec<f64>,
}

/// Squares 5r² become κ, and `slopes` becomes κ' = (5/3)(1 + √5 r) e^(-√5 r), of which dκ/d ln ℓ_k = κ' (x_k - x'_k)²/ℓ_k².
pub(crate) fn matern(squares: &mut [f64], slopes: &mut Vec<f64>) {
    slopes.clear();
    slopes.resize(squares.len(), 0.0);
    take_roots(squares, slopes);
    exp_in_place(slopes);
    finish(squares, slopes);
}

/// Σ a b in eight lanes, so that the order of additions is the same on every machine.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// Adds scale x to the sums.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub(crate) fn add_scaled(sums: &mut [f64], scale: f64, values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += scale * value);
}

/// Adds x x' to the products and decay (x - x')² to the squares.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn add_pairs(points: &[f64], centres: &[f64], decay: f64, products: &mut [f64], squares: &mut [f64]) {
    let size = centres.len();
    let places = products.chunks_exact_mut(size).zip(squares.chunks_exact_mut(size));
    for (x, (products, squares)) in points.iter().zip(places) {
        for ((product, square), centre) in products.iter_mut().zip(squares).zip(centres) {
            *product += x * centre;
            let apart = x - centre;
            *square += decay * (apart * apart);
        }
    }
}

/// Squares become their roots, and decays those with a minus.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn take_roots(squares: &mut [f64], decays: &mut [f64]) {
    for (square, decay) in squares.iter_mut().zip(decays) {
        *square = square.sqrt();
        *decay = -*square;
    }
}

/// Roots √5 r become κ, and decays e^(-√5 r) become κ'.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn finish(roots: &mut [f64], decays: &mut [f64]) {
    for (root, decay) in roots.iter_mut().zip(decays) {
        let x = *root;
        *root = (1.0 + x + x * x / 3.0) * *decay;
        *decay *= 5.0 / 3.0 * (1.0 + x);
    }
}

/// Products Σ x x' become covariances.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn covariances(products: &mut [f64], constant: f64, linear: f64, smooth: f64, kappa: &[f64]) {
    for (product, kappa) in products.iter_mut().zip(kappa) {
        *product = constant + linear * *product + smooth * kappa;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covariances_agree_with_the_formula() {
        let kernel = Kernel {
            constant: 1.3,
            linear: 0.2,
            smooth: 0.7,
            decays: vec![5.0 / 4.0, 5.0 / 0.25],
            noise: 0.1,
        };
        let points = [[0.3, -1.0, 2.0], [0.0, 0.5, 0.7]];
        let centres = [[0.3, 4.0], [0.0, -1.0]];
        let mut out = [0.0; 6];
        kernel.between(
            &points.each_ref().map(|column| &column[..]),
            &centres.each_ref().map(|column| &column[..]),
            &mut out,
            &mut KernelScratch::default(),
        );
        for (place, got) in out.iter().enumerate() {
            let (x, c) = (
                [points[0][place / 2], points[1][place / 2]],
                [centres[0][place % 2], centres[1][place % 2]],
            );
            let r = (((x[0] - c[0]) / 2.0f64).powi(2) + ((x[1] - c[1]) / 0.5f64).powi(2)).sqrt();
            let s = 5f64.sqrt() * r;
            let want = 1.3 + 0.2 * (x[0] * c[0] + x[1] * c[1]) + 0.7 * (1.0 + s + s * s / 3.0) * (-s).exp();
            assert!((got - want).abs() < 1e-14, "{got} {want}");
        }
        assert!((kernel.own([0.3, 0.0].into_iter()) - out[0]).abs() < 1e-15);
    }
}
