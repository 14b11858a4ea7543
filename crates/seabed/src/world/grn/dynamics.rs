//! Production and decay of all genes, for several copies of the system side by side.
//!
//! A state is `[2 genes][L]`: the mRNA of every gene, then the proteins, each for `L` independent copies
//! (*lanes*). Logarithms and exponentials are taken over whole tables, and the loops are compiled for several
//! instruction sets without fused multiply-add, so a lane has the same bits whatever `L` and the machine.
//!
//! With `u = (y/k)^n` of an input, a module is bound with probability 1/D: for independent binding D is the product of
//! `1 + 1/u` over activators and `1 + u` over deactivators, for a complex it is `1 + 1/P + Q` (without Q if there are no
//! deactivators), P and Q the products of `u` over activators and deactivators. In this form nothing overflows into NaN.

use multiversion::multiversion;

use crate::graph::Node;
use crate::num::elementwise::{exp_in_place, ln_in_place};

use super::network::{Gene, Input, Network};

/// The right-hand side of a network under one intervention.
#[derive(Clone, Debug)]
pub(super) struct Dynamics {
    /// Per gene, with the factors of the intervention.
    pub transcription: Vec<f64>,
    pub translation: Vec<f64>,
    pub mrna_decay: Vec<f64>,
    pub protein_decay: Vec<f64>,
    promoters: Promoters,
}

/// All promoters as flat tables, in the order in which they are worked through.
#[derive(Clone, Debug)]
struct Promoters {
    /// Genes whose proteins regulate; one row of logarithms each.
    regulators: Vec<Node>,
    /// Exponents: a constant and the number of `terms` that belong to it.
    exponents: Vec<(f64, usize)>,
    /// Row of a logarithm, and its coefficient.
    terms: Vec<(usize, f64)>,
    /// Does it bind as a complex, and how many of the exponentials does it use?
    modules: Vec<(bool, usize)>,
    /// Modules of each gene.
    modules_of_gene: Vec<usize>,
    /// Activations of each gene in turn, `2^modules` each.
    activation: Vec<f64>,
}

/// Working memory of [`Dynamics::production`].
pub(super) struct Scratch<const L: usize> {
    logarithms: Vec<[f64; L]>,
    exponentials: Vec<[f64; L]>,
    states: Vec<[f64; L]>,
}

impl Dynamics {
    pub fn new(network: &Network) -> Self {
        let all = |of: fn(&Gene) -> f64| network.genes().iter().map(of).collect();
        Self {
            transcription: all(|gene| gene.transcription),
            translation: all(|gene| gene.translation),
            mrna_decay: all(|gene| gene.mrna_decay),
            protein_decay: all(|gene| gene.protein_decay),
            promoters: Promoters::new(network.genes()),
        }
    }

    pub fn genes(&self) -> usize {
        self.transcription.len()
    }

    /// Genes that regulate another.
    pub fn regulators(&self) -> &[Node] {
        &self.promoters.regulators
    }

    pub fn scratch<const L: usize>(&self) -> Scratch<L> {
        let largest = self.promoters.modules_of_gene.iter().max().copied().unwrap_or(0);
        Scratch {
            logarithms: vec![[0.0; L]; self.promoters.regulators.len()],
            exponentials: vec![[0.0; L]; self.promoters.exponents.len()],
            states: vec![[0.0; L]; 1 << largest.saturating_sub(1)],
        }
    }

    /// Transcription of every gene at the protein levels `proteins` (`[genes][L]`, at least 0), into `out`.
    pub fn production<const L: usize>(
        &self,
        proteins: &[[f64; L]],
        scratch: &mut Scratch<L>,
        out: &mut [[f64; L]],
    ) {
        for (row, &regulator) in scratch.logarithms.iter_mut().zip(&self.promoters.regulators) {
            *row = proteins[regulator];
        }
        ln_in_place(scratch.logarithms.as_flattened_mut());
        exponents(&self.promoters, &scratch.logarithms, &mut scratch.exponentials);
        exp_in_place(scratch.exponentials.as_flattened_mut());
        activations(&self.promoters, &self.transcription, &scratch.exponentials, &mut scratch.states, out);
    }

    /// d/dt of `state` without noise, into `out`; both `[2 genes][L]`.
    pub fn rates<const L: usize>(&self, state: &[[f64; L]], scratch: &mut Scratch<L>, out: &mut [[f64; L]]) {
        let genes = self.genes();
        let (mrna, proteins) = state.split_at(genes);
        let (of_mrna, of_proteins) = out.split_at_mut(genes);
        self.production(proteins, scratch, of_mrna);
        for i in 0..genes {
            for lane in 0..L {
                of_mrna[i][lane] -= self.mrna_decay[i] * mrna[i][lane];
                of_proteins[i][lane] =
                    self.translation[i] * mrna[i][lane] - self.protein_decay[i] * proteins[i][lane];
            }
        }
    }
}

impl Promoters {
    fn new(genes: &[Gene]) -> Self {
        let mut row_of = vec![None; genes.len()];
        let mut all = Self {
            regulators: vec![],
            exponents: vec![],
            terms: vec![],
            modules: vec![],
            modules_of_gene: vec![],
            activation: vec![],
        };
        for input in genes.iter().flat_map(Gene::inputs) {
            row_of[input.regulator].get_or_insert_with(|| {
                all.regulators.push(input.regulator);
                all.regulators.len() - 1
            });
        }
        for gene in genes {
            for module in &gene.modules {
                let before = all.exponents.len();
                // The logarithm of a product of u, with a sign.
                let mut exponent = |sign: f64, inputs: &[Input]| {
                    let constant: f64 =
                        inputs.iter().map(|input| -sign * input.hill * input.dissociation.ln()).sum();
                    all.exponents.push((constant, inputs.len()));
                    let row = |node: Node| row_of[node].expect("every regulator has a row");
                    all.terms.extend(inputs.iter().map(|input| (row(input.regulator), sign * input.hill)));
                };
                if module.complex {
                    exponent(-1.0, &module.activators);
                    if !module.deactivators.is_empty() {
                        exponent(1.0, &module.deactivators);
                    }
                } else {
                    module.activators.chunks(1).for_each(|input| exponent(-1.0, input));
                    module.deactivators.chunks(1).for_each(|input| exponent(1.0, input));
                }
                all.modules.push((module.complex, all.exponents.len() - before));
            }
            all.modules_of_gene.push(gene.modules.len());
            all.activation.extend_from_slice(&gene.activation);
        }
        all
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn exponents<const L: usize>(promoters: &Promoters, logarithms: &[[f64; L]], out: &mut [[f64; L]]) {
    let mut terms = promoters.terms.iter();
    for (row, &(constant, count)) in out.iter_mut().zip(&promoters.exponents) {
        let mut sum = [constant; L];
        for &(from, coefficient) in terms.by_ref().take(count) {
            let logarithm = &logarithms[from];
            for lane in 0..L {
                sum[lane] += coefficient * logarithm[lane];
            }
        }
        *row = sum;
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn activations<const L: usize>(
    promoters: &Promoters,
    transcription: &[f64],
    exponentials: &[[f64; L]],
    states: &mut [[f64; L]],
    out: &mut [[f64; L]],
) {
    let mut modules = promoters.modules.iter();
    let mut factors = exponentials.iter();
    let mut activation = &promoters.activation[..];
    for (gene, row) in out.iter_mut().enumerate() {
        let count = promoters.modules_of_gene[gene];
        let (given, rest) = activation.split_at(1 << count);
        activation = rest;
        // Averaging over one module after the other halves the number of states each time.
        for q in 0..count {
            let &(complex, used) = modules.next().expect("one entry per module");
            let mut denominator = [1.0; L];
            for factor in factors.by_ref().take(used) {
                if complex {
                    for lane in 0..L {
                        denominator[lane] += factor[lane];
                    }
                } else {
                    for lane in 0..L {
                        denominator[lane] *= 1.0 + factor[lane];
                    }
                }
            }
            let mut bound = [0.0; L];
            for lane in 0..L {
                bound[lane] = 1.0 / denominator[lane];
            }
            for s in 0..1usize << (count - 1 - q) {
                let (off, on) = if q == 0 {
                    ([given[2 * s]; L], [given[2 * s + 1]; L])
                } else {
                    (states[2 * s], states[2 * s + 1])
                };
                for lane in 0..L {
                    states[s][lane] = off[lane] * (1.0 - bound[lane]) + on[lane] * bound[lane];
                }
            }
        }
        let mean = if count == 0 { [given[0]; L] } else { states[0] };
        for lane in 0..L {
            row[lane] = transcription[gene] * mean[lane];
        }
    }
}
