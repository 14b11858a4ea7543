//! The paper's utility: information about the whole model, or about the answer to a question, under an ensemble.

use super::{Evaluator, Judged, Verdict};
use crate::design::designer::Designer;
use crate::design::information::{Estimator, Information, Weighting};
use crate::design::outcomes::{LogDensities, Outcomes, Round};
use crate::design::work::Work;
use crate::num::random::Stream;
use crate::observer::Stopped;
use crate::scm::{Ensemble, Intervention};

/// Rounds from here on serve the information of the finished batch, with noise that no choice has seen.
const FINISHED: u64 = 1 << 32;

/// Rounds from here on serve the outcomes of pending experiments, which are fixed before any choice.
const PENDING: u64 = 1 << 33;

pub(super) struct ModelInformation<'a> {
    pub(super) outcomes: Outcomes<'a>,
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
        self.decided.as_ref().or(self.pending.as_ref())
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

    fn start_round(&mut self, round: u64) -> Result<(), Stopped> {
        // The memory of the round before is free before that of the next is taken.
        self.round = None;
        self.round = Some(Round::new(round, &self.outcomes)?);
        Ok(())
    }

    fn evaluate(&self, candidates: &[Intervention]) -> Result<Vec<Information>, Stopped> {
        let samples = self.outcomes.samples();
        let ask = |i: usize, densities: &[f64]| self.weighting.of_draw(i, densities, samples, self.estimator);
        // [i][candidate]
        let of_draws = self.round().ask_densities(&self.outcomes, candidates, self.so_far(), ask)?;
        let total = |k: usize| {
            let of_candidate: Vec<(f64, f64)> = of_draws.iter().map(|of_draw| of_draw[k]).collect();
            self.weighting.total(&of_candidate, samples)
        };
        Ok((0..candidates.len()).map(total).collect())
    }

    fn decide(&mut self, design: &Intervention) -> Result<(), Stopped> {
        let design = std::slice::from_ref(design);
        let ask = |_: usize, densities: &[f64]| densities.to_vec();
        let densities = self.round().ask_densities(&self.outcomes, design, self.so_far(), ask)?;
        self.decided = Some(LogDensities(densities.into_iter().flatten().collect()));
        Ok(())
    }

    fn judge(&self, batch: &[(Intervention, usize)]) -> Result<Verdict, Stopped> {
        let pending = self.pending.as_ref();
        let mut decided: Option<LogDensities> = None;
        let mut judged = Vec::with_capacity(batch.len());
        for (k, (design, rows)) in batch.iter().enumerate() {
            let own = self.outcomes.densities_of(FINISHED + k as u64, design, *rows)?;
            let alone = match pending {
                None => self.information(&own, None)?,
                Some(_) => self.information(&own.clone().with(pending), pending)?,
            };
            let joint = own.with(decided.as_ref().or(pending));
            judged.push(Judged { alone, together: self.information(&joint, pending)? });
            decided = Some(joint);
        }
        Ok(Verdict { judged, forecast: None })
    }
}
