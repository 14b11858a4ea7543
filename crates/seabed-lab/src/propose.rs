//! Proposals: a batch designed from the current belief, taking pending experiments into account, and stored with an id.

use std::time::Instant;

use seabed::JSON_VERSION;
use seabed::design::{
    Batch, Constraints, Decision, DesignError, DesignRecord, DesignSettings, Designer, ExperimentRecord,
    Forecast, Goal, Strategy, Temperature, ValuesName,
};
use seabed::observer::{Effort, Observer};
use seabed::posterior::{PosteriorKind, PosteriorSettings};
use seabed::scm::Intervention;
use serde::{Deserialize, Serialize, Serializer};

use super::belief::Belief;
use super::form::experiment_name;
use super::state::{Settings, State};
use super::{Lab, LabError};

/// What is asked for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ProposalRequest {
    /// How beliefs are formed.
    pub posterior: PosteriorSettings,
    /// How experiments are chosen; what can be set to which values is in the variables file, not here.
    pub design: DesignSettings,
    /// Maximum cost of the batch.
    pub budget: Option<f64>,
    /// Maximum number of experiments that set the same variable.
    pub max_repeats: Option<usize>,
    /// Maximum number of variables that one experiment sets.
    pub max_targets: usize,
    /// What to learn, by the names of the variables: `edge=A,B`, `parents=A`, `descendants=A` or `effect=A,B`; empty for
    /// the whole model.
    pub goal: String,
}

impl Default for ProposalRequest {
    fn default() -> Self {
        Self {
            posterior: PosteriorSettings::for_own_data(PosteriorKind::McmcGp),
            design: DesignSettings {
                batch: 8,
                strategy: Strategy::recommended(true),
                values: ValuesName::Refined,
                temperature: Temperature::Relative,
                ..DesignSettings::default()
            },
            budget: None,
            max_repeats: None,
            max_targets: 1,
            goal: String::new(),
        }
    }
}

impl ProposalRequest {
    /// Checks the request before any work. It must survive being stored, so all numbers must be finite.
    pub fn check(&self, names: &[String]) -> Result<(), LabError> {
        self.question(names)?;
        let posterior = self.posterior.check(None)?;
        if self.design.strategy.parts().0.needs_graphs() && !posterior.gives_graphs() {
            return Err(LabError::Design(DesignError::NoGraphs));
        }
        let DesignSettings { goal, forbidden, without_replacement, .. } = &self.design;
        if !goal.is_empty() || !forbidden.is_empty() || *without_replacement {
            let problem = "design.goal, design.forbidden and design.without-replacement are for `seabed run` and \
                           `seabed sweep`; use --goal, --max-repeats and the variables file";
            return Err(LabError::refused("the settings", problem));
        }
        let text = serde_json::to_string(self).expect("numbers and texts");
        match serde_json::from_str::<Self>(&text) {
            Ok(same) if same == *self => Ok(self.design.check()?),
            _ => Err(LabError::refused("the settings", "every number must be finite")),
        }
    }
}

impl ProposalRequest {
    /// The question, for variables with these names.
    fn question(&self, names: &[String]) -> Result<Goal, LabError> {
        if self.goal.is_empty() {
            return Ok(Goal::Everything);
        }
        Goal::parse(&self.goal, names).map_err(|error| LabError::refused("the goal", error.to_string()))
    }

    fn designer(&self, names: &[String]) -> Result<Designer, LabError> {
        Ok(Designer { goal: self.question(names)?, ..self.design.designer() })
    }

    /// What can be set, in the units of the fit.
    fn constraints(&self, state: &State) -> Constraints {
        Constraints {
            experiment_cost: self.design.experiment_cost,
            ..state.variables.constraints(self.budget, self.max_repeats, self.max_targets)
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
    /// How it was chosen.
    pub strategy: Strategy,
    /// What was chosen, in the laboratory's units.
    pub designed: DesignRecord,
    /// The belief it was chosen from.
    pub belief: super::BeliefSummary,
    /// Pending outcomes of earlier experiments.
    pub pending: usize,
    /// What to beware of in the data and in what was proposed.
    pub warnings: Vec<String>,
}

/// A proposal as JSON: the shape of [`Batch`], with the numbers that the laboratory knows it by.
#[derive(Serialize)]
struct ProposedForm<'a> {
    version: u32,
    proposal: i64,
    strategy: Strategy,
    batch: Vec<ExperimentForm<'a>>,
    batch_information: f64,
    batch_standard_error: f64,
    entropy: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<Forecast>,
    belief: &'a super::BeliefSummary,
    pending: usize,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct ExperimentForm<'a> {
    experiment: String,
    #[serde(serialize_with = "as_object")]
    targets: &'a [(String, f64)],
    rows: usize,
    information: f64,
    standard_error: f64,
    gain: f64,
    cost: f64,
    decides: &'a [Decision],
}

impl<'a> ExperimentForm<'a> {
    fn new((record, id): (&'a ExperimentRecord, &i64)) -> Self {
        Self {
            experiment: experiment_name(*id),
            targets: &record.targets,
            rows: record.rows.unwrap_or(1),
            information: record.information,
            standard_error: record.standard_error,
            gain: record.gain,
            cost: record.cost,
            decides: &record.decides,
        }
    }
}

/// Names and values as one JSON object.
pub(crate) fn as_object<S: Serializer, T: AsRef<[(String, f64)]>>(
    targets: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(targets.as_ref().iter().map(|(name, value)| (name, value)))
}

impl Serialize for Proposed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = ProposedForm {
            version: JSON_VERSION,
            proposal: self.id,
            strategy: self.strategy,
            batch: self.designed.batch.iter().zip(&self.experiments).map(ExperimentForm::new).collect(),
            batch_information: self.designed.information,
            batch_standard_error: self.designed.standard_error,
            entropy: self.designed.entropy,
            forecast: self.designed.forecast,
            belief: &self.belief,
            pending: self.pending,
            warnings: &self.warnings,
        };
        form.serialize(serializer)
    }
}

/// How often a batch is redesigned if others change the campaign meanwhile.
const MOST_TRIES: usize = 5;

impl Lab {
    /// Fits, designs and stores the proposal; the observer watches fit and design.
    pub fn propose(
        &mut self,
        request: &ProposalRequest,
        note: &str,
        observer: &dyn Observer,
    ) -> Result<Proposed, LabError> {
        for _ in 0..MOST_TRIES {
            let state = self.state()?;
            let names = state.variables.names();
            request.check(names)?;
            request.constraints(&state).check(names, request.design.batch).map_err(DesignError::from)?;
            let belief = self.fitted_belief(&state, request, true, observer)?;
            let (designed, settings) = designed(&state, &belief, request, observer)?;
            let kept = self.change(|change, now| {
                // If others have changed the campaign meanwhile, the batch is designed again.
                if now.revision() != state.revision() {
                    return Ok(None);
                }
                let what = format!("{} experiments", settings.len());
                let action = change.action("propose", &what, note)?;
                let id = change.proposal(action, belief.id, request, &designed)?;
                let keep = |(settings, rows): &(Settings, u32)| {
                    change.experiment(action, Some(id), settings, *rows, names)
                };
                let experiments = settings.iter().map(keep).collect::<Result<Vec<_>, _>>()?;
                Ok(Some((id, experiments)))
            })?;
            if let Some((id, experiments)) = kept {
                let pending = state.pending().count();
                let (strategy, belief) = (request.design.strategy, belief.summary);
                let settings: Vec<Settings> = settings.into_iter().map(|(settings, _)| settings).collect();
                let warnings = state.traps(&settings);
                return Ok(Proposed { id, experiments, strategy, designed, belief, pending, warnings });
            }
        }
        Err(LabError::Changing)
    }

    /// What it will take, about, to learn from the rows in force, and then, if asked for, to design the batch of a request.
    /// What the file has learned already takes nothing.
    pub fn effort(
        &self,
        state: &State,
        request: &ProposalRequest,
        with_design: bool,
    ) -> Result<Effort, LabError> {
        request.design.check()?;
        let posterior = request.posterior.check(None)?;
        let names = state.variables.names();
        let learned = self.known_belief(state, &request.posterior)?.is_some();
        let fit =
            if learned { Effort::default() } else { posterior.effort(state.rows().count(), names.len()) };
        if !with_design {
            return Ok(fit);
        }
        Ok(fit.then(
            request.designer(names)?.effort(posterior.models(names.len()), &request.constraints(state)),
        ))
    }
}

/// The batch in the laboratory's units, with the settings of each experiment and its rows.
pub(crate) fn designed(
    state: &State,
    belief: &Belief,
    request: &ProposalRequest,
    observer: &dyn Observer,
) -> Result<(DesignRecord, Vec<(Settings, u32)>), LabError> {
    let start = Instant::now();
    let (Some(data), _) = state.data() else { return Err(LabError::NoData) };
    if request.design.strategy.parts().0.needs_graphs() && belief.graphs.is_none() {
        return Err(LabError::Design(DesignError::NoGraphs));
    }
    let mut campaign = state
        .campaign(&data, &request.posterior)?
        .with_belief(belief.ensemble.clone(), belief.graphs.clone())
        .with_constraints(request.constraints(state))
        .with_designer(request.designer(state.variables.names())?)
        .with_pending(state.pending_designs());
    let batch = campaign.ask(observer)?;
    let chosen = batch.chosen.iter();
    let settings = chosen.map(|c| (state.variables.to_laboratory(&c.design), c.rows as u32)).collect();
    let designed = in_laboratory_units(&batch, state, start.elapsed().as_secs_f64());
    let numbers = designed.batch.iter().flat_map(|e| [e.information, e.standard_error, e.gain]);
    if !numbers.chain([designed.information, designed.standard_error]).all(f64::is_finite) {
        return Err(LabError::Extreme);
    }
    Ok((designed, settings))
}

fn in_laboratory_units(batch: &Batch, state: &State, seconds: f64) -> DesignRecord {
    let named = |design: &Intervention| state.named(&state.variables.to_laboratory(design));
    let mut designed = DesignRecord::new(batch, seconds);
    for (experiment, chosen) in designed.batch.iter_mut().zip(&batch.chosen) {
        experiment.targets = named(&chosen.design);
    }
    for (evaluation, evaluated) in designed.evaluated.iter_mut().zip(&batch.evaluated) {
        evaluation.targets = named(&evaluated.design);
    }
    // Estimates that are not finite are useless and cannot be stored.
    designed.evaluated.retain(|e| e.information.is_finite() && e.standard_error.is_finite());
    designed
}
