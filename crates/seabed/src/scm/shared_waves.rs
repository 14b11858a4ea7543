//! Many functions of the same frequencies, evaluated together.
//!
//! Draws of one Gaussian process differ in phases and amplitudes only: a cos(φ + t) = a cos φ cos t - a sin φ sin t. So the
//! cosines and sines of a sample are computed once, and all functions of it are one matrix product.

use faer::{MatMut, MatRef};
use multiversion::multiversion;

use super::Waves;
use crate::num::elementwise::cos_sin_of_turn;
use crate::num::matrix::product;

/// Functions of the same parents with the same frequencies.
pub(crate) struct SharedWaves {
    /// Shape [parents, waves], row after row, in turns per unit of the parent.
    frequencies: Vec<f64>,
    /// Of every function the weights of its features, [functions][features]: constant, parents, cosines, sines.
    weights: Vec<f64>,
    features: usize,
}

impl SharedWaves {
    /// The functions together, `None` if their frequencies differ, or there is no function or no parent.
    pub(crate) fn of(functions: &[&Waves]) -> Option<Self> {
        let first = functions.first()?;
        let (parents, waves) = (first.weights.len(), first.phases.len());
        if parents == 0 || functions.iter().any(|other| other.frequencies != first.frequencies) {
            return None;
        }
        let features = 1 + parents + 2 * waves;
        let mut weights = Vec::with_capacity(functions.len() * features);
        for function in functions {
            let parts = || function.amplitudes.iter().zip(&function.phases);
            weights.push(function.intercept);
            weights.extend(&function.weights);
            weights.extend(parts().map(|(amplitude, phase)| amplitude * phase.cos()));
            weights.extend(parts().map(|(amplitude, phase)| -amplitude * phase.sin()));
        }
        let frequencies = first.frequencies.iter().map(|x| x / std::f64::consts::TAU).collect();
        Some(Self { frequencies, weights, features })
    }

    /// The means of all functions, `out` = [functions][samples]; `parents[k]` holds the k-th parent's values. `memory` is
    /// of any length.
    pub(crate) fn means(&self, parents: &[&[f64]], memory: &mut Vec<f64>, out: &mut [f64]) {
        let functions = self.weights.len() / self.features;
        let samples = out.len() / functions;
        memory.resize(self.features * samples, 0.0);
        fill_features(&self.frequencies, parents, samples, memory);
        product(
            MatMut::from_column_major_slice_mut(out, samples, functions),
            MatRef::from_column_major_slice(memory, samples, self.features),
            MatRef::from_column_major_slice(&self.weights, self.features, functions),
        );
    }
}

/// `out` = [features][samples]: one, the parents, cosines and sines.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn fill_features(frequencies: &[f64], parents: &[&[f64]], samples: usize, out: &mut [f64]) {
    let waves = frequencies.len() / parents.len();
    let (plain, turning) = out.split_at_mut((1 + parents.len()) * samples);
    plain[..samples].fill(1.0);
    for (k, x) in parents.iter().enumerate() {
        plain[(k + 1) * samples..(k + 2) * samples].copy_from_slice(x);
    }
    let (cosines, sines) = turning.split_at_mut(waves * samples);
    for wave in 0..waves {
        let cosines = &mut cosines[wave * samples..(wave + 1) * samples];
        let sines = &mut sines[wave * samples..(wave + 1) * samples];
        cosines.fill(0.0);
        for (k, x) in parents.iter().enumerate() {
            let frequency = frequencies[k * waves + wave];
            cosines.iter_mut().zip(*x).for_each(|(turns, x)| *turns += frequency * x);
        }
        for (cosine, sine) in cosines.iter_mut().zip(sines) {
            (*cosine, *sine) = cos_sin_of_turn(*cosine);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    /// One by one, each function has the same values.
    #[test]
    fn functions_are_the_same_together_and_alone() {
        let mut draws = Seed::new(5).stream(Purpose::Noise).draws();
        for (parents, waves, functions, samples) in
            [(1, 32, 1, 7), (2, 128, 5, 100), (3, 20, 4, 1), (2, 0, 3, 9)]
        {
            let mut normals = |count: usize| (0..count).map(|_| 3.0 * draws.normal()).collect::<Vec<f64>>();
            let frequencies = normals(parents * waves);
            let of_function = |_| Waves {
                weights: normals(parents),
                frequencies: frequencies.clone(),
                phases: normals(waves),
                amplitudes: normals(waves),
                intercept: normals(1)[0],
            };
            let functions: Vec<Waves> = (0..functions).map(of_function).collect();
            let columns: Vec<Vec<f64>> = (0..parents).map(|_| normals(samples)).collect();
            let columns: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
            let shared = SharedWaves::of(&functions.iter().collect::<Vec<_>>()).unwrap();
            let mut together = vec![0.0; functions.len() * samples];
            shared.means(&columns, &mut Vec::new(), &mut together);
            for (function, together) in functions.iter().zip(together.chunks(samples)) {
                let mut alone = vec![0.0; samples];
                function.means(&columns, &mut alone);
                for (a, b) in alone.iter().zip(together) {
                    assert!((a - b).abs() < 1e-10, "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn functions_of_other_frequencies_are_not_shared() {
        let wave = |frequency: f64| Waves {
            weights: vec![0.0],
            frequencies: vec![frequency],
            phases: vec![0.0],
            amplitudes: vec![1.0],
            intercept: 0.0,
        };
        assert!(SharedWaves::of(&[&wave(1.0), &wave(1.0)]).is_some());
        assert!(SharedWaves::of(&[&wave(1.0), &wave(2.0)]).is_none());
        assert!(SharedWaves::of(&[]).is_none());
    }
}
