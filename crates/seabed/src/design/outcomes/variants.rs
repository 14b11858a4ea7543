//! How well the draws explain outcomes: log-densities, computed once for every distinct mechanism.
//!
//! Draws that share a mechanism of a node (with parents and noise) share its term of their log-densities.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use multiversion::multiversion;

use crate::graph::{Node, NodeSet};
use crate::scm::{Mechanism, Scm};

/// The distinct mechanisms (with parents and noise) that a node has among the draws.
pub(super) struct Variants {
    /// For every variant a draw that has it, and its parents.
    pub(super) of: Vec<(usize, NodeSet)>,
    /// For every variant its standard deviation and the logarithm of its density at the mean.
    pub(super) noise: Vec<(f64, f64)>,
    /// For every variant the draws that have it.
    draws: Vec<Vec<usize>>,
}

impl Variants {
    pub(super) fn new(draws: &[Scm], node: Node) -> Self {
        let mut known: HashMap<(NodeSet, u64, Discriminant<Mechanism>, Vec<u64>), usize> = HashMap::new();
        let (mut of, mut with, mut noise) = (Vec::new(), Vec::<Vec<usize>>::new(), Vec::new());
        for (l, draw) in draws.iter().enumerate() {
            let parents = draw.dag().parents(node).clone();
            let (mechanism, sd) = (draw.mechanism(node), draw.noise_sd()[node]);
            let numbers = mechanism.parameters().map(f64::to_bits).collect();
            let key = (parents.clone(), sd.to_bits(), discriminant(mechanism), numbers);
            let number = *known.entry(key).or_insert_with(|| {
                of.push((l, parents));
                noise.push((sd, -sd.ln() - 0.5 * std::f64::consts::TAU.ln()));
                with.push(Vec::new());
                of.len() - 1
            });
            with[number].push(l);
        }
        Self { of, noise, draws: with }
    }

    /// Adds log N(x; mean, sd²) of variant `v` to all draws that have it; `sums` is [draws][outcomes], `term` is memory.
    pub(super) fn add_term(&self, v: usize, (x, mean): (&[f64], &[f64]), term: &mut [f64], sums: &mut [f64]) {
        let ((sd, peak), m) = (self.noise[v], x.len());
        let scale = -0.5 / (sd * sd);
        if let [only] = self.draws[v][..] {
            return add_term(&mut sums[only * m..(only + 1) * m], x, mean, peak, scale);
        }
        term.fill(peak);
        add_squares(term, x, mean, scale);
        self.add_to_draws(v, term, sums);
    }

    /// Adds the term of variant `v` to all draws that have it; `sums` is [draws][outcomes].
    pub(super) fn add_to_draws(&self, v: usize, term: &[f64], sums: &mut [f64]) {
        for &l in &self.draws[v] {
            add(&mut sums[l * term.len()..(l + 1) * term.len()], term);
        }
    }
}

/// out = log N(x'; mean', sd²) - log N(x; mean, sd²), of (x, mean) before and after.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub(super) fn difference_of_terms(
    out: &mut [f64],
    before: (&[f64], &[f64]),
    after: (&[f64], &[f64]),
    sd: f64,
) {
    let scale = 0.5 / (sd * sd);
    let pairs = before.0.iter().zip(before.1).zip(after.0.iter().zip(after.1));
    for (out, ((x, mean), (y, mean_after))) in out.iter_mut().zip(pairs) {
        let (a, b) = (x - mean, y - mean_after);
        *out = scale * (a * a - b * b);
    }
}

/// sums += peak + scale * (x - mean)².
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn add_term(sums: &mut [f64], x: &[f64], mean: &[f64], peak: f64, scale: f64) {
    for ((sum, x), mean) in sums.iter_mut().zip(x).zip(mean) {
        let difference = x - mean;
        *sum += peak + scale * difference * difference;
    }
}

/// sums += scale * (x - mean)².
pub(super) fn add_squares(sums: &mut [f64], x: &[f64], mean: &[f64], scale: f64) {
    add_term(sums, x, mean, 0.0, scale);
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub(super) fn add(sums: &mut [f64], terms: &[f64]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
}
