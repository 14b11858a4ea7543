//! Utilities about the structure, parameters integrated out: information about the graph, or the expected loss of its
//! edges or of ancestor relations.

use super::{Evaluator, Judged};
use crate::belief::GraphBelief;
use crate::design::designer::Designer;
use crate::design::features::{Features, Kind};
use crate::design::goal::Goal;
use crate::design::information::Information;
use crate::design::paths::Paths;
use crate::design::strategy::Utility;
use crate::design::work::Work;
use crate::num::elementwise::exp_in_place;
use crate::num::random::Stream;
use crate::num::{NEGLIGIBLE, sum_in_order};
use crate::observer::Stopped;
use crate::scm::Intervention;

/// What is known about the graph: bounded below by 0, and smaller the more is known.
enum Loss {
    /// Entropy of the graph, or of the answer to a question about it, by the group of graphs with the same answer.
    Entropy(Vec<Vec<u32>>),
    /// Expected squared error of features.
    Features(Features),
}

pub(super) struct Structure<'a> {
    belief: &'a GraphBelief,
    log_weights: Vec<f64>,
    loss: Loss,
    /// Before anything is known beyond the data.
    loss_now: f64,
    replicates: usize,
    /// Paths at the beginning, after the pending outcomes.
    start: Paths<'a>,
    pending_worth: f64,
    /// Paths after everything that is chosen.
    chosen: Paths<'a>,
    round: Stream,
    stream: Stream,
    work: &'a Work<'a>,
}

impl<'a> Structure<'a> {
    pub(super) fn new(
        utility: Utility,
        designer: &Designer,
        belief: &'a GraphBelief,
        pending: &[Intervention],
        stream: Stream,
        work: &'a Work<'a>,
    ) -> Result<Self, Stopped> {
        let loss = match utility {
            Utility::Edges => Loss::Features(Features::new(belief, Kind::Edges, designer.goal)),
            Utility::Ancestors => Loss::Features(Features::new(belief, Kind::Ancestors, designer.goal)),
            _ => Loss::Entropy(groups(belief, designer.goal)),
        };
        let start = Paths::new(belief, designer.samples, stream.named("paths"));
        let mut new = Self {
            log_weights: belief.weights().iter().map(|weight| weight.ln()).collect(),
            loss,
            loss_now: 0.0,
            replicates: designer.replicates,
            chosen: start.clone(),
            start,
            pending_worth: 0.0,
            round: stream,
            stream,
            work,
            belief,
        };
        new.loss_now = new.losses(belief.weights(), 1)[0];
        for (k, design) in pending.iter().enumerate() {
            new.start = new.start.after(design, 1, stream.named("pending").at(k as u64), work)?;
        }
        new.chosen = new.start.clone();
        new.pending_worth = new.worth_of(&new.start).nats;
        Ok(new)
    }

    /// Losses under each of `count` sets of weights, `weights[graph][set]`.
    fn losses(&self, weights: &[f64], count: usize) -> Vec<f64> {
        match &self.loss {
            Loss::Features(features) => features.losses(weights, count),
            Loss::Entropy(groups) => {
                let mut losses = vec![0.0; count];
                for group in groups {
                    for (set, loss) in losses.iter_mut().enumerate() {
                        let p: f64 = group.iter().map(|&graph| weights[graph as usize * count + set]).sum();
                        *loss -= if p > 0.0 { p * p.ln() } else { 0.0 };
                    }
                }
                losses
            }
        }
    }

    /// The losses after outcomes with these log-densities, `[graph][design]`.
    fn losses_after(&self, mut densities: Vec<f64>) -> Vec<f64> {
        let count = densities.len() / self.log_weights.len();
        let mut largest = vec![f64::NEG_INFINITY; count];
        for (row, log_weight) in densities.chunks_exact_mut(count).zip(&self.log_weights) {
            for (x, largest) in row.iter_mut().zip(&mut largest) {
                *x += log_weight;
                *largest = if *x > *largest { *x } else { *largest };
            }
        }
        let mut sums = vec![0.0; count];
        for row in densities.chunks_exact_mut(count) {
            row.iter_mut().zip(&largest).for_each(|(x, largest)| *x = (*x - largest).max(NEGLIGIBLE));
            exp_in_place(row);
            sums.iter_mut().zip(&*row).for_each(|(sum, x)| *sum += x);
        }
        for row in densities.chunks_exact_mut(count) {
            row.iter_mut().zip(&sums).for_each(|(x, sum)| *x /= sum);
        }
        self.losses(&densities, count)
    }

    /// By how much the paths' rows reduce the loss.
    fn worth_of(&self, paths: &Paths<'a>) -> Information {
        let losses: Vec<f64> =
            paths.list.iter().map(|path| self.losses_after(path.log_densities.clone())[0]).collect();
        self.worth(&losses)
    }

    /// Mean reduction of the loss over paths, and its standard error.
    fn worth(&self, losses: &[f64]) -> Information {
        let n = losses.len() as f64;
        let mean = sum_in_order(losses) / n;
        let squares: f64 = losses.iter().map(|loss| (loss - mean).powi(2)).sum();
        Information { nats: self.loss_now - mean, standard_error: (squares / (n - 1.0).max(1.0) / n).sqrt() }
    }
}

impl Evaluator for Structure<'_> {
    fn marginals(&self) -> Result<Vec<(f64, f64)>, Stopped> {
        let rows = self.start.observed(self.stream.named("observed"));
        let n = rows.len() as f64;
        let marginal = |node: usize| {
            let mean = rows.iter().map(|row| row[node]).sum::<f64>() / n;
            let square = rows.iter().map(|row| (row[node] - mean).powi(2)).sum::<f64>() / n;
            (mean, square.sqrt())
        };
        Ok((0..self.belief.names().len()).map(marginal).collect())
    }

    fn most(&self) -> f64 {
        self.loss_now
    }

    fn pending_worth(&self) -> f64 {
        self.pending_worth
    }

    fn start_round(&mut self, round: u64) -> Result<(), Stopped> {
        self.round = self.stream.named("outcomes").at(round);
        Ok(())
    }

    fn evaluate(&self, candidates: &[Intervention]) -> Result<Vec<Information>, Stopped> {
        // [path][candidate]
        let losses =
            self.chosen.with_designs(candidates, self.replicates, self.round, self.work, |densities| {
                self.losses_after(densities)
            })?;
        let of = |k: usize| self.worth(&losses.iter().map(|of_path| of_path[k]).collect::<Vec<_>>());
        Ok((0..candidates.len()).map(of).collect())
    }

    fn decide(&mut self, design: &Intervention) -> Result<(), Stopped> {
        self.chosen = self.chosen.after(design, self.replicates, self.round, self.work)?;
        Ok(())
    }

    fn judge(&self, batch: &[Intervention]) -> Result<Vec<Judged>, Stopped> {
        let fresh = self.stream.named("judged");
        let before = self.pending_worth;
        let beyond = |worth: Information| Information { nats: worth.nats - before, ..worth };
        let mut paths = self.start.clone();
        let mut judged = Vec::with_capacity(batch.len());
        for (k, design) in batch.iter().enumerate() {
            let noise = fresh.at(k as u64);
            let losses = self.start.with_designs(
                std::slice::from_ref(design),
                self.replicates,
                noise,
                self.work,
                |densities| self.losses_after(densities)[0],
            )?;
            let alone = beyond(self.worth(&losses));
            paths = paths.after(design, self.replicates, noise, self.work)?;
            judged.push(Judged { alone, together: beyond(self.worth_of(&paths)) });
        }
        Ok(judged)
    }
}

/// The graphs with the same answer, for every answer.
fn groups(belief: &GraphBelief, goal: Goal) -> Vec<Vec<u32>> {
    let numbers = goal.groups_of_graphs(belief.graphs());
    let mut groups = vec![Vec::new(); numbers.iter().max().map_or(0, |most| most + 1)];
    numbers.iter().enumerate().for_each(|(graph, &group)| groups[group].push(graph as u32));
    groups
}
