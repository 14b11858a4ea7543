//! The loop in memory: ask for a batch, carry it out, tell the outcomes, ask again.
//!
//! A [`Campaign`] holds everything that the next answer depends on, and can be saved and loaded between any two calls. It
//! uses no files and no clock; a laboratory's database and bindings to other languages are built on it.
//!
//! ```text
//! new ──> ask ──> (the experiments are made) ──> tell ──> ask …
//!          │ stopped: the next ask resumes the fit
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::belief::{self, GraphBelief};
use crate::data::{DataError, Dataset, Names};
use crate::design::{Batch, Belief, ConstraintError, Constraints, DesignError, Designer, NamedConstraints};
use crate::num::fingerprint;
use crate::num::random::{Purpose, Seed, Stream};
use crate::observer::{Observer, Stage};
use crate::posterior::{
    Fit, FitError, Knowledge, KnowledgeError, KnowledgeForm, Posterior, PosteriorKind, PosteriorSettings,
    Start, State,
};
use crate::scm::{Ensemble, Intervention, InterventionError};
use crate::settings::SettingsError;
use crate::{ErrorKind, JSON_VERSION};

/// Data, the belief after them, and what is pending.
#[derive(Clone, Debug)]
pub struct Campaign {
    data: Dataset,
    knowledge: Knowledge,
    constraints: Constraints,
    posterior: Posterior,
    designer: Designer,
    seed: u64,
    /// How often a batch was asked for: every batch has its own randomness.
    round: u64,
    /// Outcomes that are still to come, one per row.
    pending: Vec<Intervention>,
    /// The belief after all data, if it was fitted.
    belief: Option<Ensemble>,
    /// What is believed about the graph; fitted again where a strategy needs it and it is not known.
    graphs: Option<GraphBelief>,
    /// A fit of these data that was stopped.
    unfinished: Option<State>,
    /// Where the latest fit ended: the next one can use what it computed.
    earlier: Option<State>,
}

/// Why a campaign cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// No posterior.
    #[error("posterior: {0}")]
    Fit(#[from] FitError),
    /// No design.
    #[error("design: {0}")]
    Design(#[from] DesignError),
    /// No experiment is possible.
    #[error("no experiment is possible under the constraints")]
    EmptyBatch,
    /// Settings that cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Outcomes of other variables.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A text that is not a saved campaign.
    #[error("this is not a saved campaign: {problem}")]
    Saved {
        /// What is wrong.
        problem: String,
    },
}

impl CampaignError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Fit(error) => error.kind(),
            Self::Design(error) => error.kind(),
            Self::Data(error) => error.kind(),
            Self::EmptyBatch | Self::Settings(_) | Self::Saved { .. } => ErrorKind::Input,
        }
    }
}

impl Campaign {
    /// A campaign that starts with these data: they are fitted as by `seabed fit`, every variable that varied can be set
    /// within what was observed, batches as [`Designer::default`] chooses them. The `with_…` methods change that.
    pub fn new(data: Dataset) -> Self {
        let settings = PosteriorSettings::for_own_data(PosteriorKind::McmcGp);
        Self {
            knowledge: Knowledge::none(data.variables()),
            constraints: Constraints::observed(&data),
            posterior: settings.check(None).expect("the default settings are valid"),
            designer: Designer::default(),
            seed: 0,
            round: 0,
            pending: Vec::new(),
            belief: None,
            graphs: None,
            unfinished: None,
            earlier: None,
            data,
        }
    }

    /// With background knowledge.
    #[must_use]
    pub fn with_knowledge(mut self, knowledge: Knowledge) -> Self {
        self.knowledge = knowledge;
        (self.belief, self.graphs) = (None, None);
        self
    }

    /// With what can be set, to which values, at what cost.
    #[must_use]
    pub fn with_constraints(mut self, constraints: Constraints) -> Self {
        self.constraints = constraints;
        self
    }

    /// With another posterior.
    #[must_use]
    pub fn with_posterior(mut self, posterior: Posterior) -> Self {
        self.posterior = posterior;
        (self.belief, self.graphs) = (None, None);
        self
    }

    /// With other settings for the choice of batches.
    #[must_use]
    pub fn with_designer(mut self, designer: Designer) -> Self {
        self.designer = designer;
        self
    }

    /// With another seed, as if a batch had been asked for `round` times.
    #[must_use]
    pub fn with_seed(mut self, seed: u64, round: u64) -> Self {
        (self.seed, self.round) = (seed, round);
        self
    }

    /// With outcomes that are still to come, one per row.
    #[must_use]
    pub fn with_pending(mut self, pending: Vec<Intervention>) -> Self {
        self.pending = pending;
        self
    }

    /// With a belief that was fitted to these data before, its graphs too where they are known.
    #[must_use]
    pub fn with_belief(mut self, belief: Ensemble, graphs: Option<GraphBelief>) -> Self {
        (self.belief, self.graphs) = (Some(belief), graphs);
        self
    }

    /// With the state of a stopped fit of these data, and of the latest finished one.
    #[must_use]
    pub fn with_states(mut self, unfinished: Option<State>, earlier: Option<State>) -> Self {
        (self.unfinished, self.earlier) = (unfinished, earlier);
        self
    }

    /// All data so far.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// Outcomes that are still to come, one per row.
    pub fn pending(&self) -> &[Intervention] {
        &self.pending
    }

    /// The belief after all data, if it was fitted.
    pub fn belief(&self) -> Option<&Ensemble> {
        self.belief.as_ref()
    }

    /// What is believed about the graph after all data, if it was fitted and the posterior knows it.
    pub fn graphs(&self) -> Option<&GraphBelief> {
        self.graphs.as_ref()
    }

    /// The posterior that data are fitted by.
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// Learns from all data so far. A stopped fit is resumed; a saved state that does not match (of another version, say)
    /// is ignored.
    pub fn fit(&mut self, observer: &dyn Observer) -> Result<Fit, CampaignError> {
        let seed = Seed::new(self.stream().named("fit").draws().bits());
        let fresh = |earlier: Option<&State>| Start::Fresh { seed, earlier: earlier.cloned().map(Box::new) };
        let starts = [
            self.unfinished.clone().map(|state| Start::Resumed(Box::new(state))),
            self.earlier.as_ref().map(|state| fresh(Some(state))),
        ];
        let mut fit = None;
        for start in starts.into_iter().flatten() {
            match self.posterior.fit(&self.data, &self.knowledge, start, observer) {
                Err(FitError::State { .. }) => {}
                ended => {
                    fit = Some(ended);
                    break;
                }
            }
        }
        let ended =
            fit.unwrap_or_else(|| self.posterior.fit(&self.data, &self.knowledge, fresh(None), observer));
        match ended {
            Ok(fit) => {
                self.unfinished = None;
                self.earlier = fit.state.clone();
                self.belief = Some(fit.ensemble.clone());
                self.graphs = fit.graphs.clone();
                Ok(fit)
            }
            Err(error) => {
                if let FitError::Stopped(state) = &error {
                    self.unfinished = Some((**state).clone());
                }
                Err(error.into())
            }
        }
    }

    /// The next batch, beyond what is pending; its experiments are pending from now on, as often as they are repeated.
    /// Learns from the data first, if that was not done.
    pub fn ask(&mut self, observer: &dyn Observer) -> Result<Batch, CampaignError> {
        self.designer.check()?;
        let needs_graphs = self.designer.strategy.parts().0.needs_graphs();
        if self.belief.is_none() || (needs_graphs && self.graphs.is_none() && self.posterior.gives_graphs()) {
            self.fit(&Stage { observer, name: "fit".into() })?;
        }
        let models = self.belief.as_ref().expect("fitted above");
        let belief = Belief { models, graphs: self.graphs.as_ref() };
        let seed = Seed::new(self.stream().at(self.round).draws().bits());
        let stage = Stage { observer, name: "design".into() };
        let batch = self.designer.design_after(belief, &self.pending, &self.constraints, seed, &stage)?;
        if batch.chosen.is_empty() {
            return Err(CampaignError::EmptyBatch);
        }
        self.round += 1;
        for chosen in &batch.chosen {
            self.pending.extend(std::iter::repeat_n(chosen.design.clone(), chosen.rows));
        }
        Ok(batch)
    }

    /// Records outcomes. A row answers the pending experiment that set the same variables, to the same values if there
    /// is one; rows that were not asked for are accepted too. On an error nothing is changed.
    pub fn tell(&mut self, outcomes: &Dataset) -> Result<(), CampaignError> {
        let outcomes = outcomes.reordered(self.data.names())?;
        self.data.append(&outcomes)?;
        for row in 0..outcomes.rows() {
            let targets = outcomes.targets(row);
            let same_targets = |design: &Intervention| design.targets(outcomes.variables()) == *targets;
            let same_values = |design: &Intervention| {
                same_targets(design)
                    && design.settings().iter().all(|&(node, value)| outcomes.column(node)[row] == value)
            };
            let answered = self.pending.iter().position(same_values);
            if let Some(place) = answered.or_else(|| self.pending.iter().position(same_targets)) {
                self.pending.remove(place);
            }
        }
        (self.belief, self.graphs) = (None, None);
        self.unfinished = None;
        Ok(())
    }

    /// Forgets the pending experiments, which will have no outcomes.
    pub fn forget_pending(&mut self) {
        self.pending.clear();
    }

    fn stream(&self) -> Stream {
        Seed::new(self.seed).stream(Purpose::Laboratory)
    }
}

/// The checksum of a saved campaign. Of what the text means, because programs in other languages read and write it
/// with other spaces and other digits for the same numbers.
fn checksum(saved: &Value) -> String {
    format!("{:016x}", fingerprint::of_bytes(saved.to_string().into_bytes()))
}

/// A campaign as JSON, everything by the names of the variables; in its file beside a checksum of the whole.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    version: u32,
    names: Vec<String>,
    /// `[variable][row]`.
    columns: Vec<Vec<f64>>,
    /// The targets of every row.
    targets: Vec<Vec<String>>,
    knowledge: KnowledgeForm,
    constraints: NamedConstraints,
    posterior: Posterior,
    designer: Designer,
    seed: u64,
    round: u64,
    /// What is set to what, one per row.
    pending: Vec<Vec<(String, f64)>>,
    belief: Option<Value>,
    unfinished: Option<State>,
    earlier: Option<State>,
}

impl Campaign {
    /// The campaign as a text for [`Campaign::from_json`].
    pub fn to_json(&self) -> String {
        let names = self.data.names();
        let named = |node: usize| names[node].clone();
        let settings = |design: &Intervention| {
            design.settings().iter().map(|&(node, value)| (named(node), value)).collect()
        };
        let saved = Saved {
            version: JSON_VERSION,
            names: names.to_vec(),
            columns: self.data.columns().to_vec(),
            targets: (0..self.data.rows())
                .map(|row| self.data.targets(row).iter().map(named).collect())
                .collect(),
            knowledge: self.knowledge.to_form(names),
            constraints: NamedConstraints::new(&self.constraints, names),
            posterior: self.posterior.clone(),
            designer: self.designer.clone(),
            seed: self.seed,
            round: self.round,
            pending: self.pending.iter().map(settings).collect(),
            belief: self
                .belief
                .as_ref()
                .map(|models| belief::to_json(models, self.graphs.as_ref()))
                .map(|text| serde_json::from_str(&text).expect("our own JSON is valid")),
            unfinished: self.unfinished.clone(),
            earlier: self.earlier.clone(),
        };
        let mut value = serde_json::to_value(&saved).expect("numbers and texts");
        value["checksum"] = checksum(&value).into();
        value.to_string()
    }

    /// A campaign that was saved.
    pub fn from_json(text: &str) -> Result<Self, CampaignError> {
        // A name in the text may be of any length.
        let wrong = |problem: String| CampaignError::Saved { problem: problem.chars().take(300).collect() };
        let mut value: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if let Some(version) = value["version"].as_u64().filter(|version| *version > u64::from(JSON_VERSION))
        {
            return Err(wrong(format!("it has version {version}, newer than {JSON_VERSION}")));
        }
        let found = value.as_object_mut().and_then(|fields| fields.remove("checksum"));
        if found != Some(checksum(&value).into()) {
            return Err(wrong("it is incomplete, was edited, or is of an older version".into()));
        }
        let saved: Saved = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        let names: Names = saved.names.into();
        let targets: Vec<Vec<&str>> =
            saved.targets.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
        let data = Dataset::from_columns(&names, saved.columns, &targets)?;
        let knowledge = Knowledge::from_form(&saved.knowledge, &names)
            .map_err(|error: KnowledgeError| wrong(error.to_string()))?;
        let constraints = saved
            .constraints
            .constraints(&names)
            .map_err(|error: ConstraintError| wrong(error.to_string()))?;
        let node = |name: &String| {
            crate::data::position(&names, name).ok_or_else(|| wrong(format!("{name:?} is not a variable")))
        };
        let design = |settings: &Vec<(String, f64)>| {
            let settings = settings
                .iter()
                .map(|(name, value)| Ok((node(name)?, *value)))
                .collect::<Result<Vec<_>, CampaignError>>()?;
            Intervention::new(settings).map_err(|error: InterventionError| wrong(error.to_string()))
        };
        let belief = |value: Value| {
            belief::from_bytes(value.to_string().as_bytes(), "belief")
                .map_err(|error| wrong(error.to_string()))
        };
        saved.posterior.check()?;
        saved.designer.check()?;
        let (belief, graphs) = saved.belief.map(belief).transpose()?.unzip();
        if belief.as_ref().is_some_and(|belief| belief.names() != &names) {
            return Err(wrong("its belief is about other variables".into()));
        }
        Ok(Self {
            pending: saved.pending.iter().map(design).collect::<Result<_, _>>()?,
            data,
            knowledge,
            constraints,
            posterior: saved.posterior,
            designer: saved.designer,
            seed: saved.seed,
            round: saved.round,
            belief,
            graphs: graphs.flatten(),
            unfinished: saved.unfinished,
            earlier: saved.earlier,
        })
    }
}
