//! Gaussian-process regression in one dimension: Matérn 5/2, for curves of information over intervention values.
//!
//! Values are brought to mean 0 and standard deviation 1 first, so the prior variance is 1; a small jitter stands for
//! the noise. The caller limits the length scale: with a handful of points the likelihood alone can prefer one so short
//! that the process predicts nothing between them.

use faer::Mat;

use crate::num::matrix::Cholesky;

const JITTER: f64 = 1e-6;

/// Lengths that are tried before the best one is refined.
const TRIED: usize = 40;

/// A process given some points.
pub struct GaussianProcess {
    x: Vec<f64>,
    cholesky: Cholesky,
    /// K⁻¹ y of the standardised values.
    solved: Vec<f64>,
    length: f64,
    mean: f64,
    sd: f64,
    log_likelihood: f64,
}

impl GaussianProcess {
    /// The process given the points (x, y) and a length scale. None if the points are too close to be distinguished.
    pub fn new(x: &[f64], y: &[f64], length: f64) -> Option<Self> {
        let n = x.len() as f64;
        let mean = y.iter().sum::<f64>() / n;
        let sd = (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n).sqrt();
        // Values that differ by rounding only are constant.
        let sd = if sd > 1e-12 * (1.0 + mean.abs()) { sd } else { 1.0 };
        let standardised: Vec<f64> = y.iter().map(|y| (y - mean) / sd).collect();
        let covariance = Mat::from_fn(x.len(), x.len(), |i, j| {
            matern((x[i] - x[j]) / length) + if i == j { JITTER } else { 0.0 }
        });
        let cholesky = Cholesky::of(covariance.as_ref())?;
        let mut solved = standardised.clone();
        cholesky.solve_in_place(&mut solved);
        let fit: f64 = standardised.iter().zip(&solved).map(|(a, b)| a * b).sum();
        let log_likelihood = -0.5 * (fit + cholesky.log_determinant() + n * std::f64::consts::TAU.ln());
        Some(Self { x: x.to_vec(), cholesky, solved, length, mean, sd, log_likelihood })
    }

    /// The process with the most likely length scale between `shortest` and `longest`.
    pub fn fitted(x: &[f64], y: &[f64], shortest: f64, longest: f64) -> Option<Self> {
        let step = (longest / shortest).ln() / (TRIED - 1) as f64;
        let at = |k: f64| Self::new(x, y, shortest * (k * step).exp());
        let better = |a: Self, b: Self| if b.log_likelihood > a.log_likelihood { b } else { a };
        let best = (0..TRIED).filter_map(|k| at(k as f64)).reduce(better)?;
        // Between the neighbours of the best of those tried.
        let middle = (best.length / shortest).ln() / step;
        let finer = (-9..=9).map(|k| (middle + f64::from(k) / 10.0).clamp(0.0, (TRIED - 1) as f64));
        finer.filter_map(at).reduce(better).map(|fine| better(best, fine))
    }

    /// Mean and standard deviation of the curve at `x`.
    pub fn predict(&self, x: f64) -> (f64, f64) {
        let near: Vec<f64> = self.x.iter().map(|known| matern((x - known) / self.length)).collect();
        let mean: f64 = near.iter().zip(&self.solved).map(|(k, a)| k * a).sum();
        let mut solved = near.clone();
        self.cholesky.solve_in_place(&mut solved);
        let explained: f64 = near.iter().zip(&solved).map(|(a, b)| a * b).sum();
        (self.mean + self.sd * mean, self.sd * (1.0 - explained).max(0.0).sqrt())
    }

    /// The length scale.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Logarithm of the marginal likelihood of the standardised values.
    pub fn log_likelihood(&self) -> f64 {
        self.log_likelihood
    }
}

/// Matérn 5/2 covariance at a distance in length scales.
fn matern(distance: f64) -> f64 {
    let s = 5f64.sqrt() * distance.abs();
    (1.0 + s + s * s / 3.0) * (-s).exp()
}
