//! Which designs together: the batch strategies.
//!
//! All strategies work on the same table of evaluated candidates and obey the same constraints; they differ in how
//! candidates are scored and picked.

use super::constraints::{ConstraintError, Constraints};
use super::goal::Goal;
use super::information::{Estimator, Information};
use super::outcomes::{Accumulated, Evaluator, Round};
use super::value::Values;
use crate::graph::Node;
use crate::num::random::{Draws, Purpose, Seed, Stream};
use crate::scm::{ByName, Ensemble, Intervention};

/// How a batch is put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// The best design, as often as the batch is large.
    Cbed,
    /// One after the other, each the best together with those before it.
    GreedyCbed,
    /// Drawn without replacement, in proportion to exp(information / temperature).
    SoftCbed,
    /// Targets and values at random.
    Random,
    /// The design with the largest discrepancy between draws, as often as the batch is large.
    Ait,
    /// Drawn by discrepancy as in `SoftCbed`.
    SoftAit,
    /// `GreedyCbed` with a fixed value.
    Abcd,
}

impl Strategy {
    /// Every strategy with its name on the command line.
    pub const ALL: [(&'static str, Self); 7] = [
        ("cbed", Self::Cbed),
        ("greedy-cbed", Self::GreedyCbed),
        ("soft-cbed", Self::SoftCbed),
        ("random", Self::Random),
        ("ait", Self::Ait),
        ("soft-ait", Self::SoftAit),
        ("abcd", Self::Abcd),
    ];
}

/// What the user may choose.
#[derive(Clone, PartialEq, Debug)]
pub struct Designer {
    /// How the batch is put together.
    pub strategy: Strategy,
    /// How values are chosen.
    pub values: Values,
    /// Number of experiments.
    pub batch: usize,
    /// How often each experiment is repeated.
    pub replicates: usize,
    /// Outcomes simulated of each draw.
    pub samples: usize,
    /// Values tried for each target.
    pub evaluations: usize,
    /// Of the soft strategies, in nats.
    pub temperature: f64,
    /// How information is estimated.
    pub estimator: Estimator,
    /// What is to be learned.
    pub goal: Goal,
}

impl Default for Designer {
    fn default() -> Self {
        Self {
            strategy: Strategy::SoftCbed,
            values: Values::gp_ucb(),
            batch: 10,
            replicates: 1,
            samples: 100,
            evaluations: 5,
            temperature: 2.0,
            estimator: Estimator::Nested,
            goal: Goal::Everything,
        }
    }
}

/// A design that was looked at.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluated {
    /// What is set, to what.
    pub design: Intervention,
    /// What it would teach on its own.
    pub information: Information,
}

/// A design of the batch.
#[derive(Clone, PartialEq, Debug)]
pub struct Chosen {
    /// What is set, to what.
    pub design: Intervention,
    /// What it teaches on its own.
    pub information: Information,
    /// What it adds to the designs before it.
    pub gain: f64,
    /// What it costs.
    pub cost: f64,
}

/// The designs to carry out, and what they are expected to teach.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// In the order of the choice.
    pub chosen: Vec<Chosen>,
    /// What all of them teach together.
    pub information: Information,
    /// What there is to learn: no batch teaches more.
    pub entropy: f64,
    /// Every design that was looked at (by the greedy strategies: before the first choice).
    pub evaluated: Vec<Evaluated>,
}

impl Batch {
    /// The batch over variables in another order: variable k becomes `to[k]`.
    fn relabelled(mut self, to: &[Node]) -> Self {
        let designs = self.chosen.iter_mut().map(|chosen| &mut chosen.design);
        for design in designs.chain(self.evaluated.iter_mut().map(|evaluated| &mut evaluated.design)) {
            let settings = design.settings().iter().map(|&(node, value)| (to[node], value));
            *design = Intervention::new(settings).expect("the same targets under other numbers");
        }
        self
    }
}

/// Why there is no batch.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum DesignError {
    /// Constraints that cannot be met.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// Numbers that make no design.
    #[error("{what} is {got}: it must be {must}")]
    Option {
        /// The option.
        what: &'static str,
        /// Its value.
        got: f64,
        /// What it must be.
        must: &'static str,
    },
}

/// Rounds from here on serve the information of the finished batch, with noise that no choice has seen.
const FINISHED: u64 = 1 << 32;

/// Singles that sets of several targets are built from.
const BEST_SINGLES: usize = 5;

impl Designer {
    /// The next batch under a belief.
    pub fn design(
        &self,
        ensemble: &Ensemble,
        constraints: &Constraints,
        seed: Seed,
    ) -> Result<Batch, DesignError> {
        self.check()?;
        constraints.check(ensemble.names(), self.batch)?;
        let stream = seed.stream(Purpose::Design);
        // Sums and ties in the order of the names: the order of the variables shows nowhere.
        let by_name = ByName::new(ensemble.names());
        let (ensemble, constraints) = (&by_name.sorted(ensemble), &constraints.reordered(&by_name.from));
        let evaluator = self.relabelled(&by_name.to).evaluator(ensemble, stream);
        let search = Search {
            designer: self,
            evaluator: &evaluator,
            constraints,
            marginals: match self.values {
                Values::Sample => evaluator.marginals(),
                _ => vec![(0.0, 1.0); ensemble.names().len()],
            },
            stream: stream.named("choice"),
        };
        let (designs, evaluated) = match self.strategy {
            Strategy::GreedyCbed | Strategy::Abcd => search.greedy(),
            _ => search.from_table(),
        };
        Ok(self.finished(&evaluator, constraints, designs, evaluated).relabelled(&by_name.from))
    }

    /// The same wishes for variables in another order.
    fn relabelled(&self, to: &[Node]) -> Self {
        Self { goal: self.goal.relabelled(to), ..self.clone() }
    }

    /// Information of designs that the user brings, each on its own.
    pub fn score(
        &self,
        ensemble: &Ensemble,
        designs: &[Intervention],
        seed: Seed,
    ) -> Result<Vec<Information>, DesignError> {
        self.check()?;
        Ok(self.evaluator(ensemble, seed.stream(Purpose::Design)).round(0).information(designs, None))
    }

    fn evaluator<'a>(&self, ensemble: &'a Ensemble, stream: Stream) -> Evaluator<'a> {
        let groups = self.goal.groups(ensemble, stream.named("goal"));
        let noise = stream.named("outcomes");
        Evaluator::new(ensemble, groups, self.samples, self.replicates, self.estimator, noise)
    }

    fn check(&self) -> Result<(), DesignError> {
        let counts = [
            ("batch", self.batch),
            ("replicates", self.replicates),
            ("samples", self.samples),
            ("evaluations", self.evaluations),
        ];
        if let Some((what, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(DesignError::Option { what, got: 0.0, must: "at least 1" });
        }
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            let got = self.temperature;
            return Err(DesignError::Option { what: "temperature", got, must: "a finite number above 0" });
        }
        Ok(())
    }

    /// What the chosen designs teach, alone and together, on fresh noise.
    fn finished(
        &self,
        evaluator: &Evaluator<'_>,
        constraints: &Constraints,
        designs: Vec<Intervention>,
        evaluated: Vec<Evaluated>,
    ) -> Batch {
        let mut decided: Option<Accumulated> = None;
        let mut together = Information { nats: 0.0, standard_error: 0.0 };
        let mut chosen = Vec::with_capacity(designs.len());
        for (k, design) in designs.into_iter().enumerate() {
            let outcomes = evaluator.passing_round(FINISHED + k as u64).decide(&design, None);
            let information = outcomes.information(evaluator);
            let joint = outcomes.with(decided.as_ref());
            let before = std::mem::replace(&mut together, joint.information(evaluator));
            decided = Some(joint);
            let (gain, cost) = (together.nats - before.nats, constraints.cost(&design));
            chosen.push(Chosen { information, gain, cost, design });
        }
        Batch { chosen, information: together, entropy: evaluator.entropy(), evaluated }
    }
}

struct Search<'a> {
    designer: &'a Designer,
    evaluator: &'a Evaluator<'a>,
    constraints: &'a Constraints,
    marginals: Vec<(f64, f64)>,
    stream: Stream,
}

impl Search<'_> {
    /// One design after the other, each the best together with those before it, for its cost.
    fn greedy(&self) -> (Vec<Intervention>, Vec<Evaluated>) {
        let mut batch: Vec<Intervention> = Vec::new();
        let mut decided: Option<Accumulated> = None;
        let (mut known, mut first) = (0.0, Vec::new());
        for round in 0..self.designer.batch as u64 {
            let noise = self.evaluator.round(round);
            let table = self.table(&noise, round, decided.as_ref());
            let worth = |candidate: &&Evaluated| {
                (candidate.information.nats - known) / self.constraints.cost(&candidate.design)
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
        (batch, first)
    }

    /// The strategies that look at every candidate once.
    fn from_table(&self) -> (Vec<Intervention>, Vec<Evaluated>) {
        let noise = self.evaluator.round(0);
        let table = self.table(&noise, 0, None);
        let designs: Vec<Intervention> = table.iter().map(|candidate| candidate.design.clone()).collect();
        let score: Vec<f64> = match self.designer.strategy {
            Strategy::Ait | Strategy::SoftAit => noise.discrepancies(&designs),
            _ => table.iter().map(|candidate| candidate.information.nats).collect(),
        };
        let worth: Vec<f64> =
            score.iter().zip(&designs).map(|(score, design)| score / self.constraints.cost(design)).collect();
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
            batch.push(open[draws.below(open.len())].clone());
        }
        batch
    }

    fn random_value(&self, target: Node, draws: &mut Draws) -> f64 {
        use super::constraints::Levels;
        let levels = self.levels(target);
        match (&self.designer.values, levels) {
            (Values::Fixed(value), levels) => levels.nearest(*value),
            (_, Levels::Range(low, high)) => low + (high - low) * draws.uniform(),
            (_, Levels::List(list)) => list[draws.below(list.len())],
        }
    }

    fn levels(&self, target: Node) -> &super::constraints::Levels {
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
        let mut best: Vec<&Evaluated> = designs.iter().collect();
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
