//! The paper's utility: information about the whole model, or about the answer to a question, under an ensemble.

use std::collections::HashMap;

use super::{Evaluator, Judged, Verdict};
use crate::design::decision::{Decision, Tally};
use crate::design::designer::Designer;
use crate::design::forecast::Forecast;
use crate::design::information::{Estimator, Information, Weighting};
use crate::design::outcomes::{LogDensities, Outcomes, Round};
use crate::design::work::Work;
use crate::graph::{Dag, Node};
use crate::num::log_sum_exp;
use crate::num::random::Stream;
use crate::observer::Stopped;
use crate::scm::{Ensemble, Intervention, Scm};

/// Rounds from here on serve the information of the finished batch, with noise that no choice has seen.
const FINISHED: u64 = 1 << 32;

/// Rounds from here on serve the outcomes of pending experiments, which are fixed before any choice.
const PENDING: u64 = 1 << 33;

/// Outcomes of all draws together by which experiments of several rows are chosen, at least.
const LEAST_OUTCOMES: usize = 400;

/// Outcomes of each draw while experiments of so many rows are chosen: about as many rows as for one, as far as enough are left.
pub(in crate::design) fn samples_to_choose(rows: usize, samples: usize, draws: usize) -> usize {
    let least = LEAST_OUTCOMES.div_ceil(draws.max(1)).max(2);
    (samples / rows.max(1)).max(least).min(samples)
}

pub(super) struct ModelInformation<'a> {
    outcomes: Outcomes<'a>,
    /// Fewer outcomes, by which experiments of several rows are chosen, and those of what is pending; none if all serve.
    fewer: Option<(Outcomes<'a>, Option<LogDensities>)>,
    replicates: usize,
    /// None before the first round.
    pub(super) round: Option<Round>,
    weighting: Weighting,
    estimator: Estimator,
    /// None if nothing is pending.
    pending: Option<LogDensities>,
    pending_nats: f64,
    /// Together with what is pending; none if nothing is chosen yet.
    decided: Option<LogDensities>,
}

impl<'a> ModelInformation<'a> {
    pub(super) fn new(
        designer: &Designer,
        belief: &'a Ensemble,
        pending: &[Intervention],
        stream: Stream,
        work: &'a Work<'a>,
    ) -> Result<Self, Stopped> {
        let groups = designer.goal.groups(belief, stream.named("goal"));
        let noise = stream.named("outcomes");
        let mut new = Self {
            outcomes: Outcomes::new(belief, designer.samples, designer.replicates.at_a_time(), noise, work),
            fewer: None,
            replicates: designer.replicates.at_a_time(),
            round: None,
            weighting: Weighting::new(belief.weights(), groups),
            estimator: designer.estimator,
            pending: None,
            pending_nats: 0.0,
            decided: None,
        };
        for (k, design) in pending.iter().enumerate() {
            let outcome = new.outcomes.densities_of(PENDING + k as u64, design, 1)?;
            new.pending = Some(outcome.with(new.pending.as_ref()));
        }
        if let Some(pending) = &new.pending {
            new.pending_nats = new.information(pending, None)?.nats;
        }
        Ok(new)
    }

    /// Information of outcomes, beyond that of a part of them.
    fn information(
        &self,
        outcomes: &LogDensities,
        beyond: Option<&LogDensities>,
    ) -> Result<Information, Stopped> {
        let (samples, estimator) = (self.outcomes.samples(), self.estimator);
        let of_draws = self.outcomes.map_draws(|i| {
            let densities = &outcomes.0[i];
            Ok(match beyond {
                None => self.weighting.of_draw(i, densities, samples, estimator),
                Some(part) => self.weighting.of_draw_beyond(i, densities, &part.0[i], samples, estimator),
            })
        })?;
        Ok(self.weighting.total(&of_draws, samples))
    }

    fn so_far(&self) -> Option<&LogDensities> {
        let pending = self.fewer.as_ref().map_or(self.pending.as_ref(), |(_, pending)| pending.as_ref());
        self.decided.as_ref().or(pending)
    }

    /// The outcomes that candidates are evaluated by.
    pub(super) fn candidates_outcomes(&self) -> &Outcomes<'a> {
        self.fewer.as_ref().map_or(&self.outcomes, |(fewer, _)| fewer)
    }

    pub(super) fn round(&self) -> &Round {
        self.round.as_ref().expect("a round is started before anything is evaluated")
    }
}

impl Evaluator for ModelInformation<'_> {
    fn marginals(&self) -> Result<Vec<(f64, f64)>, Stopped> {
        self.outcomes.marginals()
    }

    fn most(&self) -> f64 {
        self.weighting.entropy()
    }

    fn pending_worth(&self) -> f64 {
        self.pending_nats
    }

    fn start_choosing(&mut self) {
        let all = self.outcomes.samples();
        let samples = samples_to_choose(self.replicates, all, self.outcomes.ensemble().draws().len());
        if samples < all {
            let pending = self.pending.as_ref().map(|pending| pending.first(samples, all));
            self.fewer = Some((self.outcomes.with_fewer(samples), pending));
        }
    }

    fn start_round(&mut self, round: u64) -> Result<(), Stopped> {
        // The memory of the round before is free before that of the next is taken.
        self.round = None;
        self.round = Some(Round::new(round, self.candidates_outcomes())?);
        Ok(())
    }

    fn evaluate(&self, candidates: &[Intervention]) -> Result<Vec<Information>, Stopped> {
        let samples = self.candidates_outcomes().samples();
        let ask = |i: usize, densities: &[f64]| self.weighting.of_draw(i, densities, samples, self.estimator);
        // [i][candidate]
        let outcomes = self.candidates_outcomes();
        let of_draws = self.round().ask_densities(outcomes, candidates, self.so_far(), ask)?;
        let total = |k: usize| {
            let of_candidate: Vec<(f64, f64)> = of_draws.iter().map(|of_draw| of_draw[k]).collect();
            self.weighting.total(&of_candidate, samples)
        };
        Ok((0..candidates.len()).map(total).collect())
    }

    fn decide(&mut self, design: &Intervention) -> Result<(), Stopped> {
        let design = std::slice::from_ref(design);
        let ask = |_: usize, densities: &[f64]| densities.to_vec();
        let outcomes = self.candidates_outcomes();
        let densities = self.round().ask_densities(outcomes, design, self.so_far(), ask)?;
        self.decided = Some(LogDensities(densities.into_iter().flatten().collect()));
        Ok(())
    }

    fn judge(&self, batch: &[(Intervention, usize)]) -> Result<Verdict, Stopped> {
        let pending = self.pending.as_ref();
        let draws = Draws::new(self.outcomes.ensemble());
        let now = self.tally(&draws, pending)?;
        let mut decided: Option<LogDensities> = None;
        let mut judged = Vec::with_capacity(batch.len());
        for (k, (design, rows)) in batch.iter().enumerate() {
            let own = self.outcomes.densities_of(FINISHED + k as u64, design, *rows)?;
            let with_pending = pending.map(|_| own.clone().with(pending));
            let on_its_own = with_pending.as_ref().unwrap_or(&own);
            let alone = self.information(on_its_own, pending)?;
            let decides = draws.decisions(&now, &self.tally(&draws, Some(on_its_own))?);
            let joint = own.with(decided.as_ref().or(pending));
            judged.push(Judged { alone, together: self.information(&joint, pending)?, decides });
            decided = Some(joint);
        }
        let after = self.tally(&draws, decided.as_ref().or(pending))?;
        Ok(Verdict { judged, forecast: Some(draws.forecast(&now, &after)) })
    }
}

impl ModelInformation<'_> {
    /// The answers about open pairs after these outcomes; without outcomes, as they are now.
    fn tally(&self, draws: &Draws<'_>, outcomes: Option<&LogDensities>) -> Result<Tally, Stopped> {
        let weights = self.outcomes.ensemble().weights();
        let Some(outcomes) = outcomes else { return Ok(draws.tally_of(weights, 1.0)) };
        let samples = self.outcomes.samples();
        // A few outcomes of every draw are enough for probabilities of pairs.
        const TALLIED: usize = 10;
        let of_draws = self.outcomes.map_draws(|i| {
            let mut tally = Tally::default();
            // [evaluating draws][outcomes]
            let densities = &outcomes.0[i];
            for k in 0..samples.min(TALLIED) {
                let mut after: Vec<f64> =
                    weights.iter().enumerate().map(|(l, w)| w.ln() + densities[l * samples + k]).collect();
                let total = log_sum_exp(&after);
                after.iter_mut().for_each(|x| *x = (*x - total).exp());
                tally.merge(&draws.tally_of(&after, weights[i]));
            }
            Ok(tally)
        })?;
        let mut tally = Tally::default();
        of_draws.iter().for_each(|of_draw| tally.merge(of_draw));
        Ok(tally)
    }
}

/// The graphs of the draws, and the pairs on which they differ.
struct Draws<'a> {
    ensemble: &'a Ensemble,
    pairs: Vec<(Node, Node)>,
    /// `[draw]`: for every pair that the draw joins, its place among the pairs and which way (0 there, 1 back).
    joined: Vec<Vec<(usize, usize)>>,
}

impl<'a> Draws<'a> {
    fn new(ensemble: &'a Ensemble) -> Self {
        let (draws, nodes) = (ensemble.draws(), ensemble.names().len());
        let answer = |dag: &Dag, i: Node, j: Node| (dag.has_edge(i, j), dag.has_edge(j, i));
        let open = |&(i, j): &(Node, Node)| {
            let first = answer(draws[0].dag(), i, j);
            draws.iter().any(|draw| answer(draw.dag(), i, j) != first)
        };
        let pairs: Vec<(Node, Node)> =
            (0..nodes).flat_map(|i| (0..i).map(move |j| (i, j))).filter(open).collect();
        let of_draw = |draw: &Scm| {
            let joined = |(k, &(i, j)): (usize, &(Node, Node))| match answer(draw.dag(), i, j) {
                (true, _) => Some((k, 0)),
                (_, true) => Some((k, 1)),
                _ => None,
            };
            pairs.iter().enumerate().filter_map(joined).collect()
        };
        Self { joined: draws.iter().map(of_draw).collect(), ensemble, pairs }
    }

    /// The answers when the draws have these weights.
    fn tally_of(&self, weights: &[f64], weight: f64) -> Tally {
        let mut answers = vec![[0.0, 0.0, 1.0]; self.pairs.len()];
        for (joined, w) in self.joined.iter().zip(weights) {
            for &(pair, way) in joined {
                answers[pair][way] += w;
            }
        }
        answers.iter_mut().for_each(|answer| answer[2] = (1.0 - answer[0] - answer[1]).max(0.0));
        let mut tally = Tally::default();
        tally.add(&answers, weight);
        tally
    }

    fn decisions(&self, now: &Tally, after: &Tally) -> Vec<Decision> {
        let graphs = self.ensemble.draws().iter().map(Scm::dag).zip(self.ensemble.weights().iter().copied());
        now.decisions(after, &self.pairs, self.ensemble.names(), graphs)
    }

    fn forecast(&self, now: &Tally, after: &Tally) -> Forecast {
        let ((wrong_now, undecided_now), (wrong_after, undecided_after)) = (now.totals(), after.totals());
        let mut of_graph: HashMap<&Dag, f64> = HashMap::new();
        for (draw, weight) in self.ensemble.draws().iter().zip(self.ensemble.weights()) {
            *of_graph.entry(draw.dag()).or_default() += weight;
        }
        let mut weights: Vec<f64> = of_graph.into_values().collect();
        weights.sort_by(f64::total_cmp);
        let effective_graphs = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        Forecast { wrong_now, wrong_after, undecided_now, undecided_after, effective_graphs, drawn_once: 0.0 }
    }
}
