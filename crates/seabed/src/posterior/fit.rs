//! One interface for all fits: settings, where the fit starts, the result.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::bootstrap::{self, Bootstrap};
use super::dibs::{self, Dibs};
use super::mcmc::{self, Mcmc};
use super::{FitError, Knowledge, StateMismatch};
use crate::JSON_VERSION;
use crate::belief::GraphBelief;
use crate::data::Dataset;
use crate::num::fingerprint;
use crate::num::random::Seed;
use crate::observer::Observer;
use crate::scm::{Ensemble, Scm};
use crate::settings::SettingsError;

/// A posterior with its settings.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Posterior {
    /// The DAG bootstrap.
    Bootstrap(Bootstrap),
    /// DiBS: particles that climb the posterior.
    Dibs(Dibs),
    /// Markov chains over graphs.
    Mcmc(Mcmc),
}

/// Where a fit starts.
#[derive(Clone, PartialEq, Debug)]
pub enum Start {
    /// From the beginning. What an earlier fit computed is reused where that does not change the result.
    Fresh {
        /// The seed of all randomness.
        seed: Seed,
        /// The state at the end of an earlier fit of the same variables.
        earlier: Option<Box<State>>,
    },
    /// From where an earlier fit of fewer data ended: particles continue from there. The result may differ from that
    /// of a fresh fit.
    Warm(Box<State>, Seed),
    /// From where a fit of the same data was stopped: the result is that of an uninterrupted fit. Settings and
    /// seed are those of the state.
    Resumed(Box<State>),
}

impl Start {
    /// From the beginning, without an earlier fit.
    pub fn fresh(seed: Seed) -> Self {
        Self::Fresh { seed, earlier: None }
    }
}

/// The state of a fit, to be saved and resumed; or where it ended, for the next one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum State {
    /// Resamples that are done.
    Bootstrap(bootstrap::State),
    /// Particles.
    Dibs(dibs::State),
    /// Scores of sets of parents, and chains.
    Mcmc(mcmc::State),
}

/// Counts up when a posterior gives other numbers from the same data, settings and seed: what was learned before is then
/// learned again where it would have been kept.
pub const ALGORITHM: u32 = 3;

/// Counts up when older programs cannot read what is saved, or newer ones not what was.
const STATE_VERSION: u32 = 2;

/// A state in its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedState<'a> {
    #[serde(rename = "seabed-state")]
    version: u32,
    /// Of the text of `state`.
    checksum: String,
    #[serde(borrow)]
    state: &'a RawValue,
}

impl State {
    /// As JSON, with a version and a checksum.
    pub fn to_json(&self) -> String {
        let state = serde_json::to_string(self).expect("a state is plain numbers and texts");
        let checksum = fingerprint::of_bytes(state.bytes());
        // Written by hand, so that the checksum is that of these very bytes.
        format!("{{\"seabed-state\":{STATE_VERSION},\"checksum\":\"{checksum:016x}\",\"state\":{state}}}")
    }

    /// The state of a JSON text: refused if it is not exactly what was written.
    pub fn from_json(text: &str) -> Result<Self, FitError> {
        let damaged = |_| FitError::from(StateMismatch::Damaged);
        let Ok(saved) = serde_json::from_str::<SavedState<'_>>(text) else {
            // From before there were versions and checksums, nothing shows whether it is whole.
            let bare = serde_json::from_str::<Self>(text).is_ok();
            let refused = if bare { StateMismatch::Unversioned } else { StateMismatch::Damaged };
            return Err(refused.into());
        };
        if saved.version != STATE_VERSION {
            return Err(StateMismatch::Version { found: saved.version, known: STATE_VERSION }.into());
        }
        let state = saved.state.get();
        if format!("{:016x}", fingerprint::of_bytes(state.bytes())) != saved.checksum {
            return Err(StateMismatch::Damaged.into());
        }
        serde_json::from_str(state).map_err(damaged)
    }

    /// Allows Markov chains this many sweeps, if fewer were allowed; nothing changes for other posteriors.
    pub fn allow_sweeps(&mut self, most: usize) {
        if let Self::Mcmc(state) = self {
            state.settings.most_sweeps = state.settings.most_sweeps.max(most);
        }
    }

    fn bootstrap(self) -> Result<bootstrap::State, FitError> {
        match self {
            Self::Bootstrap(state) => Ok(state),
            _ => Err(StateMismatch::Posterior.into()),
        }
    }

    fn dibs(self, family: dibs::Family) -> Result<dibs::State, FitError> {
        match self {
            Self::Dibs(state) if state.settings.family == family => Ok(state),
            _ => Err(StateMismatch::Posterior.into()),
        }
    }

    fn mcmc(self, family: mcmc::Family) -> Result<mcmc::State, FitError> {
        match self {
            Self::Mcmc(state) if state.settings.family == family => Ok(state),
            _ => Err(StateMismatch::Posterior.into()),
        }
    }

    /// How far the fit is, as text.
    pub fn describe(&self) -> String {
        match self {
            Self::Bootstrap(state) => format!("{} of {} draws are done", state.done(), state.all()),
            Self::Dibs(state) => format!("{} steps are left", state.steps_left()),
            Self::Mcmc(state) => format!("{} sweeps are done", state.sweeps()),
        }
    }
}

/// A posterior and how it was reached.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The weighted models.
    pub ensemble: Ensemble,
    /// What is believed about the graph with parameters integrated out, if this posterior knows it (Markov chains) and
    /// numbers do not run out of digits.
    pub graphs: Option<GraphBelief>,
    /// Draws that were made; equal ones may be merged in the ensemble.
    pub draws: usize,
    /// Draws from which edges had to be removed because of a cycle.
    pub repaired: usize,
    /// Why it should not be trusted as it is.
    pub warning: Option<String>,
    /// How it was reached, as text.
    pub notes: Vec<String>,
    /// How it was reached, for programs.
    pub diagnostics: Diagnostics,
    /// What a later fit may start from, if this posterior supports it.
    pub state: Option<State>,
}

impl Fit {
    /// What to say where all draws have the same graph; none elsewhere.
    pub fn one_graph(&self) -> Option<&'static str> {
        one_graph(&self.ensemble, self.draws)
    }
}

/// What to say where an ensemble of so many draws, equal ones perhaps merged, has one graph; none elsewhere.
pub fn one_graph(ensemble: &Ensemble, draws: usize) -> Option<&'static str> {
    let mut graphs = ensemble.draws().iter().map(Scm::dag);
    let first = graphs.next();
    let one = draws > 1 && graphs.all(|graph| Some(graph) == first);
    one.then_some(
        "all draws have the same graph: that is as sure as this model of the data can be, not as the world is",
    )
}

/// What `seabed fit --json` prints, except for the times. Fields may be added but never renamed.
#[derive(Serialize)]
struct FitForm<'a> {
    version: u32,
    names: &'a [String],
    /// Row -> column, in the order of the names.
    edge_probabilities: Vec<Vec<f64>>,
    expected_edges: f64,
    draws: usize,
    repaired_cyclic: usize,
    diagnostics: &'a Diagnostics,
}

impl Serialize for Fit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let edge_probabilities = self.ensemble.edge_probabilities();
        let form = FitForm {
            version: JSON_VERSION,
            names: self.ensemble.names(),
            expected_edges: edge_probabilities.iter().flatten().sum(),
            edge_probabilities,
            draws: self.draws,
            repaired_cyclic: self.repaired,
            diagnostics: &self.diagnostics,
        };
        form.serialize(serializer)
    }
}

/// How a posterior was reached, for programs.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Diagnostics {
    /// Searches of resampled data.
    Bootstrap(bootstrap::Diagnostics),
    /// Steps of particles.
    Dibs(dibs::Diagnostics),
    /// Agreement of chains.
    Mcmc(Box<mcmc::Report>),
}

impl Posterior {
    /// Are all numbers within their ranges?
    pub fn check(&self) -> Result<(), SettingsError> {
        match self {
            Self::Bootstrap(settings) => settings.check(),
            Self::Dibs(settings) => settings.check(),
            Self::Mcmc(settings) => settings.check(),
        }
    }

    /// The posterior of the data. The observer receives progress and the state of the fit; if it asks to stop,
    /// [`FitError::Stopped`] has the state to resume from.
    pub fn fit(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        start: Start,
        observer: &dyn Observer,
    ) -> Result<Fit, FitError> {
        match self {
            Self::Bootstrap(settings) => match start {
                // Resampling starts over with new data.
                Start::Fresh { seed, .. } | Start::Warm(_, seed) => {
                    settings.fit(data, knowledge, seed, observer)
                }
                Start::Resumed(state) => Bootstrap::resume(state.bootstrap()?, data, knowledge, observer),
            }
            .map(Fit::from),
            Self::Dibs(settings) => match start {
                Start::Fresh { seed, .. } => settings.fit(data, knowledge, seed, observer),
                Start::Warm(state, _) => {
                    settings.fit_from(state.dibs(settings.family)?, data, knowledge, observer)
                }
                Start::Resumed(state) => {
                    Dibs::resume(state.dibs(settings.family)?, data, knowledge, observer)
                }
            }
            .map(Fit::from),
            Self::Mcmc(settings) => match start {
                Start::Fresh { seed, earlier: None } => settings.fit(data, knowledge, seed, observer),
                Start::Fresh { seed, earlier: Some(state) } | Start::Warm(state, seed) => {
                    settings.fit_from(state.mcmc(settings.family)?, data, knowledge, seed, observer)
                }
                Start::Resumed(state) => {
                    Mcmc::resume(state.mcmc(settings.family)?, data, knowledge, observer)
                }
            }
            .map(|fit| fit.named(data)),
        }
    }

    /// Does it say what is believed about the graph with parameters integrated out?
    pub fn gives_graphs(&self) -> bool {
        matches!(self, Self::Mcmc(_))
    }

    /// Remarks on the data before the fit, as text: which edges it cannot consider.
    pub fn remarks(&self, data: &Dataset) -> Vec<String> {
        match self {
            Self::Bootstrap(_) => bootstrap::remarks(data),
            Self::Dibs(_) => Vec::new(),
            Self::Mcmc(_) => mcmc::remarks(data),
        }
    }
}
