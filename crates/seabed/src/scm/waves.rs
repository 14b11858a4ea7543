//! Functions made of cosines and a linear part: draws from a Gaussian process that can be evaluated anywhere.
//!
//! A weighted sum of cosines of random frequencies is a draw from a smooth stationary process; which posterior it comes
//! from does not matter here.

use multiversion::multiversion;
use smallvec::SmallVec;

use crate::num::elementwise::cos_of_turns;

/// mean = intercept + Σ_k weights\[k\] x_k + Σ_h amplitudes\[h\] cos(phases\[h\] + Σ_k frequencies\[k\]\[h\] x_k).
#[derive(Clone, PartialEq, Debug)]
pub struct Waves {
    /// The linear part: one weight per parent, in ascending order of the parents.
    pub weights: Vec<f64>,
    /// Shape [parents, waves], row after row, in radians per unit of the parent.
    pub frequencies: Vec<f64>,
    /// In radians, one per wave.
    pub phases: Vec<f64>,
    /// One per wave.
    pub amplitudes: Vec<f64>,
    /// The constant part.
    pub intercept: f64,
}

impl Waves {
    pub(super) fn fits(&self, parents: usize) -> bool {
        let waves = self.phases.len();
        self.weights.len() == parents
            && self.amplitudes.len() == waves
            && self.frequencies.len() == parents * waves
    }

    pub(super) fn means(&self, parents: &[&[f64]], out: &mut [f64]) {
        // Turns instead of radians, so that whole turns can be subtracted.
        let turns = |radians: &[f64]| -> SmallVec<[f64; 256]> {
            radians.iter().map(|x| x / std::f64::consts::TAU).collect()
        };
        sum_of_waves(self, &turns(&self.frequencies), &turns(&self.phases), parents, out);
    }

    pub(super) fn with_parents(&self, from: &[usize]) -> Self {
        let waves = self.phases.len();
        let row = |k: usize| &self.frequencies[k * waves..(k + 1) * waves];
        Self {
            weights: from.iter().map(|&k| self.weights[k]).collect(),
            frequencies: from.iter().flat_map(|&k| row(k)).copied().collect(),
            ..self.clone()
        }
    }

    pub(super) fn rescaled(&self, (own_mean, own_scale): (f64, f64), parents: &[(f64, f64)]) -> Self {
        let waves = self.phases.len();
        let mut other = self.clone();
        for (k, &(mean, scale)) in parents.iter().enumerate() {
            other.intercept += self.weights[k] * mean;
            other.weights[k] *= scale / own_scale;
            for h in 0..waves {
                other.phases[h] += self.frequencies[k * waves + h] * mean;
                other.frequencies[k * waves + h] *= scale;
            }
        }
        other.intercept = (other.intercept - own_mean) / own_scale;
        other.amplitudes.iter_mut().for_each(|amplitude| *amplitude /= own_scale);
        other
    }
}

/// Samples per chunk: their turns stay in the first-level cache.
const CHUNK: usize = 64;

/// Samples that are computed side by side: a vector of the widest kind.
const LANES: usize = 8;

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn sum_of_waves(waves: &Waves, frequencies: &[f64], phases: &[f64], parents: &[&[f64]], out: &mut [f64]) {
    let count = phases.len();
    let mut turns = [0.0; CHUNK];
    for (chunk, out) in out.chunks_mut(CHUNK).enumerate() {
        let part = |k: usize| &parents[k][chunk * CHUNK..chunk * CHUNK + out.len()];
        // Whole vectors, but not the whole chunk if there are few samples.
        let lanes = out.len().next_multiple_of(LANES).min(CHUNK);
        let mut means = [waves.intercept; CHUNK];
        for k in 0..parents.len() {
            for (mean, x) in means.iter_mut().zip(part(k)) {
                *mean += waves.weights[k] * x;
            }
        }
        for h in 0..count {
            turns[..lanes].fill(phases[h]);
            for k in 0..parents.len() {
                let frequency = frequencies[k * count + h];
                for (turn, x) in turns.iter_mut().zip(part(k)) {
                    *turn += frequency * x;
                }
            }
            for (mean, turns) in means[..lanes].iter_mut().zip(&turns[..lanes]) {
                *mean += waves.amplitudes[h] * cos_of_turns(*turns);
            }
        }
        out.copy_from_slice(&means[..out.len()]);
    }
}
