//! The status of a campaign: what is pending, what each round taught, and whether more experiments are worthwhile.

use std::collections::HashMap;

use seabed::design::{DesignRecord, Strategy};
use seabed::observer::Observer;
use seabed::posterior::PosteriorSettings;
use serde::Serialize;

use super::belief::{Belief, BeliefSummary};
use super::effects::{LabEffect, effects};
use super::form::experiment_name;
use super::propose::{ProposalRequest, as_object, designed};
use super::state::{Proposal, State, Status};
use super::{Lab, LabError};

/// Below this, in nats or squared errors, no batch is worth the effort.
const HARDLY_WORTH: f64 = 0.01;

/// Edges listed of each kind.
const LISTED: usize = 10;

/// Probabilities of edges: `[i][j]` of i -> j.
pub type EdgeMatrix = Vec<Vec<f64>>;

/// A possible edge.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Edge {
    /// The cause.
    pub from: String,
    /// The effect.
    pub to: String,
    /// Probability of the edge in this direction.
    pub probability: f64,
}

/// A pending outcome.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PendingOutcome {
    /// The experiment's name.
    pub experiment: String,
    /// Counted from 1.
    pub replicate: u32,
    /// What is set, and to which value.
    #[serde(serialize_with = "as_object")]
    pub targets: Vec<(String, f64)>,
    /// Of which proposal.
    pub proposal: Option<i64>,
}

/// A proposal, the belief before it, and its outcomes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RoundSummary {
    /// The proposal's number.
    pub proposal: i64,
    /// When.
    pub at: String,
    /// Rows the belief was learned from.
    pub rows: usize,
    /// Of these, under interventions.
    pub interventional: usize,
    /// Entropy of the edge probabilities before the batch, in nats.
    pub edge_entropy: f64,
    /// How the batch was chosen.
    pub strategy: Strategy,
    /// What the batch was expected to teach, in the [unit](seabed::design::Utility::unit) of the strategy.
    pub information: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Replicates that were measured.
    pub done: usize,
    /// Replicates that failed.
    pub failed: usize,
    /// Pending replicates.
    pub pending: usize,
}

/// The status of a campaign.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Measurements in force.
    pub rows: usize,
    /// Of these, under interventions.
    pub interventional: usize,
    /// Measurements with missing values, which are left out of fits.
    pub incomplete: usize,
    /// Pending outcomes.
    pub pending: Vec<PendingOutcome>,
    /// Replicates that failed.
    pub failed: usize,
    /// One per proposal.
    pub rounds: Vec<RoundSummary>,
    /// What makes a causal reading of the measurements wrong or fragile: one line each.
    pub warnings: Vec<String>,
    /// The newest belief; none before the first fit.
    pub belief: Option<BeliefSummary>,
    /// Were rows added or undone since the newest belief was formed?
    pub not_yet_learned: bool,
    /// The most probable edges, above one half.
    pub certain: Vec<Edge>,
    /// The edges nearest to one half.
    pub uncertain: Vec<Edge>,
    /// What setting a variable does to the others, where that is more probable than not.
    pub effects: Vec<LabEffect>,
    /// How the last batch was chosen, and another one like it would be.
    pub strategy: Strategy,
    /// What the next batch is expected to teach, given what is pending, in the unit of the strategy, if that was asked for.
    pub next_information: Option<f64>,
    /// Its standard error.
    pub next_standard_error: Option<f64>,
    /// Is there hardly anything left for more experiments of these kinds to teach? `None` if unknown.
    pub hardly_worth: Option<bool>,
}

/// All that takes long to tell about a campaign, for who shows it often.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The status.
    pub summary: Summary,
    /// The edge probabilities of the newest belief, or of the last proposal; none before the first fit.
    pub edges: Option<EdgeMatrix>,
    /// Does that belief know all rows in force?
    pub fresh: bool,
    /// By the number of every proposal: what makes a causal reading of its experiments wrong or fragile.
    pub warnings: HashMap<i64, Vec<String>>,
}

impl Summary {
    /// Takes what takes long from a summary that was made in full.
    pub fn completed_by(self, full: &Summary) -> Self {
        let Self { rows, interventional, incomplete, pending, failed, rounds, strategy, .. } = self;
        Self {
            rows,
            interventional,
            incomplete,
            pending,
            failed,
            rounds,
            strategy,
            warnings: full.warnings.clone(),
            belief: full.belief.clone(),
            not_yet_learned: full.not_yet_learned,
            certain: full.certain.clone(),
            uncertain: full.uncertain.clone(),
            effects: full.effects.clone(),
            next_information: full.next_information,
            next_standard_error: full.next_standard_error,
            hardly_worth: full.hardly_worth,
        }
    }
}

impl Lab {
    /// Tells all that takes long at once.
    pub fn overview(&self, observer: &dyn Observer) -> Result<Overview, LabError> {
        let state = self.state()?;
        let (belief, fresh) = self.newest_belief(&state)?;
        let of_proposal = |proposal: &Proposal| {
            let mine = state.live().filter(|experiment| experiment.proposal == Some(proposal.id));
            mine.map(|experiment| experiment.settings.clone()).collect::<Vec<_>>()
        };
        let batches: Vec<_> = state.proposals.iter().map(of_proposal).chain([Vec::new()]).collect();
        let mut warnings = state.traps_of_each(&batches);
        let of_rows = warnings.pop().unwrap_or_default();
        let summary = self.summary_with(&state, belief.as_ref(), fresh, of_rows, observer)?;
        let numbers = state.proposals.iter().map(|proposal| proposal.id);
        Ok(Overview {
            summary,
            edges: belief.map(|belief| belief.ensemble.edge_probabilities()),
            fresh,
            warnings: numbers.zip(warnings).collect(),
        })
    }

    /// The status of the campaign without what takes long: its belief, and what follows from that, and its warnings are left out.
    pub fn quick_summary(&self) -> Result<Summary, LabError> {
        self.summarise(self.state()?.as_ref(), None, Vec::new(), &())
    }

    /// The status of the campaign, from what is in the file.
    pub fn summary(&self) -> Result<Summary, LabError> {
        Ok(self.summary_of_state(self.state()?.as_ref())?.0)
    }

    /// The status, and the belief that it tells of.
    pub(super) fn summary_of_state(&self, state: &State) -> Result<(Summary, Option<Belief>), LabError> {
        let (belief, fresh) = self.newest_belief(state)?;
        let summary = self.summary_with(state, belief.as_ref(), fresh, state.traps(&[]), &())?;
        Ok((summary, belief))
    }

    /// The status with the newest belief, which is `fresh` if it knows all rows in force.
    fn summary_with(
        &self,
        state: &State,
        belief: Option<&Belief>,
        fresh: bool,
        warnings: Vec<String>,
        observer: &dyn Observer,
    ) -> Result<Summary, LabError> {
        let mut summary = self.summarise(state, belief, warnings, observer)?;
        summary.not_yet_learned = !fresh && summary.rows > 0;
        if let Some(proposal) = state.proposals.last().filter(|_| fresh) {
            summary.hardly_worth = Some(hardly_worth(&proposal.designed));
        }
        Ok(summary)
    }

    /// As [`Lab::summary`], after learning from all data. If the `next` batch is asked about, another one like the last is
    /// designed, but not stored, to estimate its information.
    pub fn learned_summary(&mut self, next: bool, observer: &dyn Observer) -> Result<Summary, LabError> {
        let state = self.state()?;
        let request = state.last_request();
        // Graphs, which take long to read, serve only to design.
        let belief = self.fitted_belief(&state, &request, next, observer)?;
        let mut summary = self.summarise(&state, Some(&belief), state.traps(&[]), observer)?;
        if next && state.variables.constraints(None, None, 1).targets().next().is_some() {
            let (next, _) = designed(&state, &belief, &request, observer)?;
            summary.next_information = Some(next.information);
            summary.next_standard_error = Some(next.standard_error);
            summary.hardly_worth = Some(hardly_worth(&next));
        }
        Ok(summary)
    }

    fn summarise(
        &self,
        state: &State,
        belief: Option<&Belief>,
        warnings: Vec<String>,
        observer: &dyn Observer,
    ) -> Result<Summary, LabError> {
        let pending = state.pending().map(|(experiment, replicate)| PendingOutcome {
            experiment: experiment_name(experiment.id),
            replicate,
            targets: state.named(&experiment.settings),
            proposal: experiment.proposal,
        });
        let rounds = state.proposals.iter().map(|proposal| {
            let before = self.summary_of(proposal.belief)?;
            let mine = || state.live().filter(|experiment| experiment.proposal == Some(proposal.id));
            let action = state.actions.iter().find(|action| action.id == proposal.action);
            Ok(RoundSummary {
                proposal: proposal.id,
                at: action.map_or(String::new(), |action| action.at.clone()),
                rows: before.rows,
                interventional: before.interventional,
                edge_entropy: before.edge_entropy,
                strategy: proposal.request.design.strategy,
                information: proposal.designed.information,
                standard_error: proposal.designed.standard_error,
                done: mine().map(|experiment| experiment.measured().count()).sum(),
                failed: mine().map(failures).sum(),
                pending: mine().map(|experiment| experiment.pending().count()).sum(),
            })
        });
        let (certain, uncertain) = belief.map_or((Vec::new(), Vec::new()), edges);
        Ok(Summary {
            rows: state.rows().count(),
            interventional: state.interventional(),
            incomplete: state.incomplete(),
            pending: pending.collect(),
            failed: state.live().map(failures).sum(),
            rounds: rounds.collect::<Result<_, LabError>>()?,
            warnings,
            belief: belief.map(|belief| belief.summary.clone()),
            not_yet_learned: false,
            certain,
            uncertain,
            effects: match belief {
                Some(belief) => effects(state, belief, observer).map_err(|_| LabError::Stopped)?,
                None => Vec::new(),
            },
            strategy: state.last_request().design.strategy,
            next_information: None,
            next_standard_error: None,
            hardly_worth: None,
        })
    }

    /// Learns from all data, and stores the belief. Without settings of its own, as for the last proposal.
    pub fn learn(
        &mut self,
        posterior: Option<PosteriorSettings>,
        observer: &dyn Observer,
    ) -> Result<BeliefSummary, LabError> {
        let state = self.state()?;
        let mut request = state.last_request();
        if let Some(posterior) = posterior {
            let has_graphs = posterior.check(None)?.gives_graphs();
            request = ProposalRequest { posterior, ..ProposalRequest::default() };
            request.design.strategy = Strategy::recommended(has_graphs);
        }
        Ok(self.fitted_belief(&state, &request, false, observer)?.summary)
    }

    /// The belief after all that is in force, as for the last proposal or else as it was learned last; or else the one of the
    /// last proposal. Is it not the latter?
    fn newest_belief(&self, state: &State) -> Result<(Option<Belief>, bool), LabError> {
        let mut present = self.known_belief(state, &state.last_request().posterior)?;
        if let (None, Some(posterior)) = (&present, self.last_posterior()?) {
            present = self.known_belief(state, &posterior)?;
        }
        match (present, state.proposals.last()) {
            (None, Some(proposal)) => Ok((Some(self.belief_of(proposal.belief)?), false)),
            (present, _) => {
                let fresh = present.is_some();
                Ok((present, fresh))
            }
        }
    }

    /// The edge probabilities of the newest belief about the rows in force, or of the last proposal: `[i][j]` of i -> j.
    pub fn edge_probabilities(&self) -> Result<Option<EdgeMatrix>, LabError> {
        let (belief, _) = self.newest_belief(self.state()?.as_ref())?;
        Ok(belief.map(|belief| belief.ensemble.edge_probabilities()))
    }

    /// The summary and the edge probabilities of a belief by its number, as a [`Proposal`] has it.
    pub fn belief_before(&self, belief: i64) -> Result<(BeliefSummary, EdgeMatrix), LabError> {
        let Belief { summary, ensemble, .. } = self.belief_of(belief)?;
        Ok((summary, ensemble.edge_probabilities()))
    }
}

fn failures(experiment: &super::Experiment) -> usize {
    let newest = experiment.records.values().filter_map(|records| records.last());
    newest.filter(|record| record.status == Status::Failed).count()
}

/// Nothing that was looked at could teach anything.
fn hardly_worth(designed: &DesignRecord) -> bool {
    let looked_at = designed.evaluated.iter().map(|evaluation| evaluation.information);
    looked_at.fold(designed.information, f64::max) < HARDLY_WORTH
}

fn edges(belief: &Belief) -> (Vec<Edge>, Vec<Edge>) {
    let names = belief.ensemble.names();
    let probabilities = belief.ensemble.edge_probabilities();
    let pairs = (0..names.len()).flat_map(|i| (0..names.len()).map(move |j| (i, j)));
    let mut all: Vec<Edge> = pairs
        .filter(|(i, j)| i != j)
        .map(|(i, j)| Edge { from: names[i].clone(), to: names[j].clone(), probability: probabilities[i][j] })
        .collect();
    all.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let certain = all.iter().filter(|edge| edge.probability > 0.5).take(LISTED).cloned().collect();
    all.sort_by(|a, b| (a.probability - 0.5).abs().total_cmp(&(b.probability - 0.5).abs()));
    let open = |edge: &&Edge| edge.probability > 0.05 && edge.probability < 0.95;
    (certain, all.iter().filter(open).take(LISTED).cloned().collect())
}
