//! The state of a fit: the graphs that are drawn, in a form that can be saved and resumed.

use serde::{Deserialize, Serialize};

use super::settings::Toy;
use crate::data::Dataset;
use crate::graph::Dag;
use crate::num::random::Seed;
use crate::posterior::{FitError, Knowledge, StateMismatch};

/// A fit between two draws. Saved and read back, it continues as if never interrupted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct State {
    /// What was asked for.
    pub settings: Toy,
    pub(super) seed: Seed,
    /// The variables, sorted.
    pub(super) names: Vec<String>,
    /// Of the data, variables sorted.
    pub(super) mark: u64,
    pub(super) knowledge: Knowledge,
    /// One for every draw, once it is made; variables sorted.
    pub(super) drawn: Vec<Option<Dag>>,
}

impl State {
    /// Before anything is done. Variables are sorted by name in data and knowledge.
    pub(super) fn start(settings: &Toy, data: &Dataset, knowledge: &Knowledge, seed: Seed) -> Self {
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
        let matches = |dag: &Dag| dag.len() == data.variables() && knowledge.allows(dag);
        let mismatch = if self.names[..] != data.names()[..] {
            StateMismatch::Variables
        } else if self.mark != data.fingerprint() {
            StateMismatch::Data
        } else if self.knowledge != *knowledge {
            StateMismatch::Knowledge
        } else if self.drawn.len() != self.settings.draws || !self.drawn.iter().flatten().all(matches) {
            StateMismatch::Damaged
        } else {
            return Ok(());
        };
        Err(mismatch.into())
    }

    /// Draws that are made.
    pub fn done(&self) -> usize {
        self.drawn.iter().flatten().count()
    }

    /// All draws.
    pub fn all(&self) -> usize {
        self.drawn.len()
    }
}
