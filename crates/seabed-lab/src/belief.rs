//! The belief after the rows in force: fitted once, stored in the file, and read from there afterwards.
//!
//! A belief is keyed by all that it depends on (data, knowledge, settings, seed), so undoing and redoing finds it again. A
//! long fit saves its state in the file regularly, and continues from there after a kill.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use seabed::campaign::CampaignError;
use seabed::data::Dataset;
use seabed::observer::{Observer, Progress};
use seabed::posterior::{self, Fit, FitError, PosteriorSettings};
use seabed::scm::Ensemble;
use serde::{Deserialize, Serialize};

use super::intake::hash;
use super::state::State;
use super::{Lab, LabError, time};

/// What is stored of a belief beside the ensemble.
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
    /// Why it should not be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Wall time, in seconds.
    pub seconds: f64,
}

/// How often a long fit saves its state.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(5);

/// The final state of the newest fit is stored under this key among the unfinished ones: the next fit reuses its scores.
const NEWEST: &str = "newest";

/// A stored or a new belief.
pub(super) struct Belief {
    pub(super) id: i64,
    pub(super) summary: BeliefSummary,
    pub(super) ensemble: Ensemble,
}

impl Lab {
    /// The belief after the rows in force, if it is stored.
    pub(super) fn known_belief(
        &self,
        state: &State,
        posterior: &PosteriorSettings,
    ) -> Result<Option<Belief>, LabError> {
        let (Some(data), _) = state.data() else { return Ok(None) };
        self.stored(&key(&data, state, posterior))
    }

    /// The belief after the rows in force, stored or fitted now. The observer watches the fit; a stopped fit is continued
    /// the next time.
    pub(crate) fn fitted_belief(
        &mut self,
        state: &State,
        settings: &PosteriorSettings,
        observer: &dyn Observer,
    ) -> Result<Belief, LabError> {
        let (Some(data), set_aside) = state.data() else { return Err(LabError::NoData) };
        let key = key(&data, state, settings);
        if let Some(belief) = self.stored(&key)? {
            return Ok(belief);
        }
        let clock = Instant::now();
        let fit = self.fit(state, settings, &data, &key, observer)?;
        let summary = BeliefSummary {
            rows: data.rows(),
            interventional: (0..data.rows()).filter(|&row| !data.targets(row).is_empty()).count(),
            set_aside,
            posterior: settings.clone(),
            edge_entropy: fit.ensemble.edge_entropy(),
            repaired_cyclic: fit.repaired,
            warning: fit.warning,
            seconds: clock.elapsed().as_secs_f64(),
        };
        let text = serde_json::to_string(&summary).expect("numbers and texts");
        let id = self.store_belief(&key, &time::now(), &text, &fit.ensemble.to_npz())?;
        if let Some(state) = &fit.state {
            self.store_unfinished(NEWEST, &state.to_json())?;
        }
        Ok(Belief { id, summary, ensemble: fit.ensemble })
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
        let states = (saved(key)?, saved(NEWEST)?);
        let mut campaign = state.campaign(data, settings)?.with_states(states.0, states.1);
        let checkpointer = Checkpointer::new(self, key, observer);
        let fit = campaign.fit(&checkpointer);
        checkpointer.failed()?;
        if let Err(CampaignError::Fit(FitError::Stopped(reached))) = &fit {
            self.store_unfinished(key, &reached.to_json())?;
        }
        Ok(fit?)
    }

    fn stored(&self, key: &str) -> Result<Option<Belief>, LabError> {
        let Some((id, summary, ensemble)) = self.belief(key)? else { return Ok(None) };
        self.parsed_belief(id, &summary, &ensemble).map(Some)
    }

    /// A belief by its number.
    pub(super) fn belief_of(&self, id: i64) -> Result<Belief, LabError> {
        let (summary, ensemble) = self.belief_numbered(id)?;
        self.parsed_belief(id, &summary, &ensemble)
    }

    fn parsed_belief(&self, id: i64, summary: &str, ensemble: &[u8]) -> Result<Belief, LabError> {
        let damaged = |error: serde_json::Error| LabError::Damaged {
            path: self.path.clone(),
            problem: format!("belief {id}: {error}"),
        };
        let summary = serde_json::from_str(summary).map_err(damaged)?;
        Ok(Belief { id, summary, ensemble: Ensemble::from_bytes(ensemble, &format!("belief {id}"))? })
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
    last: Instant,
    failed: Option<LabError>,
}

impl<'a> Checkpointer<'a> {
    fn new(lab: &'a mut Lab, key: &'a str, observer: &'a dyn Observer) -> Self {
        Self { observer, key, inner: Mutex::new(Checkpoints { lab, last: Instant::now(), failed: None }) }
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
        if checkpoints.last.elapsed() >= CHECKPOINT_EVERY {
            checkpoints.last = Instant::now();
            checkpoints.failed = checkpoints.lab.store_unfinished(self.key, &state()).err();
        }
        checkpoints.failed.is_none()
    }
}

/// A hash of all that a belief depends on.
fn key(data: &Dataset, state: &State, posterior: &PosteriorSettings) -> String {
    let mut bytes: Vec<u8> = Vec::new();
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
