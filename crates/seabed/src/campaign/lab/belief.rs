//! What is believed after the rows in force: fitted once, kept in the file, taken from there ever after.
//!
//! A belief is addressed by all that it depends on (data, knowledge, settings, seed), so undoing and redoing finds it
//! again. A long fit leaves its state in the file as it goes, and goes on from there after a kill.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::intake::hash;
use super::state::State;
use super::{Lab, LabError, time};
use crate::campaign::{
    Belief as Learned, CampaignError, NoiseName, NoiseSetting, PosteriorKind, PosteriorSettings,
};
use crate::data::Dataset;
use crate::num::random::{Purpose, Seed};
use crate::posterior::dibs::{self, Dibs, End};
use crate::posterior::mcmc::{self, Mcmc, McmcError};
use crate::scm::Ensemble;

/// What is kept of a belief beside the ensemble.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BeliefSummary {
    /// Rows that it was learned from.
    pub rows: usize,
    /// Of these, under interventions.
    pub interventional: usize,
    /// Rows that were set aside because a value is missing.
    pub set_aside: usize,
    /// How it was learned.
    pub posterior: PosteriorSettings,
    /// Entropy of the edge probabilities, in nats.
    pub edge_entropy: f64,
    /// Draws whose cycles were broken.
    pub repaired_cyclic: usize,
    /// Why it should not be trusted as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Wall time, in seconds.
    pub seconds: f64,
}

/// How far the work is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fitting {
    /// So many pieces of the fit are done, out of so many.
    Fit(u64, u64),
    /// The batch is being chosen.
    Design,
}

/// A long fit leaves its state this often.
const KEPT_EVERY: Duration = Duration::from_secs(5);

/// A belief from the file or fresh.
pub(super) struct Belief {
    pub(super) id: i64,
    pub(super) summary: BeliefSummary,
    pub(super) ensemble: Ensemble,
}

/// How a laboratory learns unless it asks for something else: noise is unknown, units are arbitrary.
pub(super) fn default_posterior() -> PosteriorSettings {
    PosteriorSettings {
        kind: PosteriorKind::McmcGp,
        noise: NoiseSetting::Named(NoiseName::Learned),
        standardise: true,
        ..PosteriorSettings::default()
    }
}

impl Lab {
    /// The belief after the rows in force, if it was ever formed.
    pub(super) fn known_belief(
        &self,
        state: &State,
        posterior: &PosteriorSettings,
    ) -> Result<Option<Belief>, LabError> {
        let (Some(data), _) = state.data() else { return Ok(None) };
        self.kept(&key(&data, state, posterior))
    }

    /// The belief after the rows in force. `watch` hears how far the fit is and ends it by answering `false`; the next
    /// one goes on from there.
    pub(super) fn believe(
        &mut self,
        state: &State,
        posterior: &PosteriorSettings,
        watch: &mut (dyn FnMut(Fitting) -> bool + Send),
    ) -> Result<Belief, LabError> {
        let (Some(data), set_aside) = state.data() else { return Err(LabError::NoData) };
        let key = key(&data, state, posterior);
        if let Some(belief) = self.kept(&key)? {
            return Ok(belief);
        }
        let start = Instant::now();
        let belief = match (posterior.kind, posterior.mcmc()) {
            (_, Some(settings)) => self.fit_chains(state, &settings, &data, &key, watch)?,
            (PosteriorKind::Bootstrap, _) => {
                let mut heard = |done: u64, all: u64| watch(Fitting::Fit(done, all));
                posterior.fit(&data, state.variables.knowledge(), None, None, seed(state), &mut heard)?
            }
            _ => self.fit_dibs(state, posterior, &data, &key, watch)?,
        };
        let summary = BeliefSummary {
            rows: data.rows(),
            interventional: (0..data.rows()).filter(|&row| !data.targets(row).is_empty()).count(),
            set_aside,
            posterior: posterior.clone(),
            edge_entropy: belief.ensemble.edge_entropy(),
            repaired_cyclic: belief.repaired,
            warning: belief.warning,
            seconds: start.elapsed().as_secs_f64(),
        };
        let text = serde_json::to_string(&summary).expect("numbers and texts");
        let id = self.keep_belief(&key, &time::now(), &text, &belief.ensemble.to_npz())?;
        Ok(Belief { id, summary, ensemble: belief.ensemble })
    }

    fn fit_dibs(
        &self,
        state: &State,
        posterior: &PosteriorSettings,
        data: &Dataset,
        key: &str,
        watch: &mut (dyn FnMut(Fitting) -> bool + Send),
    ) -> Result<Learned, LabError> {
        let knowledge = state.variables.knowledge();
        let mut keeper = Keeper::new(self, key);
        let mut heard = |reached: &dibs::State| {
            let taken = reached.steps_taken();
            keeper.hears(reached) && watch(Fitting::Fit(taken, taken + reached.steps_left()))
        };
        let fit = match self.reached(key)? {
            Some(reached) => Dibs::resume(reached, data, knowledge, &mut heard),
            None => posterior.dibs(None).fit(data, knowledge, seed(state), &mut heard),
        };
        let fit = fit.map_err(CampaignError::from)?;
        keeper.failed.map_or(Ok(()), Err)?;
        if fit.end == End::Asked {
            self.keep_unfinished(key, &as_text(&fit.state))?;
            return Err(CampaignError::Interrupted.into());
        }
        Ok(Learned { ensemble: fit.ensemble, repaired: fit.repaired, warning: None, state: None })
    }

    fn fit_chains(
        &self,
        state: &State,
        settings: &Mcmc,
        data: &Dataset,
        key: &str,
        watch: &mut (dyn FnMut(Fitting) -> bool + Send),
    ) -> Result<Learned, LabError> {
        let knowledge = state.variables.knowledge();
        let mut keeper = Keeper::new(self, key);
        let mut heard = |reached: &mcmc::State| {
            let (done, all) = reached.progress();
            keeper.hears(reached) && watch(Fitting::Fit(done, all))
        };
        let resumed = self.reached(key)?.map(|reached| Mcmc::resume(reached, data, knowledge, &mut heard));
        let fit = match resumed {
            // What an older version left behind is of no use any more.
            None | Some(Err(McmcError::OtherState { .. })) => {
                settings.fit(data, knowledge, seed(state), &mut heard)
            }
            Some(fit) => fit,
        };
        keeper.failed.map_or(Ok(()), Err)?;
        match fit {
            Err(McmcError::Interrupted(reached)) => {
                self.keep_unfinished(key, &as_text(&*reached))?;
                Err(CampaignError::Interrupted.into())
            }
            Err(error) => Err(CampaignError::from(error).into()),
            Ok(fit) => Ok(Learned {
                warning: fit.diagnostics.warning(data.names(), settings.draws),
                ensemble: fit.ensemble,
                repaired: 0,
                state: None,
            }),
        }
    }

    /// Where an unfinished fit stands, if there is one that can be understood.
    fn reached<S: DeserializeOwned>(&self, key: &str) -> Result<Option<S>, LabError> {
        Ok(self.unfinished(key)?.and_then(|text| serde_json::from_str(&text).ok()))
    }

    fn kept(&self, key: &str) -> Result<Option<Belief>, LabError> {
        let Some((id, summary, ensemble)) = self.belief(key)? else { return Ok(None) };
        self.understood_belief(id, &summary, &ensemble).map(Some)
    }

    /// A belief by its number.
    pub(super) fn belief_of(&self, id: i64) -> Result<Belief, LabError> {
        let (summary, ensemble) = self.belief_numbered(id)?;
        self.understood_belief(id, &summary, &ensemble)
    }

    fn understood_belief(&self, id: i64, summary: &str, ensemble: &[u8]) -> Result<Belief, LabError> {
        let damaged = |error: serde_json::Error| LabError::Damaged {
            path: self.path.clone(),
            problem: format!("belief {id}: {error}"),
        };
        let summary = serde_json::from_str(summary).map_err(damaged)?;
        Ok(Belief { id, summary, ensemble: Ensemble::from_bytes(ensemble, &format!("belief {id}"))? })
    }
}

/// Writes down where a long fit stands, now and then.
struct Keeper<'a> {
    lab: &'a Lab,
    key: &'a str,
    last: Instant,
    failed: Option<LabError>,
}

impl<'a> Keeper<'a> {
    fn new(lab: &'a Lab, key: &'a str) -> Self {
        Self { lab, key, last: Instant::now(), failed: None }
    }

    /// False if it could not be written.
    fn hears(&mut self, reached: &impl Serialize) -> bool {
        if self.last.elapsed() >= KEPT_EVERY {
            self.last = Instant::now();
            self.failed = self.lab.keep_unfinished(self.key, &as_text(reached)).err();
        }
        self.failed.is_none()
    }
}

fn as_text(reached: &impl Serialize) -> String {
    serde_json::to_string(reached).expect("numbers and texts")
}

fn seed(state: &State) -> Seed {
    Seed::new(Seed::new(state.seed).stream(Purpose::Laboratory).named("fit").draws().bits())
}

/// All that a belief depends on, in one short text.
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
