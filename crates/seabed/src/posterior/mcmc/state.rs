//! The state of a fit: scores, candidates and chains, in a form that can be saved and resumed.

use serde::{Deserialize, Serialize};

use super::candidates::{Candidates, Scores};
use super::chain::Chain;
use super::mask::Mask;
use super::problem::Problem;
use super::settings::Mcmc;
use super::trust::Trust;
use crate::data::Dataset;
use crate::graph::Node;
use crate::num::random::Seed;
use crate::posterior::{FitError, Knowledge, StateMismatch};

/// A fit between two pieces of work. Saved and read back, it continues as if never interrupted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct State {
    /// What was asked for.
    pub settings: Mcmc,
    pub(super) seed: Seed,
    /// The variables, sorted.
    pub(super) names: Vec<String>,
    /// Parents that every node may never have and those it must have, in this order.
    pub(super) knowledge: Vec<(Mask, Mask)>,
    /// One per node, in this order.
    pub(super) nodes: Vec<NodeState>,
    /// How often candidates were reconsidered.
    pub(super) revisions: usize,
    /// None before the scores are known.
    pub(super) chains: Vec<Chain>,
    /// Temperatures that the chains must still pass before they are recorded, the highest last.
    pub(super) temperatures: Vec<f64>,
    pub(super) readmitted: usize,
    /// How much rows count for, once it is known.
    pub(super) share: Option<f64>,
}

/// What is known about the parents of a node.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct NodeState {
    /// Of the data that the scores are from.
    pub mark: u64,
    /// Every set ever scored, without its prior.
    pub scores: Vec<(Mask, f64)>,
    /// The greedy candidates.
    pub greedy: Vec<Node>,
    /// All candidates; none before the node was screened.
    pub candidates: Option<Vec<Node>>,
    /// Are the scores of all sets known?
    pub filled: bool,
}

impl NodeState {
    pub fn known(&self) -> Scores {
        self.scores.iter().copied().collect()
    }

    pub fn screened(&self) -> Option<Candidates> {
        let all = Mask::of(self.candidates.as_ref()?.iter().copied());
        Some(Candidates { greedy: self.greedy.clone(), all })
    }
}

fn masks(knowledge: &Knowledge) -> Vec<(Mask, Mask)> {
    let required = knowledge.required();
    let of = |(node, forbidden)| (Mask::from(forbidden), Mask::from(required.parents(node)));
    knowledge.forbidden().iter().enumerate().map(of).collect()
}

impl State {
    /// Before anything is done. Variables are sorted by name in data and knowledge.
    pub(super) fn start(settings: &Mcmc, data: &Dataset, knowledge: &Knowledge, seed: Seed) -> Self {
        Self {
            settings: settings.clone(),
            seed,
            names: data.names().to_vec(),
            knowledge: masks(knowledge),
            nodes: vec![NodeState::default(); data.variables()],
            revisions: 0,
            chains: Vec::new(),
            temperatures: Vec::new(),
            readmitted: 0,
            share: None,
        }
    }

    /// The scores of this fit for the start of another one; they are valid for nodes whose rows are the same.
    pub(super) fn scores_for(
        self,
        settings: &Mcmc,
        data: &Dataset,
        knowledge: &Knowledge,
        seed: Seed,
    ) -> Result<Self, FitError> {
        self.check(data)?;
        let mut fresh = Self::start(settings, data, knowledge, seed);
        for (node, old) in fresh.nodes.iter_mut().zip(self.nodes) {
            *node = NodeState { mark: old.mark, scores: old.scores, ..NodeState::default() };
        }
        Ok(fresh)
    }

    /// Can this fit continue with the data and the knowledge?
    pub(super) fn check_same(&self, data: &Dataset, knowledge: &Knowledge) -> Result<(), FitError> {
        self.check(data)?;
        let problems = Problem::all(&self.settings, data);
        let other =
            |(known, problem): (&NodeState, &Problem)| !known.scores.is_empty() && known.mark != problem.mark;
        if self.nodes.iter().zip(&problems).any(other) {
            return Err(StateMismatch::Data.into());
        }
        if self.knowledge != masks(knowledge) {
            return Err(StateMismatch::Knowledge.into());
        }
        Ok(())
    }

    /// A state may come from a file that was edited.
    fn check(&self, data: &Dataset) -> Result<(), FitError> {
        if self.names[..] != data.names()[..] {
            return Err(StateMismatch::Variables.into());
        }
        let count = self.names.len();
        let fits = |nodes: &[Node]| nodes.iter().all(|&node| node < count);
        let Mcmc { chains, most_sweeps, .. } = self.settings;
        let whole = self.nodes.len() == count
            && (self.chains.is_empty() || self.chains.len() == chains)
            && self
                .chains
                .iter()
                .all(|chain| chain.is_complete(count) && chain.sweeps == self.sweeps() as u64)
            && self.sweeps() <= most_sweeps
            && self.temperatures.iter().all(|temperature| *temperature > 1.0)
            && self.share.is_none_or(|share| Trust::Share(share).check().is_ok())
            && self
                .nodes
                .iter()
                .all(|node| fits(&node.greedy) && node.candidates.as_deref().is_none_or(fits));
        if whole { Ok(()) } else { Err(StateMismatch::Damaged.into()) }
    }

    /// Nodes whose scores are known, and all nodes.
    pub fn scored(&self) -> (usize, usize) {
        (self.nodes.iter().filter(|node| node.filled).count(), self.nodes.len())
    }

    /// Do the chains have replicas at higher temperatures?
    pub(super) fn is_tempered(&self) -> bool {
        self.chains.first().is_some_and(|chain| chain.replicas() > 0)
    }

    /// Sweeps of each chain so far.
    pub fn sweeps(&self) -> usize {
        self.chains.first().map_or(0, |chain| chain.sweeps as usize)
    }

    /// Work done and the most work there can be: scores count as a tenth of it, however long they take.
    pub fn progress(&self) -> (u64, u64) {
        let most = self.settings.most_sweeps as u64;
        let (scored, nodes) = self.scored();
        let of_scores = most.div_ceil(9);
        (of_scores * scored as u64 / nodes as u64 + self.sweeps() as u64, of_scores + most)
    }

    /// Sets of parents whose score is known, over all nodes.
    pub fn sets(&self) -> usize {
        self.nodes.iter().map(|node| node.scores.len()).sum()
    }
}
