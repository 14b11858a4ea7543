//! What the draws expect of a design, and how well every draw explains what each of them expects.
//!
//! Everything that a design does not change is computed once a round. Under do(targets) only descendants of the
//! targets change in the generating draw; of the evaluating draws only terms change whose variable or one of whose
//! parents is among them. Draws that share a mechanism share its terms. All designs of a round see the same base
//! noise, so that designs are compared and not noise.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use multiversion::multiversion;

use super::information::{Estimator, Information, Weighting, discrepancy};
use crate::graph::{Node, NodeSet};
use crate::num::parallel::ordered_map_indices;
use crate::num::random::Stream;
use crate::scm::{Ensemble, Intervention, Mechanism, Scm};

/// Numbers of a round that are kept in memory (256 MB); beyond, they are made anew when they are needed.
const MOST_KEPT: usize = 32 << 20;

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
    /// `children[p]`: the variants (of which node, which number) that have p among their parents.
    children: Vec<Vec<(Node, usize)>>,
    /// `descendants[i][j]`: what a change of j changes in draw i.
    descendants: Vec<Vec<NodeSet>>,
    order: Vec<Vec<Node>>,
}

/// The distinct mechanisms (with parents and noise) that a node has among the draws.
struct Variants {
    /// For every variant a draw that has it, and its parents.
    of: Vec<(usize, NodeSet)>,
    /// For every variant its standard deviation and the logarithm of its density at the mean.
    noise: Vec<(f64, f64)>,
    /// For every variant the draws that have it.
    draws: Vec<Vec<usize>>,
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
        let variants: Vec<Variants> =
            (0..ensemble.names().len()).map(|node| Variants::new(draws, node)).collect();
        let mut children = vec![Vec::new(); variants.len()];
        for (node, of_node) in variants.iter().enumerate() {
            for (v, (_, parents)) in of_node.of.iter().enumerate() {
                for parent in parents {
                    children[parent].push((node, v));
                }
            }
        }
        Self {
            weighting: Weighting::new(ensemble.weights(), groups),
            samples,
            replicates,
            estimator,
            stream,
            variants,
            children,
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

    /// The noise of one round, for any number of designs; rounds are independent of each other.
    pub(super) fn round(&self, round: u64) -> Round<'_> {
        let draws = self.ensemble.draws().len();
        let variants: usize = self.variants.iter().map(|variants| variants.of.len()).sum();
        let numbers = draws * self.replicates * self.samples * (variants + draws + 2 * self.variants.len());
        let kept = (numbers < MOST_KEPT).then(|| ordered_map_indices(draws, |i| self.bases(round, i)));
        Round { evaluator: self, round, kept }
    }

    /// So many outcomes of one design on the noise of a round of which no other question will be asked: evaluated as they
    /// are, because a base that serves one design costs more than the design.
    pub(super) fn outcomes_of(&self, round: u64, design: &Intervention, replicates: usize) -> Accumulated {
        Accumulated(ordered_map_indices(self.ensemble.draws().len(), |i| {
            let mut densities = vec![0.0; self.ensemble.draws().len() * self.samples];
            for replicate in 0..replicates as u64 {
                self.add_plain_densities(round, replicate, i, design, &mut densities);
            }
            densities
        }))
    }

    fn add_plain_densities(
        &self,
        round: u64,
        replicate: u64,
        i: usize,
        design: &Intervention,
        sums: &mut [f64],
    ) {
        let m = self.samples;
        let noise = self.noise(round, replicate, i);
        let mut columns = vec![vec![0.0; m]; noise.len()];
        for &node in &self.order[i] {
            let mut column = std::mem::take(&mut columns[node]);
            match design.value(node) {
                Some(value) => column.fill(value),
                None => {
                    self.ensemble.draws()[i].means(node, &columns, &mut column);
                    add(&mut column, &noise[node]);
                }
            }
            columns[node] = column;
        }
        let (mut mean, mut term) = (vec![0.0; m], vec![0.0; m]);
        for (node, variants) in
            self.variants.iter().enumerate().filter(|(node, _)| design.value(*node).is_none())
        {
            for (v, (draw, _)) in variants.of.iter().enumerate() {
                self.ensemble.draws()[*draw].means(node, &columns, &mut mean);
                variants.add_term(v, (&columns[node], &mean), &mut term, sums);
            }
        }
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

    /// Noise times its standard deviation in draw `i`, [variables][outcomes].
    fn noise(&self, round: u64, replicate: u64, i: usize) -> Vec<Vec<f64>> {
        let scm = &self.ensemble.draws()[i];
        let stream = self.stream.at(round).at(replicate).at(i as u64);
        let of_node = |(name, sd): (&String, &f64)| {
            let mut noise = vec![0.0; self.samples];
            stream.named(name).fill_normal(&mut noise);
            noise.iter_mut().for_each(|z| *z *= sd);
            noise
        };
        scm.names().iter().zip(scm.noise_sd()).map(of_node).collect()
    }

    fn base(&self, round: u64, replicate: u64, i: usize) -> Base {
        let (scm, m) = (&self.ensemble.draws()[i], self.samples);
        let d = self.variants.len();
        let noise = self.noise(round, replicate, i);
        let mut columns = vec![vec![0.0; m]; d];
        for &node in &self.order[i] {
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
                let mean = &mut of_node[v * m..(v + 1) * m];
                self.ensemble.draws()[*draw].means(node, &columns, mean);
                variants.add_term(v, (&columns[node], mean), &mut term, &mut totals);
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
        add(&mut scratch.densities, &base.totals);
        let changed = self.outcomes(base, i, design, scratch);
        for node in &changed {
            for v in 0..self.variants[node].of.len() {
                self.add_change(base, node, v, design, &changed, scratch);
            }
        }
        for parent in &changed {
            for &(node, v) in &self.children[parent] {
                // With several changed parents the first one speaks for all.
                let first = self.variants[node].of[v].1.intersection(&changed).first();
                if !changed.contains(node) && first == Some(parent) {
                    self.add_change(base, node, v, design, &changed, scratch);
                }
            }
        }
    }

    /// Adds what a design changes in the term of a variant to the log-densities of the draws that have it.
    fn add_change(
        &self,
        base: &Base,
        node: Node,
        v: usize,
        design: &Intervention,
        changed: &NodeSet,
        scratch: &mut Scratch,
    ) {
        let m = self.samples;
        let (draw, parents) = &self.variants[node].of[v];
        let scm = &self.ensemble.draws()[*draw];
        let (sd, peak) = self.variants[node].noise[v];
        let mean = &base.means[node][v * m..(v + 1) * m];
        let before = &base.columns[node];
        if design.value(node).is_some() {
            scratch.difference.fill(-peak);
            add_squares(&mut scratch.difference, before, mean, 0.5 / (sd * sd));
        } else {
            let after = if changed.contains(node) { &scratch.columns[node] } else { before };
            if parents.intersects(changed) {
                let view = View { base: &base.columns, changed: &scratch.columns, which: changed };
                view.means(scm, node, &mut scratch.means);
                difference_of_terms(&mut scratch.difference, (before, mean), (after, &scratch.means), sd);
            } else {
                difference_of_terms(&mut scratch.difference, (before, mean), (after, mean), sd);
            }
        }
        self.variants[node].add_to_draws(v, &scratch.difference, &mut scratch.densities);
    }
}

/// Designs of one round see the same base noise.
pub(super) struct Round<'e> {
    evaluator: &'e Evaluator<'e>,
    round: u64,
    /// What does not depend on the design, `[i]`; made anew for every question where it is too large to keep.
    kept: Option<Vec<Vec<Base>>>,
}

impl Round<'_> {
    /// Information of every design, each together with what is already decided on, if anything is.
    pub(super) fn information(
        &self,
        designs: &[Intervention],
        decided: Option<&Accumulated>,
    ) -> Vec<Information> {
        let Evaluator { weighting, samples, estimator, .. } = self.evaluator;
        // [i][design]
        let of_draws = self.for_each_draw(|i, bases, scratch| {
            let of_design = |design: &Intervention| {
                let densities = self.evaluator.densities_with(bases, i, design, decided, scratch);
                weighting.of_draw(i, densities, *samples, *estimator)
            };
            designs.iter().map(of_design).collect::<Vec<_>>()
        });
        let total = |k: usize| {
            let of_design: Vec<(f64, f64)> = of_draws.iter().map(|of_draw| of_draw[k]).collect();
            weighting.total(&of_design, *samples)
        };
        (0..designs.len()).map(total).collect()
    }

    /// Decides on a design: the log-densities of its outcomes, added to those of what was decided on before.
    pub(super) fn decide(&self, design: &Intervention, decided: Option<&Accumulated>) -> Accumulated {
        Accumulated(self.for_each_draw(|i, bases, scratch| {
            self.evaluator.densities_with(bases, i, design, decided, scratch).to_vec()
        }))
    }

    /// The discrepancy score of AIT of every design.
    pub(super) fn discrepancies(&self, designs: &[Intervention]) -> Vec<f64> {
        let of_draws = self.for_each_draw(|i, bases, scratch| {
            let base = &bases[0];
            let before: Vec<(f64, f64)> = base.columns.iter().map(|column| moments(column)).collect();
            let of_design = |design: &Intervention| {
                let changed = self.evaluator.outcomes(base, i, design, scratch);
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
            discrepancy(&of_design, self.evaluator.ensemble.weights())
        };
        (0..designs.len()).map(score).collect()
    }

    /// `work` for every generating draw, in parallel; results in the order of the draws.
    fn for_each_draw<R: Send>(
        &self,
        work: impl Fn(usize, &[Base], &mut Scratch) -> R + Sync + Send,
    ) -> Vec<R> {
        ordered_map_indices(self.evaluator.ensemble.draws().len(), |i| {
            let mut scratch = self.evaluator.scratch();
            match &self.kept {
                Some(kept) => work(i, &kept[i], &mut scratch),
                None => work(i, &self.evaluator.bases(self.round, i), &mut scratch),
            }
        })
    }
}

impl Accumulated {
    /// Information of what is decided on.
    pub(super) fn information(&self, evaluator: &Evaluator<'_>) -> Information {
        let Evaluator { weighting, samples, estimator, .. } = evaluator;
        let of_draw = |i: usize| weighting.of_draw(i, &self.0[i], *samples, *estimator);
        weighting.total(&ordered_map_indices(self.0.len(), of_draw), *samples)
    }

    /// Information of what is decided on, beyond that of the part of it that is decided on in `before`.
    pub(super) fn information_beyond(
        &self,
        before: Option<&Accumulated>,
        evaluator: &Evaluator<'_>,
    ) -> Information {
        let Some(before) = before else { return self.information(evaluator) };
        let Evaluator { weighting, samples, estimator, .. } = evaluator;
        let of_draw = |i: usize| weighting.of_draw_beyond(i, &self.0[i], &before.0[i], *samples, *estimator);
        weighting.total(&ordered_map_indices(self.0.len(), of_draw), *samples)
    }

    /// What is decided on here and there.
    pub(super) fn with(mut self, other: Option<&Accumulated>) -> Accumulated {
        for (mine, theirs) in self.0.iter_mut().zip(other.iter().flat_map(|other| &other.0)) {
            add(mine, theirs);
        }
        self
    }
}

impl Variants {
    fn new(draws: &[Scm], node: Node) -> Self {
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
    fn add_term(&self, v: usize, (x, mean): (&[f64], &[f64]), term: &mut [f64], sums: &mut [f64]) {
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
    fn add_to_draws(&self, v: usize, term: &[f64], sums: &mut [f64]) {
        for &l in &self.draws[v] {
            add(&mut sums[l * term.len()..(l + 1) * term.len()], term);
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

/// out = log N(x'; mean', sd²) - log N(x; mean, sd²), of (x, mean) before and after.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn difference_of_terms(out: &mut [f64], before: (&[f64], &[f64]), after: (&[f64], &[f64]), sd: f64) {
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
fn add_squares(sums: &mut [f64], x: &[f64], mean: &[f64], scale: f64) {
    add_term(sums, x, mean, 0.0, scale);
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
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
