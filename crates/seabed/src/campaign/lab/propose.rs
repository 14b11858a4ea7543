//! What to do next: a batch designed from the present belief, beyond what is already under way, kept with an id.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::belief::{Belief, Fitting, default_posterior};
use super::state::{Settings, State};
use super::{Lab, LabError, time};
use crate::campaign::{CampaignError, DesignSettings, Designed, PosteriorSettings};
use crate::design::{Batch, Designer, Goal};
use crate::num::random::{Purpose, Seed};
use crate::scm::Intervention;

/// What is asked for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Wishes {
    /// How beliefs are formed.
    pub posterior: PosteriorSettings,
    /// How experiments are chosen; what can be set to which values stands in the variables file, not here.
    pub design: DesignSettings,
    /// The most that the batch may cost.
    pub budget: Option<f64>,
    /// The most experiments that set the same variable.
    pub max_repeats: Option<usize>,
    /// The most variables that one experiment sets.
    pub max_targets: usize,
    /// What is to be learned.
    pub goal: Goal,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            posterior: default_posterior(),
            design: DesignSettings { batch: 8, ..DesignSettings::default() },
            budget: None,
            max_repeats: None,
            max_targets: 1,
            goal: Goal::Everything,
        }
    }
}

impl Wishes {
    /// What cannot be written down cannot be asked for.
    fn check(&self) -> Result<(), LabError> {
        let text = serde_json::to_string(self).expect("numbers and texts");
        match serde_json::from_str::<Self>(&text) {
            Ok(same) if same == *self => Ok(self.design.check()?),
            _ => Err(LabError::refused("the settings", "every number must be finite")),
        }
    }
}

/// A batch that was proposed.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposed {
    /// The number of the proposal.
    pub id: i64,
    /// The experiments' numbers, in the order of the batch.
    pub experiments: Vec<i64>,
    /// What was chosen, in the laboratory's units.
    pub designed: Designed,
    /// What it was chosen from.
    pub belief: super::BeliefSummary,
    /// Outcomes that are still to come of earlier experiments.
    pub pending: usize,
}

/// A batch is designed so often when others change the campaign meanwhile.
const MOST_TRIES: usize = 5;

impl Lab {
    /// Fits, designs and keeps the proposal. `watch` hears how far the work is and ends it by answering `false`.
    pub fn propose(
        &mut self,
        wishes: &Wishes,
        note: &str,
        watch: &mut (dyn FnMut(Fitting) -> bool + Send),
    ) -> Result<Proposed, LabError> {
        wishes.check()?;
        for _ in 0..MOST_TRIES {
            let state = self.state()?;
            let belief = self.believe(&state, &wishes.posterior, watch)?;
            if !watch(Fitting::Design) {
                return Err(CampaignError::Interrupted.into());
            }
            let (designed, settings) = designed(&state, &belief, wishes)?;
            let kept = self.change(|change, now| {
                // Others may have recorded or proposed meanwhile: then the batch is designed once more.
                if now.revision() != state.revision() {
                    return Ok(None);
                }
                let what = format!("{} experiments", settings.len());
                let action = change.action("propose", &what, &time::now(), note)?;
                let id = change.proposal(action, belief.id, wishes, &designed)?;
                let replicates = wishes.design.replicates as u32;
                let names = state.variables.names();
                let keep =
                    |settings: &Settings| change.experiment(action, Some(id), settings, replicates, names);
                let experiments = settings.iter().map(keep).collect::<Result<Vec<_>, _>>()?;
                Ok(Some((id, experiments)))
            })?;
            if let Some((id, experiments)) = kept {
                let pending = state.pending().count();
                return Ok(Proposed { id, experiments, designed, belief: belief.summary, pending });
            }
        }
        Err(LabError::Changing)
    }
}

/// The batch in the laboratory's units, with the settings of each experiment.
pub(super) fn designed(
    state: &State,
    belief: &Belief,
    wishes: &Wishes,
) -> Result<(Designed, Vec<Settings>), LabError> {
    let start = Instant::now();
    let constraints = state.variables.constraints(wishes.budget, wishes.max_repeats, wishes.max_targets);
    let designer = Designer { goal: wishes.goal, ..wishes.design.designer() };
    let round = state.actions.len();
    let seed = Seed::new(Seed::new(state.seed).stream(Purpose::Laboratory).at(round as u64).draws().bits());
    let batch = designer.design_after(&belief.ensemble, &state.pending_designs(), &constraints, seed, &())?;
    if batch.chosen.is_empty() {
        return Err(CampaignError::EmptyBatch { round: state.proposals.len() + 1 }.into());
    }
    let settings: Vec<Settings> =
        batch.chosen.iter().map(|chosen| state.variables.to_laboratory(&chosen.design)).collect();
    let designed = in_laboratory_units(&batch, state, start.elapsed().as_secs_f64());
    let numbers = designed.batch.iter().flat_map(|e| [e.information, e.standard_error, e.gain]);
    if !numbers.chain([designed.information, designed.standard_error]).all(f64::is_finite) {
        return Err(LabError::Extreme);
    }
    Ok((designed, settings))
}

fn in_laboratory_units(batch: &Batch, state: &State, seconds: f64) -> Designed {
    let names = state.variables.names();
    let named = |design: &Intervention| -> Vec<(String, f64)> {
        let settings = state.variables.to_laboratory(design);
        settings.into_iter().map(|(node, value)| (names[node].clone(), value)).collect()
    };
    let mut designed = Designed::new(batch, seconds);
    for (experiment, chosen) in designed.batch.iter_mut().zip(&batch.chosen) {
        experiment.targets = named(&chosen.design);
    }
    for (evaluation, evaluated) in designed.evaluated.iter_mut().zip(&batch.evaluated) {
        evaluation.targets = named(&evaluated.design);
    }
    // What cannot be estimated is not worth keeping, and no number in a file.
    designed.evaluated.retain(|e| e.information.is_finite() && e.standard_error.is_finite());
    designed
}
