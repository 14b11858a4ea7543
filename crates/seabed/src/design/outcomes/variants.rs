//! How well the draws explain outcomes: log-densities, computed once for every distinct mechanism.
//!
//! Draws that share a mechanism of a node (with parents and noise) share its term of their log-densities. Mechanisms
//! that are functions of the same waves are evaluated together.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::ops::Range;

use multiversion::multiversion;
use smallvec::SmallVec;

use crate::graph::{Node, NodeSet};
use crate::scm::{Mechanism, Scm, SharedWaves, Waves};

/// The distinct mechanisms (with parents and noise) that a node has among the draws.
pub(super) struct Variants {
    /// For every variant a draw that has it, and its parents.
    pub(super) of: Vec<(usize, NodeSet)>,
    /// For every variant its standard deviation and the logarithm of its density at the mean.
    pub(super) noise: Vec<(f64, f64)>,
    /// For every variant the draws that have it.
    draws: Vec<Vec<usize>>,
    /// All variants, those side by side that are evaluated together.
    pub(super) families: Vec<Family>,
}

/// Variants with the same parents that are evaluated together.
pub(super) struct Family {
    pub(super) variants: Range<usize>,
    pub(super) parents: NodeSet,
    /// What several of them have in common; a single one is evaluated as it is.
    shared: Option<SharedWaves>,
}

/// Fewer functions of the same waves than this are sooner evaluated one by one.
const WORTH_SHARING: usize = 3;

impl Variants {
    pub(super) fn new(draws: &[Scm], node: Node) -> Self {
        let mut known: HashMap<(NodeSet, u64, Discriminant<Mechanism>, Vec<u64>), usize> = HashMap::new();
        let (mut of, mut with) = (Vec::new(), Vec::<Vec<usize>>::new());
        for (l, draw) in draws.iter().enumerate() {
            let parents = draw.dag().parents(node).clone();
            let (mechanism, sd) = (draw.mechanism(node), draw.noise_sd()[node]);
            let numbers = mechanism.parameters().map(f64::to_bits).collect();
            let key = (parents.clone(), sd.to_bits(), discriminant(mechanism), numbers);
            let number = *known.entry(key).or_insert_with(|| {
                of.push((l, parents));
                with.push(Vec::new());
                of.len() - 1
            });
            with[number].push(l);
        }
        let waves = |v: usize| match draws[of[v].0].mechanism(node) {
            Mechanism::Waves(waves) => Some(waves),
            _ => None,
        };
        let mut order = Vec::with_capacity(of.len());
        let mut families = Vec::new();
        for together in families_of(&of, waves) {
            let functions: Option<Vec<&Waves>> = together.iter().map(|&v| waves(v)).collect();
            let several = functions.filter(|functions| functions.len() >= WORTH_SHARING);
            let parents = of[together[0]].1.clone();
            match several.and_then(|functions| SharedWaves::of(&functions)) {
                Some(shared) => {
                    let variants = order.len()..order.len() + together.len();
                    families.push(Family { variants, parents, shared: Some(shared) });
                }
                None => families.extend((0..together.len()).map(|k| Family {
                    variants: order.len() + k..order.len() + k + 1,
                    parents: parents.clone(),
                    shared: None,
                })),
            }
            order.extend(together);
        }
        let peak = |sd: f64| -sd.ln() - 0.5 * std::f64::consts::TAU.ln();
        let noise = |&v: &usize| draws[of[v].0].noise_sd()[node];
        Self {
            noise: order.iter().map(noise).map(|sd| (sd, peak(sd))).collect(),
            draws: order.iter().map(|&v| std::mem::take(&mut with[v])).collect(),
            of: order.iter().map(|&v| of[v].clone()).collect(),
            families,
        }
    }

    /// The means of all variants of a family, `out` = [variants][outcomes], given the values of its parents. `memory` is
    /// of any length.
    pub(super) fn means<'a>(
        &self,
        family: &Family,
        (draws, node): (&[Scm], Node),
        parents: impl Iterator<Item = &'a [f64]>,
        memory: &mut Vec<f64>,
        out: &mut [f64],
    ) {
        match &family.shared {
            Some(shared) => shared.means(&parents.collect::<SmallVec<[&[f64]; 8]>>(), memory, out),
            None => draws[self.of[family.variants.start].0].means_of(node, parents, out),
        }
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

/// Which variants are functions of the same waves, in the order of the first of them; all others are alone.
fn families_of<'a>(of: &[(usize, NodeSet)], waves: impl Fn(usize) -> Option<&'a Waves>) -> Vec<Vec<usize>> {
    let mut known: HashMap<(&NodeSet, Vec<u64>), usize> = HashMap::new();
    let mut families: Vec<Vec<usize>> = Vec::new();
    for (v, (_, parents)) in of.iter().enumerate() {
        let next = families.len();
        let family = waves(v).map_or(next, |waves| {
            let frequencies = waves.frequencies.iter().map(|x| x.to_bits()).collect();
            *known.entry((parents, frequencies)).or_insert(next)
        });
        if family == next {
            families.push(Vec::new());
        }
        families[family].push(v);
    }
    families
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
