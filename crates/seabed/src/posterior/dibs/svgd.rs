//! Stein variational gradient descent: particles climb the log-density together and keep apart.
//!
//! k(a, b) = exp(-|Z_a - Z_b|²/h_z) + exp(-|Θ_a - Θ_b|²/h_θ). A particle moves along the mean over all particles of
//! kernel times gradient, plus the gradient of the kernel, with the step sizes of RMSProp.

use serde::{Deserialize, Serialize};

use crate::num::parallel::ordered_map_indices;

/// Squared lengths over which particles interact.
pub(super) const LATENT_BANDWIDTH: f64 = 5.0;
pub(super) const PARAMETER_BANDWIDTH: f64 = 500.0;

/// Below this a particle's pull on another one is negligible beside the other's own, whose kernel is 1 or 2.
const LEAST_KERNEL: f64 = 1e-12;

/// A point in the space of latent graphs and parameters, with its memory of past gradients.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Particle {
    /// Latent vectors u of all variables, then v of all variables.
    pub(super) z: Vec<f64>,
    /// Parameters, column after column.
    pub(super) theta: Vec<f64>,
    /// RMSProp's mean squares, of `z` and then of `theta`.
    pub(super) squares: Vec<f64>,
}

impl Particle {
    /// Are all its numbers finite?
    pub(super) fn is_finite(&self) -> bool {
        self.z.iter().chain(&self.theta).chain(&self.squares).all(|x| x.is_finite())
    }
}

/// The gradient of the log-density at a particle.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Gradient {
    pub z: Vec<f64>,
    pub theta: Vec<f64>,
}

/// How strongly each pair of particles is bound: by their graphs, and by their parameters.
pub(super) struct Kernel {
    pub latent: Vec<Vec<f64>>,
    /// Empty rows if there are no parameters: then the kernel is that of the graphs alone.
    pub parameter: Vec<Vec<f64>>,
}

impl Kernel {
    pub fn of(particles: &[Particle]) -> Self {
        let row = |a: usize, part: fn(&Particle) -> &[f64], bandwidth: f64| -> Vec<f64> {
            let distance = |b: usize| squared_distance(part(&particles[a]), part(&particles[b]));
            (0..=a).map(|b| if a == b { 1.0 } else { (-distance(b) / bandwidth).exp() }).collect()
        };
        let rows = ordered_map_indices(particles.len(), |a| {
            let latent = row(a, |particle| &particle.z, LATENT_BANDWIDTH);
            let parameter = if particles[a].theta.is_empty() {
                vec![0.0; a + 1]
            } else {
                row(a, |particle| &particle.theta, PARAMETER_BANDWIDTH)
            };
            (latent, parameter)
        });
        let (latent, parameter): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        Self { latent: mirrored(latent), parameter: mirrored(parameter) }
    }

    fn value(&self, a: usize, b: usize) -> f64 {
        self.latent[a][b] + self.parameter[a][b]
    }
}

/// A square matrix from its lower triangle.
fn mirrored(triangle: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let side = triangle.len();
    (0..side).map(|a| (0..side).map(|b| triangle[a.max(b)][a.min(b)]).collect()).collect()
}

/// The direction in which every particle moves (the φ of SVGD).
pub(super) fn directions(particles: &[Particle], gradients: &[Gradient], kernel: &Kernel) -> Vec<Gradient> {
    let share = 1.0 / particles.len() as f64;
    ordered_map_indices(particles.len(), |a| {
        let here = &particles[a];
        let mut direction = Gradient { z: vec![0.0; here.z.len()], theta: vec![0.0; here.theta.len()] };
        for (b, (there, gradient)) in particles.iter().zip(gradients).enumerate() {
            let pull = kernel.value(b, a);
            if pull < LEAST_KERNEL {
                continue;
            }
            let apart = kernel.latent[b][a] * -2.0 / LATENT_BANDWIDTH;
            push(&mut direction.z, &gradient.z, pull, &there.z, &here.z, apart);
            let apart = kernel.parameter[b][a] * -2.0 / PARAMETER_BANDWIDTH;
            push(&mut direction.theta, &gradient.theta, pull, &there.theta, &here.theta, apart);
        }
        for x in direction.z.iter_mut().chain(&mut direction.theta) {
            *x *= share;
        }
        direction
    })
}

/// direction += pull gradient + apart (there - here).
fn push(direction: &mut [f64], gradient: &[f64], pull: f64, there: &[f64], here: &[f64], apart: f64) {
    for (((sum, slope), there), here) in direction.iter_mut().zip(gradient).zip(there).zip(here) {
        *sum += pull * slope + apart * (there - here);
    }
}

/// RMSProp: step size, memory, and what keeps the root from 0.
pub(super) const STEP: f64 = 0.005;
const MEMORY: f64 = 0.9;
const FLOOR: f64 = 1e-8;

impl Particle {
    /// Goes one step of this size along a direction.
    pub(super) fn climb(&mut self, direction: &Gradient, size: f64) {
        let (of_z, of_theta) = self.squares.split_at_mut(self.z.len());
        climb(&mut self.z, &direction.z, of_z, size);
        climb(&mut self.theta, &direction.theta, of_theta, size);
    }
}

pub(super) fn climb(x: &mut [f64], direction: &[f64], squares: &mut [f64], size: f64) {
    for ((x, slope), square) in x.iter_mut().zip(direction).zip(squares) {
        *square = MEMORY * *square + (1.0 - MEMORY) * slope * slope;
        *x += size * slope / (*square + FLOOR).sqrt();
    }
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    // Four sums side by side, so that additions do not wait for each other; a fixed number, so a fixed result.
    let mut sums = [0.0; 4];
    let (a_parts, b_parts) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(x, y)| (x - y) * (x - y)).sum();
    for (x, y) in a_parts.zip(b_parts) {
        for k in 0..4 {
            sums[k] += (x[k] - y[k]) * (x[k] - y[k]);
        }
    }
    sums[0] + sums[1] + sums[2] + sums[3] + rest
}
