//! The search for a batch: candidates are evaluated once or again for every choice, and picked within the constraints.
//!
//! What the strategies are, and what a batch is, stands in `batch`.

use super::batch::{Designer, Evaluated, Pending, Strategy};
use super::constraints::{Constraints, Levels};
use super::outcomes::{Accumulated, Evaluator, Round};
use super::value::Values;
use crate::graph::Node;
use crate::num::random::{Draws, Stream};
use crate::scm::Intervention;

/// Singles that sets of several targets are built from.
const BEST_SINGLES: usize = 5;

pub(super) struct Search<'a> {
    pub(super) designer: &'a Designer,
    pub(super) evaluator: &'a Evaluator<'a>,
    pub(super) constraints: &'a Constraints,
    pub(super) pending: &'a Pending,
    /// Mean and standard deviation of every variable when it is only observed; read by `Values::Sample` alone.
    pub(super) marginals: Vec<(f64, f64)>,
    pub(super) stream: Stream,
}

impl Search<'_> {
    /// One design after the other, each the best together with those before it, for its cost.
    pub(super) fn greedy(&self) -> (Vec<Intervention>, Vec<Evaluated>) {
        let mut batch: Vec<Intervention> = Vec::new();
        let mut decided: Option<Accumulated> = self.pending.decided.clone();
        let (mut known, mut first) = (self.pending.nats, Vec::new());
        for round in 0..self.designer.batch as u64 {
            let noise = self.evaluator.round(round);
            let table = self.table(&noise, round, decided.as_ref());
            let worth = |candidate: &&Evaluated| {
                (candidate.information.nats - known) / self.constraints.price(&candidate.design)
            };
            let admitted = table.iter().filter(|c| self.admits(&batch, &c.design));
            let best = first_largest(admitted, worth).cloned();
            if round == 0 {
                first = table;
            }
            let Some(best) = best else { break };
            known = best.information.nats;
            decided = Some(noise.decide(&best.design, decided.as_ref()));
            batch.push(best.design);
        }
        (batch, self.beyond_pending(first))
    }

    /// The table with what each candidate adds to what is pending.
    fn beyond_pending(&self, mut table: Vec<Evaluated>) -> Vec<Evaluated> {
        for candidate in &mut table {
            candidate.information.nats -= self.pending.nats;
        }
        table
    }

    /// The strategies that look at every candidate once.
    pub(super) fn by_table(&self) -> (Vec<Intervention>, Vec<Evaluated>) {
        let noise = self.evaluator.round(0);
        let table = self.beyond_pending(self.table(&noise, 0, self.pending.decided.as_ref()));
        let designs: Vec<Intervention> = table.iter().map(|candidate| candidate.design.clone()).collect();
        let score: Vec<f64> = match self.designer.strategy {
            Strategy::Ait | Strategy::SoftAit => noise.discrepancies(&designs),
            _ => table.iter().map(|candidate| candidate.information.nats).collect(),
        };
        let worth: Vec<f64> = score
            .iter()
            .zip(&designs)
            .map(|(score, design)| score / self.constraints.price(design))
            .collect();
        let chosen = match self.designer.strategy {
            Strategy::Random => self.at_random(),
            Strategy::SoftCbed | Strategy::SoftAit => self.softly(&designs, &worth),
            _ => self.repeatedly(&designs, &worth),
        };
        (chosen, table)
    }

    /// Can the design be added, and can the rest of the batch still be filled then?
    fn admits(&self, batch: &[Intervention], design: &Intervention) -> bool {
        let room = |most: usize| {
            let all = most.saturating_mul(self.constraints.targets().count());
            let used: usize = batch.iter().chain([design]).map(|chosen| chosen.settings().len()).sum();
            all.saturating_sub(used) >= self.designer.batch - batch.len() - 1
        };
        self.constraints.max_repeats.is_none_or(room) && self.constraints.admits(batch, design)
    }

    /// The best design again and again, as far as the constraints admit it, then the next best.
    fn repeatedly(&self, designs: &[Intervention], worth: &[f64]) -> Vec<Intervention> {
        let mut batch: Vec<Intervention> = Vec::new();
        while batch.len() < self.designer.batch {
            let admitted = (0..designs.len()).filter(|&k| self.admits(&batch, &designs[k]));
            let Some(best) = first_largest(admitted, |&k| worth[k]) else { break };
            batch.push(designs[best].clone());
        }
        batch
    }

    /// Without replacement, in proportion to exp(worth / temperature): the largest after adding Gumbel noise. When all
    /// candidates are used up, they may be drawn again.
    fn softly(&self, designs: &[Intervention], worth: &[f64]) -> Vec<Intervention> {
        let mut batch: Vec<Intervention> = Vec::new();
        for pass in 0u64.. {
            let noise: Vec<f64> = designs.iter().map(|design| self.gumbel(pass, design)).collect();
            let key = |k: usize| worth[k] / self.designer.temperature + noise[k];
            let mut order: Vec<usize> = (0..designs.len()).collect();
            order.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
            let before = batch.len();
            for k in order {
                if batch.len() < self.designer.batch && self.admits(&batch, &designs[k]) {
                    batch.push(designs[k].clone());
                }
            }
            if batch.len() == before || batch.len() == self.designer.batch {
                break;
            }
        }
        batch
    }

    /// Addressed by the names and values of the design, so that the order of the variables does not matter.
    fn gumbel(&self, pass: u64, design: &Intervention) -> f64 {
        let mut settings: Vec<(&str, f64)> =
            design.settings().iter().map(|&(node, value)| (self.name(node), value)).collect();
        settings.sort_by(|a, b| a.0.cmp(b.0));
        let start = self.stream.at(pass);
        let stream = settings.into_iter().fold(start, |stream, (name, value)| {
            let bits = value.to_bits();
            stream.named(name).at(bits >> 32).at(bits & 0xFFFF_FFFF)
        });
        let mut noise = [0.0];
        stream.fill_gumbel(&mut noise);
        noise[0]
    }

    fn name(&self, node: Node) -> &str {
        &self.evaluator.names()[node]
    }

    fn at_random(&self) -> Vec<Intervention> {
        let mut targets: Vec<Node> = self.constraints.targets().collect();
        targets.sort_by(|&a, &b| self.name(a).cmp(self.name(b)));
        let mut draws = self.stream.draws();
        let mut batch: Vec<Intervention> = Vec::new();
        while batch.len() < self.designer.batch {
            // Uniform among the targets that the constraints still admit, at a value drawn for each.
            let open: Vec<Intervention> = targets
                .iter()
                .map(|&target| single(target, self.random_value(target, &mut draws)))
                .filter(|design| self.admits(&batch, design))
                .collect();
            if open.is_empty() {
                break;
            }
            let mut design = open[draws.below(open.len())].clone();
            // As many targets as a throw of the dice says, as far as the constraints admit them.
            for _ in 0..draws.below(self.constraints.max_targets) {
                let more = &open[draws.below(open.len())];
                let settings = design.settings().iter().chain(more.settings()).copied();
                match Intervention::new(settings) {
                    Ok(larger) if self.admits(&batch, &larger) => design = larger,
                    _ => {}
                }
            }
            batch.push(design);
        }
        batch
    }

    fn random_value(&self, target: Node, draws: &mut Draws) -> f64 {
        let levels = self.levels(target);
        match (&self.designer.values, levels) {
            (Values::GpUcb { .. }, Levels::Range(low, high)) => low + (high - low) * draws.uniform(),
            (Values::GpUcb { .. }, Levels::List(list)) => list[draws.below(list.len())],
            (values, levels) => {
                let tried = values.first(levels, self.marginals[target], self.designer.evaluations, draws);
                tried[draws.below(tried.len())]
            }
        }
    }

    fn levels(&self, target: Node) -> &Levels {
        &self.constraints.variables[target].as_ref().expect("a target can be set").levels
    }

    /// Every candidate with its information, together with what is decided on.
    fn table(&self, noise: &Round<'_>, round: u64, decided: Option<&Accumulated>) -> Vec<Evaluated> {
        if self.designer.strategy == Strategy::Random {
            return Vec::new();
        }
        let singles = self.singles(noise, round, decided);
        let mut table = singles.clone();
        let mut largest = singles.clone();
        for _ in 1..self.constraints.max_targets {
            largest = self.extended(&largest, &singles, noise, decided);
            table.extend(largest.iter().cloned());
        }
        table
    }

    /// One target at a time, at the values that the value strategy tries.
    fn singles(&self, noise: &Round<'_>, round: u64, decided: Option<&Accumulated>) -> Vec<Evaluated> {
        let values = match self.designer.strategy {
            // ABCD knows no values: they are fixed.
            Strategy::Abcd if !matches!(self.designer.values, Values::Fixed(_)) => &Values::Fixed(0.0),
            _ => &self.designer.values,
        };
        let evaluations = self.designer.evaluations;
        let stream = self.stream.named("values").at(round);
        let targets: Vec<Node> = self.constraints.targets().collect();
        let mut next: Vec<(Node, f64)> = targets
            .iter()
            .flat_map(|&target| {
                let mut draws = stream.named(self.name(target)).draws();
                let first =
                    values.first(self.levels(target), self.marginals[target], evaluations, &mut draws);
                first.into_iter().map(move |value| (target, value))
            })
            .collect();
        let mut table: Vec<Evaluated> = Vec::new();
        while !next.is_empty() {
            let designs: Vec<Intervention> =
                next.iter().map(|&(target, value)| single(target, value)).collect();
            let information = noise.information(&designs, decided);
            table.extend(
                designs
                    .into_iter()
                    .zip(information)
                    .map(|(design, information)| Evaluated { design, information }),
            );
            let tried = |target: Node| -> Vec<(f64, f64)> {
                let known =
                    table.iter().filter_map(|c| c.design.value(target).map(|v| (v, c.information.nats)));
                known.collect()
            };
            next = targets
                .iter()
                .filter_map(|&target| {
                    values.next(self.levels(target), &tried(target), evaluations).map(|value| (target, value))
                })
                .collect();
        }
        table
    }

    /// The best designs so far with one more target each, at that target's best value.
    fn extended(
        &self,
        designs: &[Evaluated],
        singles: &[Evaluated],
        noise: &Round<'_>,
        decided: Option<&Accumulated>,
    ) -> Vec<Evaluated> {
        // The best value of every set of targets, then the best of these.
        let mut best: Vec<&Evaluated> = Vec::new();
        for candidate in designs {
            let same = |other: &&Evaluated| {
                let targets = |e: &Evaluated| e.design.settings().iter().map(|s| s.0).collect::<Vec<_>>();
                targets(other) == targets(candidate)
            };
            match best.iter().position(same) {
                Some(k) if candidate.information.nats > best[k].information.nats => best[k] = candidate,
                Some(_) => {}
                None => best.push(candidate),
            }
        }
        best.sort_by(|a, b| b.information.nats.total_cmp(&a.information.nats));
        let mut designs: Vec<Intervention> = Vec::new();
        for start in best.into_iter().take(BEST_SINGLES) {
            for target in self.constraints.targets().filter(|&target| start.design.value(target).is_none()) {
                let of_target = singles.iter().filter(|c| c.design.value(target).is_some());
                let Some(more) = first_largest(of_target, |c| c.information.nats) else { continue };
                let settings = start.design.settings().iter().chain(more.design.settings()).copied();
                let design = Intervention::new(settings).expect("different targets with finite values");
                if !designs.contains(&design) {
                    designs.push(design);
                }
            }
        }
        let information = noise.information(&designs, decided);
        designs
            .into_iter()
            .zip(information)
            .map(|(design, information)| Evaluated { design, information })
            .collect()
    }
}

fn single(target: Node, value: f64) -> Intervention {
    Intervention::new([(target, value)]).expect("one target with a finite value")
}

/// The item with the largest value, and of equals the first.
fn first_largest<T>(items: impl Iterator<Item = T>, value: impl Fn(&T) -> f64) -> Option<T> {
    let mut best: Option<(f64, T)> = None;
    for item in items {
        let worth = value(&item);
        if best.as_ref().is_none_or(|(largest, _)| worth > *largest) {
            best = Some((worth, item));
        }
    }
    best.map(|(_, item)| item)
}
