//! The stochastic simulation: a chemical Langevin equation, read in the Stratonovich sense.
//!
//! Every variable has production V and decay D, drift V - D, diffusion 0.05 sqrt(V + D) and a Wiener process of its own.
//! The scheme is the explicit derivative-free Milstein scheme with steps of one minute, so that the square root of the step
//! is 1 and is not written. Levels below 0 are set to 0 after each step.

use multiversion::multiversion;

use crate::graph::Node;

use super::dynamics::{Dynamics, Scratch};

/// Size of the noise.
const NOISE: f64 = 0.05;

/// `L` independent runs of one experiment, a minute at a time.
pub(super) struct Langevin<'a, const L: usize> {
    dynamics: &'a Dynamics,
    /// Genes whose proteins are followed.
    proteins: &'a [Node],
    scratch: Scratch<L>,
    /// `[2 genes][L]`.
    state: Vec<[f64; L]>,
    /// One minute on, a standard deviation up: where the diffusion is evaluated a second time, `[2 genes][L]`.
    support: Vec<[f64; L]>,
    diffusion: Vec<[f64; L]>,
    /// Transcription of the genes, `[genes][L]`.
    made: Vec<[f64; L]>,
}

impl<'a, const L: usize> Langevin<'a, L> {
    /// All runs start at `state`, `[2 genes]`. The proteins of genes that are not among `proteins`, which must have all
    /// regulators, stay there: leaving them out saves a good part of the time.
    pub fn new(dynamics: &'a Dynamics, proteins: &'a [Node], state: &[f64]) -> Self {
        let state: Vec<[f64; L]> = state.iter().map(|&z| [z; L]).collect();
        Self {
            dynamics,
            proteins,
            scratch: dynamics.scratch(),
            support: state.clone(),
            diffusion: state.clone(),
            made: vec![[0.0; L]; dynamics.genes()],
            state,
        }
    }

    /// `[2 genes][L]`.
    pub fn state(&self) -> &[[f64; L]] {
        &self.state
    }

    /// One minute on from the present state without chance, one standard deviation up: what GeneNetWeaver reports
    /// instead of the state after the step, `[2 genes][L]`.
    pub fn support(&mut self) -> &[[f64; L]] {
        let dynamics = self.dynamics;
        dynamics.production(&self.state[dynamics.genes()..], &mut self.scratch, &mut self.made);
        support(dynamics, self.proteins, &self.state, &self.made, &mut self.support, &mut self.diffusion);
        &self.support
    }

    /// One minute on with the standard normal numbers `normals`, `[2 genes][L]`.
    pub fn step(&mut self, normals: &[[f64; L]]) {
        self.support();
        let dynamics = self.dynamics;
        dynamics.production(&self.support[dynamics.genes()..], &mut self.scratch, &mut self.made);
        let (support, diffusion) = (&self.support, &self.diffusion);
        advance(dynamics, self.proteins, &mut self.state, &self.made, support, diffusion, normals);
    }
}

/// Negative only by rounding, or far outside of what the scheme can follow.
#[inline(always)]
fn not_negative(x: f64) -> f64 {
    // Unlike `max`, this lets NaN through.
    if x < 0.0 { 0.0 } else { x }
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn support<const L: usize>(
    dynamics: &Dynamics,
    followed: &[Node],
    state: &[[f64; L]],
    made: &[[f64; L]],
    support: &mut [[f64; L]],
    diffusion: &mut [[f64; L]],
) {
    let genes = made.len();
    let (mrna, proteins) = state.split_at(genes);
    let (support_mrna, support_proteins) = support.split_at_mut(genes);
    let (diffusion_mrna, diffusion_proteins) = diffusion.split_at_mut(genes);
    for i in 0..genes {
        for lane in 0..L {
            let (x, v) = (mrna[i][lane], made[i][lane]);
            let d = dynamics.mrna_decay[i] * x;
            let g = NOISE * (v + d).sqrt();
            diffusion_mrna[i][lane] = g;
            support_mrna[i][lane] = not_negative(x + (v - d) + g);
        }
    }
    for &i in followed {
        for lane in 0..L {
            let (y, v) = (proteins[i][lane], dynamics.translation[i] * mrna[i][lane]);
            let d = dynamics.protein_decay[i] * y;
            let g = NOISE * (v + d).sqrt();
            diffusion_proteins[i][lane] = g;
            support_proteins[i][lane] = not_negative(y + (v - d) + g);
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn advance<const L: usize>(
    dynamics: &Dynamics,
    followed: &[Node],
    state: &mut [[f64; L]],
    made: &[[f64; L]],
    support: &[[f64; L]],
    diffusion: &[[f64; L]],
    normals: &[[f64; L]],
) {
    let genes = made.len();
    for i in 0..genes {
        for lane in 0..L {
            let (at, g) = (support[i][lane], diffusion[i][lane]);
            let (v, d) = (made[i][lane], dynamics.mrna_decay[i] * at);
            state[i][lane] = moved(at, g, NOISE * (v + d).sqrt(), normals[i][lane]);
        }
    }
    for &i in followed {
        let y = genes + i;
        for lane in 0..L {
            let (at, g) = (support[y][lane], diffusion[y][lane]);
            let (v, d) = (dynamics.translation[i] * support[i][lane], dynamics.protein_decay[i] * at);
            state[y][lane] = moved(at, g, NOISE * (v + d).sqrt(), normals[y][lane]);
        }
    }
}

/// The new level: `support - diffusion` is the old one with its drift.
#[inline(always)]
fn moved(support: f64, diffusion: f64, diffusion_at_support: f64, normal: f64) -> f64 {
    let curvature = 0.5 * (diffusion_at_support - diffusion);
    not_negative((support - diffusion) + normal * (diffusion + curvature * normal))
}
