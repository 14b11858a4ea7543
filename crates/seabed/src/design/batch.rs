//! Which designs together: the strategies, what the user may choose, and the batch with what it is worth.
//!
//! All strategies work on the same table of evaluated candidates and obey the same constraints; they differ in how
//! candidates are scored and picked, which `search` does.

use serde::{Deserialize, Serialize};

use super::constraints::{ConstraintError, Constraints};
use super::goal::Goal;
use super::information::{Estimator, Information};
use super::outcomes::{Accumulated, Evaluator};
use super::search::Search;
use super::value::Values;
use crate::graph::Node;
use crate::num::random::{Purpose, Seed, Stream};
use crate::scm::{ByName, Ensemble, Intervention};

/// How a batch is put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// What it would teach on its own, beyond what is pending.
    pub information: Information,
}

/// A design of the batch.
#[derive(Clone, PartialEq, Debug)]
pub struct Chosen {
    /// What is set, to what.
    pub design: Intervention,
    /// What it teaches on its own, beyond what is pending.
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
    /// What all of them teach together, beyond what is pending.
    pub information: Information,
    /// What there is to learn beyond what is pending: no batch teaches more.
    pub entropy: f64,
    /// Every design that was looked at (by the greedy strategies: before the first choice).
    pub evaluated: Vec<Evaluated>,
}

impl Batch {
    /// The batch over variables in another order: variable k becomes `to[k]`.
    fn relabelled(mut self, to: &[Node]) -> Self {
        let designs = self.chosen.iter_mut().map(|chosen| &mut chosen.design);
        for design in designs.chain(self.evaluated.iter_mut().map(|evaluated| &mut evaluated.design)) {
            *design = relabelled(design, to);
        }
        self
    }
}

fn relabelled(design: &Intervention, to: &[Node]) -> Intervention {
    let settings = design.settings().iter().map(|&(node, value)| (to[node], value));
    Intervention::new(settings).expect("the same targets under other numbers")
}

/// Outcomes that are still to come of experiments that are already under way.
pub(super) struct Pending {
    /// None if nothing is under way.
    pub(super) decided: Option<Accumulated>,
    /// What they teach.
    pub(super) nats: f64,
}

/// Why there is no batch.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum DesignError {
    /// Constraints that cannot be met.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// The bound is one on the information about the whole model.
    #[error("the bound is about the whole model, not about a question; use another estimator or no goal")]
    BoundOfQuestion,
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

impl DesignError {
    /// Whose fault it is.
    pub fn kind(&self) -> crate::ErrorKind {
        crate::ErrorKind::Input
    }
}

/// Outcomes of one draw and design.
const MOST_OUTCOMES: f64 = 1e6;

/// Rounds from here on serve the outcomes of pending experiments, which are decided on before any choice.
const PENDING: u64 = 1 << 33;

/// Rounds from here on serve the information of the finished batch, with noise that no choice has seen.
const FINISHED: u64 = 1 << 32;

impl Designer {
    /// The next batch under a belief.
    pub fn design(
        &self,
        ensemble: &Ensemble,
        constraints: &Constraints,
        seed: Seed,
    ) -> Result<Batch, DesignError> {
        self.design_after(ensemble, &[], constraints, seed)
    }

    /// The next batch under a belief, when the outcomes of other experiments are still to come.
    ///
    /// Each of `pending` is one outcome that will be known before anybody looks at those of the batch. Their outcomes
    /// are simulated and marginalised: information is what a design adds to all of them. (AIT knows no information:
    /// its choice is the same with and without.)
    pub fn design_after(
        &self,
        ensemble: &Ensemble,
        pending: &[Intervention],
        constraints: &Constraints,
        seed: Seed,
    ) -> Result<Batch, DesignError> {
        self.check()?;
        constraints.check(ensemble.names(), self.batch)?;
        let stream = seed.stream(Purpose::Design);
        // Sums and ties in the order of the names: the order of the variables shows nowhere.
        let by_name = ByName::new(ensemble.names());
        let ensemble = &by_name.sorted(ensemble);
        let constraints = &constraints.reordered(&by_name.from).repeated(self.replicates);
        let evaluator = self.relabelled(&by_name.to).evaluator(ensemble, stream);
        let mut decided: Option<Accumulated> = None;
        for (k, design) in pending.iter().enumerate() {
            let design = relabelled(design, &by_name.to);
            decided = Some(evaluator.outcomes_of(PENDING + k as u64, &design, 1).with(decided.as_ref()));
        }
        let pending = Pending {
            nats: decided.as_ref().map_or(0.0, |decided| decided.information(&evaluator).nats),
            decided,
        };
        let search = Search {
            pending: &pending,
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
            _ => search.by_table(),
        };
        Ok(self.finished(&evaluator, constraints, &pending, designs, evaluated).relabelled(&by_name.from))
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

    /// Information of a batch that the user brings, all designs together; nothing is learned from no design.
    pub fn score_batch(
        &self,
        ensemble: &Ensemble,
        designs: &[Intervention],
        seed: Seed,
    ) -> Result<Information, DesignError> {
        self.check()?;
        let evaluator = self.evaluator(ensemble, seed.stream(Purpose::Design));
        let decided = designs.iter().enumerate().fold(None, |decided: Option<Accumulated>, (k, design)| {
            Some(evaluator.outcomes_of(FINISHED + k as u64, design, self.replicates).with(decided.as_ref()))
        });
        let nothing = Information { nats: 0.0, standard_error: 0.0 };
        Ok(decided.map_or(nothing, |decided| decided.information(&evaluator)))
    }

    fn evaluator<'a>(&self, ensemble: &'a Ensemble, stream: Stream) -> Evaluator<'a> {
        let groups = self.goal.groups(ensemble, stream.named("goal"));
        let noise = stream.named("outcomes");
        Evaluator::new(ensemble, groups, self.samples, self.replicates, self.estimator, noise)
    }

    /// Are all numbers within their ranges?
    pub fn check(&self) -> Result<(), DesignError> {
        let counts = [
            ("batch", self.batch),
            ("replicates", self.replicates),
            ("samples", self.samples),
            ("evaluations", self.evaluations),
        ];
        if let Some((what, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(DesignError::Option { what, got: 0.0, must: "at least 1" });
        }
        if self.samples < 2 {
            return Err(DesignError::Option {
                what: "samples",
                got: 1.0,
                must: "at least 2, for a standard error",
            });
        }
        let size = (self.samples as f64) * (self.replicates as f64);
        if size > MOST_OUTCOMES {
            let what = "samples times replicates";
            return Err(DesignError::Option {
                what,
                got: size,
                must: "at most a million: more do not fit into memory",
            });
        }
        let typed: &[f64] = match &self.values {
            Values::Fixed(value) => std::slice::from_ref(value),
            Values::Grid(values) => values,
            _ => &[],
        };
        if let Some(&got) = typed.iter().find(|value| !value.is_finite()) {
            return Err(DesignError::Option { what: "a value", got, must: "a finite number" });
        }
        if self.estimator == Estimator::Bound && self.goal != Goal::Everything {
            return Err(DesignError::BoundOfQuestion);
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
        pending: &Pending,
        designs: Vec<Intervention>,
        evaluated: Vec<Evaluated>,
    ) -> Batch {
        let before = pending.decided.as_ref();
        let mut decided: Option<Accumulated> = None;
        let mut together = Information { nats: 0.0, standard_error: 0.0 };
        let mut chosen = Vec::with_capacity(designs.len());
        for (k, design) in designs.into_iter().enumerate() {
            let own = evaluator.outcomes_of(FINISHED + k as u64, &design, self.replicates);
            let information = match before {
                None => own.information(evaluator),
                Some(_) => own.clone().with(before).information_beyond(before, evaluator),
            };
            let joint = own.with(decided.as_ref().or(before));
            let earlier = std::mem::replace(&mut together, joint.information_beyond(before, evaluator));
            decided = Some(joint);
            let (gain, cost) = (together.nats - earlier.nats, constraints.cost(&design));
            chosen.push(Chosen { information, gain, cost, design });
        }
        Batch { chosen, information: together, entropy: evaluator.entropy() - pending.nats, evaluated }
    }
}
