//! The formulas of the gene networks as they stand on paper, one gene and one number at a time.

use super::super::network::{Input, Module, Network};

/// Probability that a module is bound.
pub fn bound(module: &Module, proteins: &[f64]) -> f64 {
    let u = |input: &Input| (proteins[input.regulator] / input.dissociation).powf(input.hill);
    let p: f64 = module.activators.iter().map(u).product();
    let q: f64 = module.deactivators.iter().map(u).product();
    match (module.complex, module.deactivators.is_empty()) {
        (true, true) => p / (1.0 + p),
        (true, false) => p / (1.0 + p + p * q),
        (false, _) => {
            p / module.activators.iter().chain(&module.deactivators).map(|i| 1.0 + u(i)).product::<f64>()
        }
    }
}

/// Mean relative activation of a gene: the sum over all states of its modules.
pub fn activation(network: &Network, gene: usize, proteins: &[f64]) -> f64 {
    let gene = &network.genes()[gene];
    let bound: Vec<f64> = gene.modules.iter().map(|module| bound(module, proteins)).collect();
    let weight = |state: usize| -> f64 {
        bound.iter().enumerate().map(|(q, b)| if state >> q & 1 == 1 { *b } else { 1.0 - b }).product()
    };
    gene.activation.iter().enumerate().map(|(state, a)| a * weight(state)).sum()
}

/// Production and decay of every variable, mRNA first; `factors` multiply the transcription rates.
pub fn production_and_decay(network: &Network, factors: &[f64], state: &[f64]) -> Vec<(f64, f64)> {
    let (mrna, proteins) = state.split_at(factors.len());
    let genes = || network.genes().iter().enumerate();
    let of_mrna = genes().map(|(i, gene)| {
        (factors[i] * gene.transcription * activation(network, i, proteins), gene.mrna_decay * mrna[i])
    });
    let of_proteins = genes().map(|(i, gene)| (gene.translation * mrna[i], gene.protein_decay * proteins[i]));
    of_mrna.chain(of_proteins).collect()
}

/// One step of the stochastic scheme: the state after it, and what GeneNetWeaver would report.
pub fn step(network: &Network, factors: &[f64], z: &[f64], normals: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (h, c) = (1.0f64, 0.05);
    let diffusion =
        |terms: &[(f64, f64)]| -> Vec<f64> { terms.iter().map(|(v, d)| c * (v + d).sqrt()).collect() };
    let terms = production_and_decay(network, factors, z);
    let g = diffusion(&terms);
    let f = |v: usize| terms[v].0 - terms[v].1;
    let support: Vec<f64> = (0..z.len()).map(|v| z[v] + f(v) * h + g[v] * h.sqrt()).collect();
    let g_there = diffusion(&production_and_decay(network, factors, &support));
    let next = |v: usize| {
        let dw = h.sqrt() * normals[v];
        (z[v] + f(v) * h + g[v] * dw + (g_there[v] - g[v]) * dw * dw / (2.0 * h.sqrt())).max(0.0)
    };
    ((0..z.len()).map(next).collect(), support)
}
