//! The Gaussian process of a node: a linear part, a smooth part with a length scale for every parent, and noise.
//!
//! y ~ N(0, C), C = 1 + s² Σ_k x_k x_kᵀ + a² κ(r) + σ² I ([`Kernel`]). Without parents C = 1 + σ² I. Values are
//! standardised, so the priors of the logarithms of σ, s, a and ℓ are the same everywhere. The score is ln ∫ p(y | θ) p(θ) dθ
//! by Laplace's method: the largest value of log p(y | θ) p(θ), and how narrow the maximum is. This file holds the hyperparameters and their prior; `likelihood` the marginal likelihood, `search` the way to
//! its maximum, `many_rows` the score of many rows, through a few of them.

mod likelihood;
mod many_rows;
mod search;

use crate::belief::Kernel;
pub(super) use crate::belief::Regression;

/// Mean and standard deviation of the priors of ln σ, ln s, ln a and ln ℓ.
const NOISE: (f64, f64) = (-1.0, 1.0);
const SLOPE: (f64, f64) = (-1.0, 1.0);
const AMPLITUDE: (f64, f64) = (-0.5, 1.0);
const LENGTH: (f64, f64) = (0.7, 0.7);

/// No hyperparameter goes further: beyond this nothing changes any more, or numbers run out of digits. Noise and the smooth
/// part may be tiny: a variable of which a straight line explains all but a millionth.
const RANGE: f64 = 5.0;
const LEAST_SIZE: f64 = -10.0;

/// The lowest and the highest value of a hyperparameter.
fn range(place: usize) -> (f64, f64) {
    (if place == SIGMA || place == SMOOTH { LEAST_SIZE } else { -RANGE }, RANGE)
}

/// Degrees of freedom of the prior of noise and smooth part, which is Student's t: a strong signal is unusual, not
/// impossible. The others are normal.
const DEGREES: f64 = 4.0;

/// ln σ; with parents also ln s, ln a, and ln ℓ of every parent.
pub(super) type Hyper = Vec<f64>;

pub(super) const SIGMA: usize = 0;
pub(super) const LINEAR: usize = 1;
pub(super) const SMOOTH: usize = 2;
pub(super) const LENGTHS: usize = 3;

fn prior_of(place: usize) -> (f64, f64) {
    [NOISE, SLOPE, AMPLITUDE, LENGTH][place.min(LENGTHS)]
}

/// Log-density of the hyperparameters without its constant, added up; its gradient is added to `gradient`.
pub(super) fn log_prior(hyper: &[f64], mut gradient: Option<&mut [f64]>) -> f64 {
    let mut sum = 0.0;
    for (place, value) in hyper.iter().enumerate() {
        let (mean, sd) = prior_of(place);
        let z = (value - mean) / sd;
        let (log, slope) = if place == SIGMA || place == SMOOTH {
            (-0.5 * (DEGREES + 1.0) * (z * z / DEGREES).ln_1p(), -(DEGREES + 1.0) * z / (DEGREES + z * z))
        } else {
            (-0.5 * z * z, -z)
        };
        sum += log;
        if let Some(gradient) = &mut gradient {
            gradient[place] += slope / sd;
        }
    }
    sum
}

/// The middle of the prior, for a number of parents.
pub(super) fn usual(parents: usize) -> Hyper {
    let count = if parents == 0 { 1 } else { LENGTHS + parents };
    (0..count).map(|place| prior_of(place).0).collect()
}

/// The covariance with these hyperparameters; without parents there are no linear and no smooth part.
pub(super) fn kernel(hyper: &[f64]) -> Kernel {
    let [noise, linear, smooth] =
        [SIGMA, LINEAR, SMOOTH].map(|place| hyper.get(place).map_or(0.0, |log| (2.0 * log).exp()));
    let decays = hyper.iter().skip(LENGTHS).map(|length| 5.0 * (-2.0 * length).exp()).collect();
    Kernel { constant: 1.0, linear, smooth, decays, noise }
}

/// Data of the tests.
#[cfg(test)]
mod toys {
    use super::Regression;
    use crate::num::random::{Purpose, Seed};

    pub fn columns(count: usize, rows: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut draws = Seed::new(seed).stream(Purpose::Mcmc).draws();
        (0..count).map(|_| (0..rows).map(|_| draws.normal()).collect()).collect()
    }

    pub fn regression<'a>(columns: &'a [Vec<f64>]) -> Regression<'a> {
        Regression { values: &columns[0], parents: columns[1..].iter().map(|column| &column[..]).collect() }
    }

    /// The multivariate normal density from its definition: LDLᵀ elimination by hand on C written out.
    pub fn dense(columns: &[Vec<f64>], hyper: &[f64]) -> f64 {
        let n = columns[0].len();
        let entry = |i: usize, j: usize| {
            let mut c = 1.0 + if i == j { (2.0 * hyper[0]).exp() } else { 0.0 };
            if columns.len() > 1 {
                let r: f64 = columns[1..]
                    .iter()
                    .zip(&hyper[3..])
                    .map(|(x, l)| ((x[i] - x[j]) / l.exp()).powi(2))
                    .sum::<f64>()
                    .sqrt();
                let s = 5f64.sqrt() * r;
                c += hyper[1].exp().powi(2) * columns[1..].iter().map(|x| x[i] * x[j]).sum::<f64>();
                c += hyper[2].exp().powi(2) * (1.0 + s + s * s / 3.0) * (-s).exp();
            }
            c
        };
        let mut c: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
        let mut y = columns[0].clone();
        let mut density = 0.0;
        for k in 0..n {
            density -= 0.5 * (std::f64::consts::TAU * c[k][k]).ln() + 0.5 * y[k] * y[k] / c[k][k];
            for i in k + 1..n {
                let factor = c[i][k] / c[k][k];
                y[i] -= factor * y[k];
                for j in k..n {
                    c[i][j] -= factor * c[k][j];
                }
            }
        }
        density
    }

    /// A smooth function of some parents with noise.
    pub fn smooth(parents: usize, rows: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut columns = columns(1 + parents, rows, seed);
        for row in 0..rows {
            let f: f64 = (1..=parents).map(|k| (k as f64 * columns[k][row]).sin()).sum();
            columns[0][row] = f / (parents.max(1) as f64).sqrt() + 0.3 * columns[0][row];
        }
        columns
    }
}
