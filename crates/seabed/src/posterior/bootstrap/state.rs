//! The state of a fit: the resamples that are done, in a form that can be saved and resumed.

use serde::{Deserialize, Serialize};

use super::settings::Bootstrap;
use crate::data::Dataset;
use crate::graph::Dag;
use crate::num::random::Seed;
use crate::posterior::{FitError, Knowledge, StateMismatch};

/// A fit between two resamples. Saved and read back, it continues as if never interrupted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct State {
    /// What was asked for.
    pub settings: Bootstrap,
    pub(super) seed: Seed,
    /// The variables, sorted.
    pub(super) names: Vec<String>,
    /// Of the data, variables sorted.
    pub(super) mark: u64,
    pub(super) knowledge: Knowledge,
    /// One for every resample, once it is searched.
    pub(super) drawn: Vec<Option<Drawn>>,
}

/// The result of one resample, variables sorted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Drawn {
    /// A member of the class that was found.
    pub dag: Dag,
    /// The score of the class, on the resample.
    pub score: f64,
    /// Steps of the search.
    pub steps: usize,
}

impl State {
    /// Before anything is done. Variables are sorted by name in data and knowledge.
    pub(super) fn start(settings: &Bootstrap, data: &Dataset, knowledge: &Knowledge, seed: Seed) -> Self {
        Self {
            settings: settings.clone(),
            seed,
            names: data.names().to_vec(),
            mark: data.fingerprint(),
            knowledge: knowledge.clone(),
            drawn: vec![None; settings.draws],
        }
    }

    /// Can this fit continue with the data and the knowledge?
    pub(super) fn check_same(&self, data: &Dataset, knowledge: &Knowledge) -> Result<(), FitError> {
        let mismatch = if self.names[..] != data.names()[..] {
            StateMismatch::Variables
        } else if self.mark != data.fingerprint() {
            StateMismatch::Data
        } else if self.knowledge != *knowledge {
            StateMismatch::Knowledge
        } else if self.drawn.len() != self.settings.draws
            || self.settings.search.start.as_ref().is_some_and(|start| start.len() != data.variables())
            || self.drawn.iter().flatten().any(|drawn| !drawn.matches(data, knowledge))
        {
            StateMismatch::Damaged
        } else {
            return Ok(());
        };
        Err(mismatch.into())
    }

    /// Resamples that are done.
    pub fn done(&self) -> usize {
        self.drawn.iter().flatten().count()
    }

    /// All resamples.
    pub fn all(&self) -> usize {
        self.drawn.len()
    }
}

impl Drawn {
    fn matches(&self, data: &Dataset, knowledge: &Knowledge) -> bool {
        self.dag.len() == data.variables() && knowledge.allows(&self.dag) && self.score.is_finite()
    }
}
