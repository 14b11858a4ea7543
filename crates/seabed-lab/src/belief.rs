//! The belief after the rows in force: fitted once, stored in the file, and read from there afterwards.
//!
//! A belief is keyed by all that it depends on (data, knowledge, settings, seed, version of the algorithm), so undoing and redoing finds it again. A
//! long fit saves its state in the file regularly, and continues from there after a kill.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use seabed::belief::{self, GraphBelief};
use seabed::campaign::CampaignError;
use seabed::checks::{self, CheckError, Finding};
use seabed::data::Dataset;
use seabed::observer::{Observer, Progress};
use seabed::posterior::{self, ALGORITHM, Fit, FitError, PosteriorSettings};
use seabed::scm::Ensemble;
use serde::{Deserialize, Serialize};

use super::intake::hash;
use super::propose::ProposalRequest;
use super::state::State;
use super::{Lab, LabError, time};

/// What is stored of a belief beside the ensemble and the graphs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BeliefSummary {
    /// Rows it was learned from.
    pub rows: usize,
    /// Of these, under interventions.
    pub interventional: usize,
    /// Rows left out because a value is missing.
    pub set_aside: usize,
    /// How it was learned.
    pub posterior: PosteriorSettings,
    /// Entropy of the edge probabilities, in nats.
    pub edge_entropy: f64,
    /// Draws whose cycles were broken.
    pub repaired_cyclic: usize,
    /// Graphs that are stored with it, parameters integrated out; `None` in files of versions that did not store them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graphs: Option<usize>,
    /// Why it should not be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Where certainty may be false although the fit itself found nothing wrong; empty in files of versions that did not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// What in the data its models cannot have made; empty in files of versions that did not check.
    #[serde(default)]
    pub checks: Vec<Finding>,
    /// Wall time, in seconds.
    pub seconds: f64,
}

/// How often a long fit saves its state.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(5);

/// Saving takes at most one part in so many of the time: meanwhile nobody else can write, and large states take long.
const SHARE: u32 = 40;

/// The final state of the newest fit is stored under this key among the unfinished ones: the next fit reuses its scores.
fn newest() -> String {
    format!("newest by algorithm {ALGORITHM}")
}

/// A stored or a new belief.
pub(super) struct Belief {
    pub(super) id: i64,
    pub(super) summary: BeliefSummary,
    pub(super) ensemble: Ensemble,
    /// Read only where they are asked for, because their laws are costly to make again.
    pub(super) graphs: Option<GraphBelief>,
}

impl Lab {
    /// The belief after the rows in force, if it is stored.
    pub(super) fn known_belief(
        &self,
        state: &State,
        posterior: &PosteriorSettings,
    ) -> Result<Option<Belief>, LabError> {
        let (Some(data), _) = state.data() else { return Ok(None) };
        self.stored(&key(&data, state, posterior), false, &())
    }

    /// The belief that a request needs after the rows in force, stored or fitted now; `to_design` a batch from it, with the graphs
    /// where its strategy needs them. The observer watches the fit; a stopped fit is continued the next time.
    pub(crate) fn fitted_belief(
        &mut self,
        state: &State,
        request: &ProposalRequest,
        to_design: bool,
        observer: &dyn Observer,
    ) -> Result<Belief, LabError> {
        let (Some(data), set_aside) = state.data() else { return Err(LabError::NoData) };
        let settings = &request.posterior;
        let key = key(&data, state, settings);
        let with_graphs = to_design && request.design.strategy.parts().0.needs_graphs();
        let stored = self.stored(&key, with_graphs, observer)?;
        let without_graphs = match stored {
            Some(belief) if with_graphs && belief.summary.graphs.is_none() => Some(belief),
            Some(belief) => return Ok(belief),
            None => None,
        };
        let clock = Instant::now();
        let fit = self.fit(state, settings, &data, &key, observer)?;
        let checks = match (checks::check(&data, &fit.ensemble, observer), &fit.state) {
            // The fit may have taken hours: resumed from here, it is at its end.
            (Err(CheckError::Stopped), Some(reached)) => {
                self.store_unfinished(&key, &reached.to_json())?;
                return Err(LabError::Stopped);
            }
            // A fit that cannot be resumed is kept; it has taken seconds.
            (Err(CheckError::Stopped), None) => checks::check(&data, &fit.ensemble, &()).unwrap_or_default(),
            (checks, _) => checks.unwrap_or_default(),
        };
        let caution = checks::caution(&checks, fit.warning.is_some());
        let summary = BeliefSummary {
            rows: data.rows(),
            interventional: (0..data.rows()).filter(|&row| !data.targets(row).is_empty()).count(),
            set_aside,
            posterior: settings.clone(),
            edge_entropy: fit.ensemble.edge_entropy(),
            repaired_cyclic: fit.repaired,
            graphs: Some(fit.graphs.as_ref().map_or(0, |graphs| graphs.graphs().len())),
            cautions: fit.one_graph().into_iter().chain(caution).map(str::to_string).collect(),
            warning: fit.warning,
            checks,
            seconds: clock.elapsed().as_secs_f64(),
        };
        // What an earlier version stored and proposals were designed from stays, and the graphs are added.
        let (summary, ensemble) = match without_graphs {
            Some(old) => (BeliefSummary { graphs: summary.graphs, ..old.summary }, old.ensemble),
            None => (summary, fit.ensemble),
        };
        let text = serde_json::to_string(&summary).expect("numbers and texts");
        let file = belief::to_npz(&ensemble, fit.graphs.as_ref());
        let id = self.store_belief(&key, &time::now(), &text, &file)?;
        if let Some(state) = &fit.state {
            self.store_unfinished(&newest(), &state.to_json())?;
        }
        Ok(Belief { id, summary, ensemble, graphs: fit.graphs })
    }

    /// Continues an earlier, stopped fit of the same rows, or starts one that reuses what the newest fit computed.
    fn fit(
        &mut self,
        state: &State,
        settings: &PosteriorSettings,
        data: &Dataset,
        key: &str,
        observer: &dyn Observer,
    ) -> Result<Fit, LabError> {
        // A state that is edited or of another version is useless: the fit starts over.
        let saved = |key: &str| -> Result<Option<posterior::State>, LabError> {
            Ok(self.unfinished(key)?.and_then(|text| posterior::State::from_json(&text).ok()))
        };
        let states = (saved(key)?, saved(&newest())?);
        let mut campaign = state.campaign(data, settings)?.with_states(states.0, states.1);
        let checkpointer = Checkpointer::new(self, key, observer);
        let fit = campaign.fit(&checkpointer);
        checkpointer.failed()?;
        if let Err(CampaignError::Fit(FitError::Stopped(reached))) = &fit {
            self.store_unfinished(key, &reached.to_json())?;
        }
        Ok(fit?)
    }

    fn stored(
        &self,
        key: &str,
        with_graphs: bool,
        observer: &dyn Observer,
    ) -> Result<Option<Belief>, LabError> {
        let Some((id, summary, file)) = self.belief(key)? else { return Ok(None) };
        let (summary, source) = (self.parsed_summary(id, &summary)?, format!("belief {id}"));
        let (ensemble, graphs) = if with_graphs {
            belief::from_bytes_watched(&file, &source, observer)?
        } else {
            (Ensemble::from_bytes(&file, &source)?, None)
        };
        Ok(Some(Belief { id, summary, ensemble, graphs }))
    }

    /// How the newest stored belief was formed.
    pub(super) fn last_posterior(&self) -> Result<Option<PosteriorSettings>, LabError> {
        let Some(id) = self.newest_belief_number()? else { return Ok(None) };
        Ok(Some(self.summary_of(id)?.posterior))
    }

    /// A belief by its number, without graphs.
    pub(super) fn belief_of(&self, id: i64) -> Result<Belief, LabError> {
        let (summary, file) = self.belief_numbered(id)?;
        let ensemble = Ensemble::from_bytes(&file, &format!("belief {id}"))?;
        Ok(Belief { id, summary: self.parsed_summary(id, &summary)?, ensemble, graphs: None })
    }

    /// The summary of a belief by its number, as a [`Proposal`](super::Proposal) has it.
    pub fn summary_of(&self, id: i64) -> Result<BeliefSummary, LabError> {
        self.parsed_summary(id, &self.summary_numbered(id)?)
    }

    fn parsed_summary(&self, id: i64, summary: &str) -> Result<BeliefSummary, LabError> {
        serde_json::from_str(summary).map_err(|error| LabError::Damaged {
            path: self.path.clone(),
            problem: format!("belief {id}: {error}"),
        })
    }
}

/// Saves the state of a long fit regularly.
struct Checkpointer<'a> {
    observer: &'a dyn Observer,
    key: &'a str,
    inner: Mutex<Checkpoints<'a>>,
}

struct Checkpoints<'a> {
    lab: &'a mut Lab,
    next: Instant,
    failed: Option<LabError>,
}

impl<'a> Checkpointer<'a> {
    fn new(lab: &'a mut Lab, key: &'a str, observer: &'a dyn Observer) -> Self {
        Self {
            observer,
            key,
            inner: Mutex::new(Checkpoints { lab, next: Instant::now() + CHECKPOINT_EVERY, failed: None }),
        }
    }

    /// Why the fit was stopped, if the file could not be written.
    fn failed(self) -> Result<(), LabError> {
        self.inner.into_inner().ok().and_then(|checkpoints| checkpoints.failed).map_or(Ok(()), Err)
    }
}

impl Observer for Checkpointer<'_> {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        self.observer.progress(progress)
    }

    fn checkpoint(&self, state: &dyn Fn() -> String) -> bool {
        let Ok(mut checkpoints) = self.inner.lock() else { return false };
        let began = Instant::now();
        if began >= checkpoints.next {
            checkpoints.failed = checkpoints.lab.store_unfinished(self.key, &state()).err();
            checkpoints.next = Instant::now() + CHECKPOINT_EVERY.max(SHARE * began.elapsed());
        }
        checkpoints.failed.is_none()
    }
}

/// A hash of all that a belief depends on.
fn key(data: &Dataset, state: &State, posterior: &PosteriorSettings) -> String {
    let mut bytes: Vec<u8> = Vec::new();
    // A version that gives other numbers from the same data must not serve what an earlier one believed.
    bytes.extend(ALGORITHM.to_le_bytes());
    bytes.extend(state.seed.to_le_bytes());
    bytes.extend(serde_json::to_vec(posterior).expect("numbers and texts"));
    bytes.extend(serde_json::to_vec(&data.names()[..]).expect("texts"));
    bytes.extend(format!("{:?}", state.variables.knowledge()).into_bytes());
    for row in 0..data.rows() {
        bytes.push(b'\n');
        bytes.extend(data.targets(row).iter().flat_map(|node| (node as u64).to_le_bytes()));
        bytes.push(b':');
        bytes.extend(data.columns().iter().flat_map(|column| column[row].to_bits().to_le_bytes()));
    }
    hash(&bytes)
}
