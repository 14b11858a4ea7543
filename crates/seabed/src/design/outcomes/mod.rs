//! What the draws of an ensemble expect of a design, and how well every draw explains what each of them expects.
//!
//! Outcomes are simulated from addressed noise. A design on noise of its own is evaluated here as it is; many designs
//! on the same noise share what none of them changes, in `round`. Densities are those of `variants`.

mod round;
mod variants;

pub(super) use round::{Moments, Round};
use variants::{Variants, add};

use super::work::Work;
use crate::graph::{Node, NodeSet};
use crate::num::parallel::ordered_map_indices;
use crate::num::random::Stream;
use crate::observer::Stopped;
use crate::scm::{Ensemble, Intervention};

/// Simulates outcomes of the draws of an ensemble.
pub(super) struct Outcomes<'a> {
    ensemble: &'a Ensemble,
    /// Outcomes of each generating draw.
    samples: usize,
    /// Independent outcomes of each design: how often an experiment is repeated.
    replicates: usize,
    /// Rows that the evaluation of a design counts for: fewer where fewer outcomes are simulated than for one row.
    counted: usize,
    stream: Stream,
    work: &'a Work<'a>,
    /// The distinct mechanisms of every node.
    variants: Vec<Variants>,
    /// `children[p]`: the families of variants (of which node, which number) that have p among their parents.
    children: Vec<Vec<(Node, usize)>>,
    /// `descendants[i][j]`: what a change of j changes in draw i.
    descendants: Vec<Vec<NodeSet>>,
    order: Vec<Vec<Node>>,
}

/// Log-densities of outcomes: `[i]` holds [evaluating draws][outcomes] for the outcomes of generating draw i.
#[derive(Clone)]
pub(super) struct LogDensities(pub(super) Vec<Vec<f64>>);

impl LogDensities {
    /// Those of both sets of outcomes together.
    pub(super) fn with(mut self, other: Option<&Self>) -> Self {
        for (mine, theirs) in self.0.iter_mut().zip(other.iter().flat_map(|other| &other.0)) {
            add(mine, theirs);
        }
        self
    }
}

impl LogDensities {
    /// Those of the first outcomes of every draw: `fewer` of `all`.
    pub(super) fn first(&self, fewer: usize, all: usize) -> Self {
        let of_draw =
            |densities: &Vec<f64>| densities.chunks(all).flat_map(|of| &of[..fewer]).copied().collect();
        Self(self.0.iter().map(of_draw).collect())
    }
}

impl<'a> Outcomes<'a> {
    /// `samples` outcomes of each draw, for designs that are carried out `replicates` times.
    pub(super) fn new(
        ensemble: &'a Ensemble,
        samples: usize,
        replicates: usize,
        stream: Stream,
        work: &'a Work<'a>,
    ) -> Self {
        let draws = ensemble.draws();
        let variants: Vec<Variants> =
            (0..ensemble.names().len()).map(|node| Variants::new(draws, node)).collect();
        let mut children = vec![Vec::new(); variants.len()];
        for (node, of_node) in variants.iter().enumerate() {
            for (number, family) in of_node.families.iter().enumerate() {
                for parent in &family.parents {
                    children[parent].push((node, number));
                }
            }
        }
        Self {
            samples,
            replicates,
            counted: replicates,
            stream,
            work,
            variants,
            children,
            descendants: draws.iter().map(|draw| draw.dag().all_descendants()).collect(),
            order: draws.iter().map(|draw| draw.dag().topological_order()).collect(),
            ensemble,
        }
    }

    /// As these, with fewer outcomes of each draw.
    pub(super) fn with_fewer(&self, samples: usize) -> Self {
        let counted = (self.replicates * samples / self.samples).max(1);
        let fewer = Self::new(self.ensemble, samples, self.replicates, self.stream, self.work);
        Self { counted, ..fewer }
    }

    pub(super) fn ensemble(&self) -> &'a Ensemble {
        self.ensemble
    }

    pub(super) fn samples(&self) -> usize {
        self.samples
    }

    /// `f` of every draw, in parallel and in order, unless the work is to stop.
    pub(super) fn map_draws<R: Send>(
        &self,
        f: impl Fn(usize) -> Result<R, Stopped> + Sync + Send,
    ) -> Result<Vec<R>, Stopped> {
        let of_draw = |i| {
            self.work.check_stop()?;
            f(i)
        };
        ordered_map_indices(self.ensemble.draws().len(), of_draw).into_iter().collect()
    }

    /// Outcomes of one design on the noise of a round that is used for nothing else: evaluated as they
    /// are, because what designs could share costs more than one design.
    pub(super) fn densities_of(
        &self,
        round: u64,
        design: &Intervention,
        replicates: usize,
    ) -> Result<LogDensities, Stopped> {
        let of_draw = |i: usize| {
            let mut densities = vec![0.0; self.ensemble.draws().len() * self.samples];
            for replicate in 0..replicates as u64 {
                self.add_densities_of(round, replicate, i, design, &mut densities)?;
            }
            self.work.looked_at(replicates, 0).map(|()| densities)
        };
        self.map_draws(of_draw).map(LogDensities)
    }

    fn add_densities_of(
        &self,
        round: u64,
        replicate: u64,
        i: usize,
        design: &Intervention,
        sums: &mut [f64],
    ) -> Result<(), Stopped> {
        let columns = self.simulated(i, design, &self.noise(round, replicate, i));
        for node in (0..self.variants.len()).filter(|&node| design.value(node).is_none()) {
            self.add_terms(node, &columns, sums)?;
        }
        Ok(())
    }

    /// Adds the terms of a node to the log-densities of all draws, [draws][outcomes], and returns the means of all its
    /// variants, [variants][outcomes].
    fn add_terms(&self, node: Node, columns: &[Vec<f64>], sums: &mut [f64]) -> Result<Vec<f64>, Stopped> {
        let (variants, m) = (&self.variants[node], self.samples);
        let mut means = vec![0.0; variants.of.len() * m];
        let (mut term, mut memory) = (vec![0.0; m], Vec::new());
        for family in &variants.families {
            let which = family.variants.clone();
            let parents = family.parents.iter().map(|parent| &columns[parent][..]);
            let out = &mut means[which.start * m..which.end * m];
            variants.means(family, (self.ensemble.draws(), node), parents, &mut memory, out);
            for (v, mean) in which.zip(out.chunks(m)) {
                variants.add_term(v, (&columns[node], mean), &mut term, sums);
            }
        }
        self.work.check_stop()?;
        Ok(means)
    }

    /// Mean and standard deviation of every variable when it is only observed, under the belief.
    pub(super) fn marginals(&self) -> Result<Vec<(f64, f64)>, Stopped> {
        let of_draws = self.map_draws(|i| {
            let columns = self.simulated(i, &Intervention::none(), &self.noise(0, 0, i));
            Ok(columns.iter().map(|column| moments(column)).collect::<Vec<_>>())
        })?;
        let n = self.samples as f64;
        let marginal = |node: Node| {
            let weighted = || of_draws.iter().zip(self.ensemble.weights());
            let mean: f64 = weighted().map(|(m, w)| w * m[node].0).sum();
            let square: f64 = weighted().map(|(m, w)| w * (m[node].1 / n + (m[node].0 - mean).powi(2))).sum();
            (mean, square.sqrt())
        };
        Ok((0..self.variants.len()).map(marginal).collect())
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

    /// Outcomes of the design in draw `i` on this noise, [variables][outcomes].
    fn simulated(&self, i: usize, design: &Intervention, noise: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut columns = vec![vec![0.0; self.samples]; noise.len()];
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
        columns
    }
}

/// Mean and sum of squared deviations.
fn moments(column: &[f64]) -> (f64, f64) {
    let mean = column.iter().sum::<f64>() / column.len() as f64;
    (mean, column.iter().map(|x| (x - mean).powi(2)).sum())
}
