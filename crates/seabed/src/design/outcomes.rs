//! What the draws expect of a design, and how well every draw explains what each of them expects.
//!
//! Everything that a design does not change is computed once a round. Under do(targets) only descendants of the
//! targets change in the generating draw; of the evaluating draws only terms change whose variable or one of whose
//! parents is among them. Draws that share a mechanism share its terms. All designs of a round see the same base
//! noise, so that designs are compared and not noise.

use std::collections::HashMap;

use super::information::{Estimator, Information, Weighting, discrepancy};
use crate::graph::{Node, NodeSet};
use crate::num::parallel::ordered_map_indices;
use crate::num::random::Stream;
use crate::scm::{Ensemble, Intervention, Scm};

/// Evaluates designs under a belief.
pub struct Evaluator<'a> {
    ensemble: &'a Ensemble,
    weighting: Weighting,
    /// Outcomes of each generating draw.
    samples: usize,
    /// Independent outcomes of each design: how often an experiment is repeated.
    replicates: usize,
    estimator: Estimator,
    stream: Stream,
    /// The distinct mechanisms of every node.
    variants: Vec<Variants>,
    /// `descendants[i][j]`: what a change of j changes in draw i.
    descendants: Vec<Vec<NodeSet>>,
    order: Vec<Vec<Node>>,
}

/// The distinct mechanisms (with parents and noise) that a node has among the draws.
struct Variants {
    /// For every variant a draw that has it, and its parents.
    of: Vec<(usize, NodeSet)>,
    /// `variant[l]`: the variant of draw l.
    variant: Vec<usize>,
}

/// Log-densities of outcomes that are already decided on: `[i]` holds [evaluating draws][outcomes] for the outcomes of
/// generating draw i.
#[derive(Clone)]
pub(super) struct Accumulated(Vec<Vec<f64>>);

/// One generating draw before any design: its outcomes when only observed, and how every variant explains them.
struct Base {
    /// [variables][outcomes]
    columns: Vec<Vec<f64>>,
    /// Noise times its standard deviation, [variables][outcomes].
    noise: Vec<Vec<f64>>,
    /// Means of every variant, `[variable]` = [variants][outcomes].
    means: Vec<Vec<f64>>,
    /// Sum of all terms of every draw, [draws][outcomes].
    totals: Vec<f64>,
}

/// Memory for the evaluation of one design.
struct Scratch {
    columns: Vec<Vec<f64>>,
    difference: Vec<f64>,
    means: Vec<f64>,
    densities: Vec<f64>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of the information about `groups`: `groups[l]` is the answer of draw l to the question.
    pub fn new(
        ensemble: &'a Ensemble,
        groups: Vec<usize>,
        samples: usize,
        replicates: usize,
        estimator: Estimator,
        stream: Stream,
    ) -> Self {
        let draws = ensemble.draws();
        Self {
            weighting: Weighting::new(ensemble.weights(), groups),
            samples,
            replicates,
            estimator,
            stream,
            variants: (0..ensemble.names().len()).map(|node| Variants::new(draws, node)).collect(),
            descendants: draws.iter().map(|draw| draw.dag().all_descendants()).collect(),
            order: draws.iter().map(|draw| draw.dag().topological_order()).collect(),
            ensemble,
        }
    }

    /// The variables' names.
    pub fn names(&self) -> &crate::data::Names {
        self.ensemble.names()
    }

    /// Entropy of the answers, in nats: what there is to learn.
    pub fn entropy(&self) -> f64 {
        self.weighting.entropy()
    }

    /// Information of every design, each together with what is already decided on, if anything is. Rounds have
    /// independent noise; designs of one round have the same.
    pub(super) fn information(
        &self,
        round: u64,
        designs: &[Intervention],
        decided: Option<&Accumulated>,
    ) -> Vec<Information> {
        let draws = self.ensemble.draws().len();
        // [i][design]
        let of_draws = ordered_map_indices(draws, |i| {
            let bases = self.bases(round, i);
            let mut scratch = self.scratch();
            let of_design = |design: &Intervention| {
                let densities = self.densities_with(&bases, i, design, decided, &mut scratch);
                self.weighting.of_draw(i, densities, self.samples, self.estimator)
            };
            designs.iter().map(of_design).collect::<Vec<_>>()
        });
        let total = |k: usize| {
            let of_design: Vec<(f64, f64)> = of_draws.iter().map(|of_draw| of_draw[k]).collect();
            self.weighting.total(&of_design, self.samples)
        };
        (0..designs.len()).map(total).collect()
    }

    /// The log-densities of the outcomes of a design, added to those of what was decided on before.
    pub(super) fn decide(
        &self,
        round: u64,
        design: &Intervention,
        decided: Option<&Accumulated>,
    ) -> Accumulated {
        let draws = self.ensemble.draws().len();
        Accumulated(ordered_map_indices(draws, |i| {
            let bases = self.bases(round, i);
            let mut scratch = self.scratch();
            self.densities_with(&bases, i, design, decided, &mut scratch).to_vec()
        }))
    }

    /// The discrepancy score of AIT of every design.
    pub(super) fn discrepancies(&self, round: u64, designs: &[Intervention]) -> Vec<f64> {
        let draws = self.ensemble.draws().len();
        let of_draws = ordered_map_indices(draws, |i| {
            let bases = self.bases(round, i);
            let base = &bases[0];
            let before: Vec<(f64, f64)> = base.columns.iter().map(|column| moments(column)).collect();
            let mut scratch = self.scratch();
            let of_design = |design: &Intervention| {
                let changed = self.outcomes(base, i, design, &mut scratch);
                let mut after = before.clone();
                for node in &changed {
                    after[node] = moments(&scratch.columns[node]);
                }
                after
            };
            designs.iter().map(of_design).collect::<Vec<_>>()
        });
        let score = |k: usize| {
            let of_design: Vec<Vec<(f64, f64)>> = of_draws.iter().map(|of_draw| of_draw[k].clone()).collect();
            discrepancy(&of_design, self.ensemble.weights())
        };
        (0..designs.len()).map(score).collect()
    }

    /// Mean and standard deviation of every variable when it is only observed, under the belief.
    pub(super) fn marginals(&self) -> Vec<(f64, f64)> {
        let of_draws = ordered_map_indices(self.ensemble.draws().len(), |i| {
            let base = self.base(0, 0, i);
            base.columns.iter().map(|column| moments(column)).collect::<Vec<_>>()
        });
        let n = self.samples as f64;
        let marginal = |node: Node| {
            let weighted = || of_draws.iter().zip(self.ensemble.weights());
            let mean: f64 = weighted().map(|(m, w)| w * m[node].0).sum();
            let square: f64 = weighted().map(|(m, w)| w * (m[node].1 / n + (m[node].0 - mean).powi(2))).sum();
            (mean, square.sqrt())
        };
        (0..self.variants.len()).map(marginal).collect()
    }

    fn scratch(&self) -> Scratch {
        let (d, m) = (self.variants.len(), self.samples);
        Scratch {
            columns: vec![vec![0.0; m]; d],
            difference: vec![0.0; m],
            means: vec![0.0; m],
            densities: vec![0.0; self.ensemble.draws().len() * m],
        }
    }

    fn bases(&self, round: u64, i: usize) -> Vec<Base> {
        (0..self.replicates as u64).map(|replicate| self.base(round, replicate, i)).collect()
    }

    fn base(&self, round: u64, replicate: u64, i: usize) -> Base {
        let (scm, m) = (&self.ensemble.draws()[i], self.samples);
        let d = self.variants.len();
        let stream = self.stream.at(round).at(replicate).at(i as u64);
        let mut noise = vec![vec![0.0; m]; d];
        let mut columns = vec![vec![0.0; m]; d];
        for &node in &self.order[i] {
            stream.named(&scm.names()[node]).fill_normal(&mut noise[node]);
            let sd = scm.noise_sd()[node];
            noise[node].iter_mut().for_each(|z| *z *= sd);
            let mut column = std::mem::take(&mut columns[node]);
            scm.means(node, &columns, &mut column);
            add(&mut column, &noise[node]);
            columns[node] = column;
        }
        let mut totals = vec![0.0; self.ensemble.draws().len() * m];
        let mut means = Vec::with_capacity(d);
        let mut term = vec![0.0; m];
        for (node, variants) in self.variants.iter().enumerate() {
            let mut of_node = vec![0.0; variants.of.len() * m];
            for (v, (draw, _)) in variants.of.iter().enumerate() {
                let scm = &self.ensemble.draws()[*draw];
                let mean = &mut of_node[v * m..(v + 1) * m];
                scm.means(node, &columns, mean);
                term.fill(0.0);
                add_term(&mut term, &columns[node], mean, scm.noise_sd()[node], 1.0);
                variants.add_to_draws(v, &term, &mut totals);
            }
            means.push(of_node);
        }
        Base { columns, noise, means, totals }
    }

    /// Fills `scratch.columns` with the outcomes of the design for the nodes that it changes, which it returns.
    fn outcomes(&self, base: &Base, i: usize, design: &Intervention, scratch: &mut Scratch) -> NodeSet {
        let scm = &self.ensemble.draws()[i];
        let mut changed = design.targets(self.variants.len());
        for &(target, _) in design.settings() {
            changed.union_with(&self.descendants[i][target]);
        }
        for &node in self.order[i].iter().filter(|&&node| changed.contains(node)) {
            let mut column = std::mem::take(&mut scratch.columns[node]);
            match design.value(node) {
                Some(value) => column.fill(value),
                None => {
                    let view = View { base: &base.columns, changed: &scratch.columns, which: &changed };
                    view.means(scm, node, &mut column);
                    add(&mut column, &base.noise[node]);
                }
            }
            scratch.columns[node] = column;
        }
        changed
    }

    /// `[draws][outcomes]` log-densities of the outcomes of the design in draw `i`, all replicates together.
    fn densities_with<'s>(
        &self,
        bases: &[Base],
        i: usize,
        design: &Intervention,
        decided: Option<&Accumulated>,
        scratch: &'s mut Scratch,
    ) -> &'s [f64] {
        match decided {
            Some(decided) => scratch.densities.copy_from_slice(&decided.0[i]),
            None => scratch.densities.fill(0.0),
        }
        for base in bases {
            self.add_densities(base, i, design, scratch);
        }
        &scratch.densities
    }

    fn add_densities(&self, base: &Base, i: usize, design: &Intervention, scratch: &mut Scratch) {
        let m = self.samples;
        add(&mut scratch.densities, &base.totals);
        let changed = self.outcomes(base, i, design, scratch);
        for (node, variants) in self.variants.iter().enumerate() {
            let moved = changed.contains(node);
            let target = design.value(node).is_some();
            for (v, (draw, parents)) in variants.of.iter().enumerate() {
                let new_mean = parents.intersects(&changed);
                if !moved && !new_mean {
                    continue;
                }
                let scm = &self.ensemble.draws()[*draw];
                let sd = scm.noise_sd()[node];
                let mean = &base.means[node][v * m..(v + 1) * m];
                scratch.difference.fill(0.0);
                add_term(&mut scratch.difference, &base.columns[node], mean, sd, -1.0);
                if !target {
                    let column = if moved { &scratch.columns[node] } else { &base.columns[node] };
                    if new_mean {
                        let view = View { base: &base.columns, changed: &scratch.columns, which: &changed };
                        view.means(scm, node, &mut scratch.means);
                        add_term(&mut scratch.difference, column, &scratch.means, sd, 1.0);
                    } else {
                        add_term(&mut scratch.difference, column, mean, sd, 1.0);
                    }
                }
                variants.add_to_draws(v, &scratch.difference, &mut scratch.densities);
            }
        }
    }
}

impl Variants {
    fn new(draws: &[Scm], node: Node) -> Self {
        let mut known: HashMap<(NodeSet, u64, Vec<u64>), usize> = HashMap::new();
        let (mut of, mut variant) = (Vec::new(), Vec::with_capacity(draws.len()));
        for (l, draw) in draws.iter().enumerate() {
            let parents = draw.dag().parents(node).clone();
            // The kind of mechanism shows in its number of parameters together with its parents.
            let mechanism = draw.mechanism(node).parameters().map(f64::to_bits).collect();
            let key = (parents.clone(), draw.noise_sd()[node].to_bits(), mechanism);
            let number = *known.entry(key).or_insert_with(|| {
                of.push((l, parents));
                of.len() - 1
            });
            variant.push(number);
        }
        Self { of, variant }
    }

    /// Adds the term of variant `v` to all draws that have it; `sums` is [draws][outcomes].
    fn add_to_draws(&self, v: usize, term: &[f64], sums: &mut [f64]) {
        for (l, sums) in sums.chunks_exact_mut(term.len()).enumerate() {
            if self.variant[l] == v {
                add(sums, term);
            }
        }
    }
}

/// The columns of a draw under a design: changed ones where the design changes them, base ones elsewhere.
struct View<'a> {
    base: &'a [Vec<f64>],
    changed: &'a [Vec<f64>],
    which: &'a NodeSet,
}

impl View<'_> {
    fn means(&self, scm: &Scm, node: Node, out: &mut [f64]) {
        let parents = scm.dag().parents(node).iter();
        let columns =
            parents.map(|p| if self.which.contains(p) { &self.changed[p][..] } else { &self.base[p][..] });
        scm.means_of(node, columns, out);
    }
}

/// sums += sign * log N(x; mean, sd²).
fn add_term(sums: &mut [f64], x: &[f64], mean: &[f64], sd: f64, sign: f64) {
    let constant = sign * (-sd.ln() - 0.5 * std::f64::consts::TAU.ln());
    let scale = -0.5 * sign / (sd * sd);
    for ((sum, x), mean) in sums.iter_mut().zip(x).zip(mean) {
        let difference = x - mean;
        *sum += constant + scale * difference * difference;
    }
}

fn add(sums: &mut [f64], terms: &[f64]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
}

/// Mean and sum of squared deviations.
fn moments(column: &[f64]) -> (f64, f64) {
    let mean = column.iter().sum::<f64>() / column.len() as f64;
    (mean, column.iter().map(|x| (x - mean).powi(2)).sum())
}
