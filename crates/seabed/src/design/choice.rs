//! From a belief to a batch: the work of a [`Designer`].
//!
//! Utility, values and rule are put together here, and the finished batch is evaluated.

use super::batch::{Batch, Chosen, relabelled};
use super::belief::Belief;
use super::candidates::{Candidates, most_candidates, usual_candidates};
use super::constraints::Constraints;
use super::designer::{DesignError, Designer};
use super::information::Information;
use super::replicates::Replicates;
use super::rule::{Picker, distinct};
use super::strategy::Rule;
use super::utility::{Judged, Verdict, evaluator, samples_to_choose, thinning};
use super::value::Values;
use super::work::{Cost, Prices, Work};
use crate::belief::Conditional;
use crate::graph::Node;
use crate::num::random::{Purpose, Seed};
use crate::observer::{Effort, Observer};
use crate::scm::{ByName, Intervention};

/// Evaluations of one design of a finished batch at most: on its own, and with those before it.
const OWN_WORK: usize = 2;

/// Seconds of one processor, about, for one path, row and pair of variables, and for one pair of draws, outcome, row and
/// variable.
const GRAPH_SECONDS: f64 = 1e-7;
const MODEL_SECONDS: f64 = 1e-9;

/// Bytes of one pair of draws and outcome: its log-density under a design, under those chosen before it, and under both.
const MODEL_BYTES: f64 = 24.0;

const NOTHING: Information = Information { nats: 0.0, standard_error: 0.0 };

impl Designer {
    /// The next batch under a belief.
    pub fn design<'b>(
        &self,
        belief: impl Into<Belief<'b>>,
        constraints: &Constraints,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Batch, DesignError> {
        self.design_after(belief, &[], constraints, seed, observer)
    }

    /// The next batch under a belief, when the outcomes of other experiments are still to come.
    ///
    /// Each of `pending` is one outcome that will be known before those of the batch are used. Their outcomes
    /// are simulated and marginalised: information is what a design adds to all of them. (AIT does not use information:
    /// its choice is the same either way.)
    pub fn design_after<'b>(
        &self,
        belief: impl Into<Belief<'b>>,
        pending: &[Intervention],
        constraints: &Constraints,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Batch, DesignError> {
        let belief = belief.into();
        let names = belief.models.names();
        self.check_for(belief, constraints.targets().count())?;
        constraints.check(names, self.batch)?;
        check_variables("a pending experiment", pending, names.len())?;
        // Sums and ties in the order of the names, so the order of the variables does not matter.
        let by_name = ByName::new(names);
        let models = &by_name.sorted(belief.models);
        let graphs = match belief.graphs {
            Some(graphs) => Some(graphs.reordered(&by_name.names).map_err(|_| DesignError::OtherGraphs)?),
            None => None,
        };
        let belief = Belief { models, graphs: graphs.as_ref() };
        let constraints = &constraints.reordered(&by_name.from).repeated(self.replicates.at_a_time());
        let pending: Vec<Intervention> = pending.iter().map(|d| relabelled(d, &by_name.to)).collect();
        let designer = Self { goal: self.goal.relabelled(&by_name.to), ..self.clone() };

        let (utility, rule) = self.strategy.parts();
        let values = self.strategy.values(&self.values);
        let prices = self.prices(belief);
        let cost = self.cost(prices, constraints, pending.len(), models.draws().len());
        let work = Work::new(observer, prices, cost, self.paths(belief))?;
        let stream = seed.stream(Purpose::Design);
        let mut evaluator = evaluator(utility, &designer, belief, &pending, stream, &work)?;
        let picker = Picker {
            candidates: Candidates {
                constraints,
                values: &values,
                evaluations: self.evaluations,
                marginals: match *values {
                    Values::Sample => evaluator.marginals()?,
                    _ => vec![(0.0, 1.0); names.len()],
                },
                names: models.names(),
                stream: stream.named("choice"),
            },
            batch: self.batch,
            replicates: self.replicates,
            temperature: self.temperature,
            work: &work,
        };
        evaluator.start_choosing();
        let (designs, evaluated) = picker.pick(rule, evaluator.as_mut())?;
        let experiments = self.experiments(&designs);
        let Verdict { judged, forecast } = evaluator.judge(&experiments)?;
        work.finish()?;
        let batch = Batch {
            names: models.names().clone(),
            information: together(&judged),
            entropy: evaluator.most() - evaluator.pending_worth(),
            chosen: self.chosen(experiments, judged, constraints),
            evaluated,
            forecast,
        };
        Ok(batch.finite()?.relabelled(names, &by_name.from))
    }

    /// What [`design`](Self::design) will take, about, under a belief of so many models, whatever the strategy finds: most of
    /// the time goes into designs that are looked at.
    pub fn effort(&self, models: usize, constraints: &Constraints) -> Effort {
        let designs = self.cost(Prices::EQUAL, constraints, 0, models).rows();
        self.effort_of(designs, models, constraints.variables.len())
    }

    /// What [`score`](Self::score) will take, about, for so many designs under a belief of so many models.
    pub fn score_effort(&self, designs: usize, models: usize, variables: usize) -> Effort {
        let rows = OWN_WORK as f64 * designs as f64 * self.replicates.at_a_time() as f64;
        self.effort_of(rows, models, variables)
    }

    /// What it takes to look at this many designs, each of their rows counted.
    fn effort_of(&self, designs: f64, models: usize, variables: usize) -> Effort {
        let [c, d, m] = [models, variables, self.samples].map(|count| count as f64);
        let (of_design, bytes) = if self.strategy.parts().0.needs_graphs() {
            // Each path predicts a row under every design that is still in the race. What the paths keep has a limit of its own.
            (GRAPH_SECONDS * m * d * d, 0.0)
        } else {
            // Every draw explains the outcomes of every draw.
            (MODEL_SECONDS * c * c * m * d, MODEL_BYTES * c * c * m)
        };
        Effort { seconds: designs * of_design, bytes }
    }

    /// Information of given designs, each on its own.
    pub fn score<'b>(
        &self,
        belief: impl Into<Belief<'b>>,
        designs: &[Intervention],
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Information>, DesignError> {
        let belief = belief.into();
        self.check_for(belief, designs.len())?;
        check_variables("a design", designs, belief.models.names().len())?;
        let (prices, rows) = (self.prices(belief), self.replicates.at_a_time());
        let cost = Cost::exactly(designs.len() as u64 * prices.looked_at(rows, 0));
        let work = Work::new(observer, prices, cost, self.paths(belief))?;
        let (utility, _) = self.strategy.parts();
        let mut evaluator = evaluator(utility, self, belief, &[], seed.stream(Purpose::Design), &work)?;
        evaluator.start_round(0)?;
        let scores = evaluator.evaluate(designs)?;
        work.finish()?;
        if scores.iter().all(Information::is_finite) { Ok(scores) } else { Err(DesignError::NotFinite) }
    }

    /// Information of a given batch, all designs together; 0 for an empty batch.
    pub fn score_batch<'b>(
        &self,
        belief: impl Into<Belief<'b>>,
        designs: &[Intervention],
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Information, DesignError> {
        let belief = belief.into();
        self.check_for(belief, designs.len())?;
        check_variables("a design", designs, belief.models.names().len())?;
        let (prices, experiments) = (self.prices(belief), self.experiments(designs));
        let mut before = 0;
        let of_part = |(_, rows): &(Intervention, usize)| {
            let cost = prices.looked_at(*rows, 0).saturating_add(prices.shown(*rows, before));
            before += rows;
            cost
        };
        let cost = Cost::exactly(experiments.iter().map(of_part).fold(0, u64::saturating_add));
        let work = Work::new(observer, prices, cost, self.paths(belief))?;
        let (utility, _) = self.strategy.parts();
        let evaluator = evaluator(utility, self, belief, &[], seed.stream(Purpose::Design), &work)?;
        let verdict = evaluator.judge(&experiments)?;
        work.finish()?;
        let together = together(&verdict.judged);
        if together.is_finite() { Ok(together) } else { Err(DesignError::NotFinite) }
    }

    /// The experiments that these choices are, with their rows.
    fn experiments(&self, designs: &[Intervention]) -> Vec<(Intervention, usize)> {
        match self.replicates {
            Replicates::Each(rows) => designs.iter().map(|design| (design.clone(), rows)).collect(),
            Replicates::Auto => distinct(designs)
                .map(|design| (design.clone(), designs.iter().filter(|other| *other == design).count()))
                .collect(),
        }
    }

    /// What the chosen experiments are worth. Costs in the constraints are those of the rows that are chosen at a time.
    fn chosen(
        &self,
        experiments: Vec<(Intervention, usize)>,
        judged: Vec<Judged>,
        constraints: &Constraints,
    ) -> Vec<Chosen> {
        let mut before = 0.0;
        let chosen = |((design, rows), judged): ((Intervention, usize), Judged)| {
            let gain = judged.together.nats - before;
            before = judged.together.nats;
            let times = rows as f64 / self.replicates.at_a_time() as f64;
            let cost = times * constraints.cost(&design) + constraints.experiment_cost;
            Chosen { information: judged.alone, gain, cost, rows, design, decides: judged.decides }
        };
        experiments.into_iter().zip(judged).map(chosen).collect()
    }

    /// Do these settings work with the belief and this many targets?
    fn check_for(&self, belief: Belief<'_>, targets: usize) -> Result<(), DesignError> {
        self.check()?;
        let variables = belief.models.names().len();
        known("the goal", self.goal.variables(), variables)?;
        if self.strategy.parts().0.needs_graphs() {
            let graphs = belief.graphs.ok_or(DesignError::NoGraphs)?;
            let families =
                (0..variables.min(graphs.names().len())).map(|node| graphs.families(node).len()).sum();
            return self.check_paths(families);
        }
        self.check_size(belief.models.draws().len(), variables, targets)
    }

    /// What a batch costs at these prices, with so many outcomes pending and under so many models.
    fn cost(&self, prices: Prices, constraints: &Constraints, pending: usize, models: usize) -> Cost {
        let (utility, rule) = self.strategy.parts();
        let values = self.strategy.values(&self.values);
        let rows = self.replicates.at_a_time();
        let most = most_candidates(constraints, &values, self.evaluations);
        let screened = utility.needs_graphs();
        let (rough, full) = usual_candidates(constraints, &values, self.evaluations, screened);
        let thinned = if screened {
            thinning(rows, self.samples)
        } else {
            self.samples / samples_to_choose(rows, self.samples, models)
        };
        let full = full.saturating_add(rule.again(self.batch, self.replicates)) as u64;
        let before = |k: usize| pending.saturating_add(k.saturating_mul(rows));
        let of_round = |k: usize| {
            // A chosen design is simulated once more; a rule that chooses all at once does not need that.
            let decided = if rule == Rule::Greedy { prices.shown(rows, before(k)) } else { 0 };
            let looked_at = full.saturating_mul(prices.looked_at(rows, before(k))).saturating_add(decided);
            looked_at / thinned as u64 + (rough as u64).saturating_mul(prices.looked_at(1, before(k)))
        };
        // The finished batch: each part on its own, and with those before it.
        let of_part =
            |k: usize| prices.looked_at(rows, pending).saturating_add(prices.shown(rows, before(k)));
        let costs = (0..pending)
            .map(|k| prices.shown(1, k))
            .chain((0..rule.rounds(self.batch)).map(of_round))
            .chain((0..self.batch).map(of_part));
        let last = before(self.batch);
        let dearest = prices.looked_at(rows, last).max(prices.shown(rows, last));
        let designs = rule.most_evaluations(most, self.batch).saturating_add(pending + OWN_WORK * self.batch);
        Cost { most: (designs as u64).saturating_mul(dearest), expected: costs.fold(0, u64::saturating_add) }
    }

    /// What simulating costs under a belief.
    fn prices(&self, belief: Belief<'_>) -> Prices {
        let Some(graphs) = belief.graphs.filter(|_| self.strategy.parts().0.needs_graphs()) else {
            return Prices::EQUAL;
        };
        let mut families = (0..graphs.names().len()).flat_map(|node| graphs.families(node));
        let processes = families.any(|family| matches!(family.conditional, Conditional::Process(_)));
        if processes { Prices::PROCESSES } else { Prices::EQUAL }
    }

    /// Simulations that a design is evaluated under.
    fn paths(&self, belief: Belief<'_>) -> usize {
        if self.strategy.parts().0.needs_graphs() { self.samples } else { belief.models.draws().len() }
    }
}

fn together(judged: &[Judged]) -> Information {
    judged.last().map_or(NOTHING, |last| last.together)
}

fn check_variables(
    what: &'static str,
    designs: &[Intervention],
    variables: usize,
) -> Result<(), DesignError> {
    known(what, designs.iter().flat_map(|design| design.settings()).map(|setting| setting.0), variables)
}

/// Does the belief have these variables?
fn known(
    what: &'static str,
    nodes: impl IntoIterator<Item = Node>,
    variables: usize,
) -> Result<(), DesignError> {
    match nodes.into_iter().find(|&node| node >= variables) {
        None => Ok(()),
        Some(node) => Err(DesignError::UnknownVariable { what, node, variables }),
    }
}
