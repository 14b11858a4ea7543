//! The outcomes of many designs on the same noise, which share what no design changes.
//!
//! Everything that a design does not change is computed once per round. Under do(targets) only descendants of the
//! targets change in the generating draw; of the evaluating draws only terms change whose variable or one of whose
//! parents is among them.

use super::variants::{Family, add, add_squares, difference_of_terms};
use super::{LogDensities, Outcomes, moments};
use crate::graph::{Node, NodeSet};
use crate::observer::Stopped;
use crate::scm::Intervention;

/// Numbers of a round that are kept in memory (256 MB); beyond that they are recomputed when needed.
const MOST_KEPT: usize = 32 << 20;

/// Noise that any number of designs have in common.
pub(in crate::design) struct Round {
    number: u64,
    /// What does not depend on the design, `[i]`; recomputed each time if it is too large to keep.
    kept: Option<Vec<Vec<Base>>>,
}

/// Mean and sum of squared deviations of every variable.
pub(in crate::design) type Moments = Vec<(f64, f64)>;

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
    /// Means of a family of variants, [variants][outcomes].
    means: Vec<f64>,
    features: Vec<f64>,
    densities: Vec<f64>,
}

impl Round {
    /// The noise with this number; rounds of different numbers are independent.
    pub(in crate::design) fn new(number: u64, outcomes: &Outcomes<'_>) -> Result<Self, Stopped> {
        let draws = outcomes.ensemble.draws().len();
        let variants: usize = outcomes.variants.iter().map(|variants| variants.of.len()).sum();
        let of_outcome = variants + draws + 2 * outcomes.variants.len();
        let numbers = draws * outcomes.replicates * outcomes.samples * of_outcome;
        let kept =
            if numbers < MOST_KEPT { Some(outcomes.map_draws(|i| outcomes.bases(number, i))?) } else { None };
        Ok(Self { number, kept })
    }

    /// What `ask` makes of the log-densities of every design, each together with what is already decided on, if
    /// anything is: `[i][design]` = `ask(i, densities)`, where `densities` is [evaluating draws][outcomes] for the
    /// outcomes of generating draw i.
    pub(in crate::design) fn ask_densities<R: Send>(
        &self,
        outcomes: &Outcomes<'_>,
        designs: &[Intervention],
        decided: Option<&LogDensities>,
        ask: impl Fn(usize, &[f64]) -> R + Sync,
    ) -> Result<Vec<Vec<R>>, Stopped> {
        self.map_draws(outcomes, |i, bases, scratch| {
            let mut of_design = |design: &Intervention| {
                let answer = ask(i, outcomes.densities_with(bases, i, design, decided, scratch));
                outcomes.work.looked_at(outcomes.counted, 0).map(|()| answer)
            };
            designs.iter().map(&mut of_design).collect()
        })
    }

    /// The moments of every design: `[i][design]`, over the outcomes of generating draw i.
    pub(in crate::design) fn moments(
        &self,
        outcomes: &Outcomes<'_>,
        designs: &[Intervention],
    ) -> Result<Vec<Vec<Moments>>, Stopped> {
        self.map_draws(outcomes, |i, bases, scratch| {
            let base = &bases[0];
            let before: Moments = base.columns.iter().map(|column| moments(column)).collect();
            let of_design = |design: &Intervention| {
                let changed = outcomes.changed(base, i, design, scratch);
                let mut after = before.clone();
                for node in &changed {
                    after[node] = moments(&scratch.columns[node]);
                }
                outcomes.work.check_stop().map(|()| after)
            };
            designs.iter().map(of_design).collect()
        })
    }

    /// `work` for every generating draw, in parallel; results in the order of the draws.
    fn map_draws<R: Send>(
        &self,
        outcomes: &Outcomes<'_>,
        work: impl Fn(usize, &[Base], &mut Scratch) -> Result<R, Stopped> + Sync + Send,
    ) -> Result<Vec<R>, Stopped> {
        outcomes.map_draws(|i| {
            let mut scratch = outcomes.scratch();
            match &self.kept {
                Some(kept) => work(i, &kept[i], &mut scratch),
                None => work(i, &outcomes.bases(self.number, i)?, &mut scratch),
            }
        })
    }
}

impl Outcomes<'_> {
    fn scratch(&self) -> Scratch {
        let (d, m) = (self.variants.len(), self.samples);
        Scratch {
            columns: vec![vec![0.0; m]; d],
            difference: vec![0.0; m],
            means: Vec::new(),
            features: Vec::new(),
            densities: vec![0.0; self.ensemble.draws().len() * m],
        }
    }

    fn bases(&self, round: u64, i: usize) -> Result<Vec<Base>, Stopped> {
        (0..self.replicates as u64).map(|replicate| self.base(round, replicate, i)).collect()
    }

    fn base(&self, round: u64, replicate: u64, i: usize) -> Result<Base, Stopped> {
        let m = self.samples;
        let noise = self.noise(round, replicate, i);
        let columns = self.simulated(i, &Intervention::none(), &noise);
        let mut totals = vec![0.0; self.ensemble.draws().len() * m];
        let of_node = |node| self.add_terms(node, &columns, &mut totals);
        let means = (0..self.variants.len()).map(of_node).collect::<Result<_, _>>()?;
        Ok(Base { columns, noise, means, totals })
    }

    /// Fills `scratch.columns` with the outcomes of the design for the nodes that it changes, which it returns.
    fn changed(&self, base: &Base, i: usize, design: &Intervention, scratch: &mut Scratch) -> NodeSet {
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
                    let parents = scm.dag().parents(node).iter().map(|parent| view.column(parent));
                    scm.means_of(node, parents, &mut column);
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
        decided: Option<&LogDensities>,
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
        let changed = self.changed(base, i, design, scratch);
        for node in &changed {
            for family in &self.variants[node].families {
                self.add_change(base, node, family, design, &changed, scratch);
            }
        }
        for parent in &changed {
            for &(node, number) in &self.children[parent] {
                // With several changed parents only the first one counts, so that no term is added twice.
                let family = &self.variants[node].families[number];
                let first = family.parents.intersection(&changed).first();
                if !changed.contains(node) && first == Some(parent) {
                    self.add_change(base, node, family, design, &changed, scratch);
                }
            }
        }
    }

    /// Adds what a design changes in the terms of a family of variants to the log-densities of the draws that have them.
    fn add_change(
        &self,
        base: &Base,
        node: Node,
        family: &Family,
        design: &Intervention,
        changed: &NodeSet,
        scratch: &mut Scratch,
    ) {
        let (m, variants) = (self.samples, &self.variants[node]);
        let before = &base.columns[node];
        let (cut, moved) = (design.value(node).is_some(), family.parents.intersects(changed));
        if moved && !cut {
            let view = View { base: &base.columns, changed: &scratch.columns, which: changed };
            let parents = family.parents.iter().map(|parent| view.column(parent));
            scratch.means.resize(family.variants.len() * m, 0.0);
            let draws = self.ensemble.draws();
            variants.means(family, (draws, node), parents, &mut scratch.features, &mut scratch.means);
        }
        for (k, v) in family.variants.clone().enumerate() {
            let (sd, peak) = variants.noise[v];
            let mean = &base.means[node][v * m..(v + 1) * m];
            if cut {
                scratch.difference.fill(-peak);
                add_squares(&mut scratch.difference, before, mean, 0.5 / (sd * sd));
            } else {
                let after = if changed.contains(node) { &scratch.columns[node] } else { before };
                let mean_after = if moved { &scratch.means[k * m..(k + 1) * m] } else { mean };
                difference_of_terms(&mut scratch.difference, (before, mean), (after, mean_after), sd);
            }
            variants.add_to_draws(v, &scratch.difference, &mut scratch.densities);
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
    fn column(&self, node: Node) -> &[f64] {
        if self.which.contains(node) { &self.changed[node] } else { &self.base[node] }
    }
}
