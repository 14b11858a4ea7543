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
use crate::posterior::{FitError, Knowledge, StateMismatch, effort};

/// A fit between two pieces of work. Saved and read back, it continues as if never interrupted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct State {
    /// What was asked for.
    pub settings: Mcmc,
    pub(super) seed: Seed,
    /// The variables, sorted.
    pub(super) names: Vec<String>,
    /// Rows of the data: scores take longer the more there are. Unknown (0) in files from before it was kept.
    #[serde(default)]
    pub(super) rows: usize,
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
            rows: data.rows(),
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
        if !self.chains.iter().all(Chain::passed_only_dags) {
            return Err(StateMismatch::Damaged.into());
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
            && self.readmitted <= count * count
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

    /// Work done and all of it, if the chains agree when they are compared next: millionths of the seconds that scores and
    /// sweeps were estimated to take.
    pub fn progress(&self) -> (u64, u64) {
        self.progress_with(0.0)
    }

    /// As [`State::progress`], when this part of another variable is scored too.
    pub(super) fn progress_with(&self, part: f64) -> (u64, u64) {
        let (n, d) = (self.rows as f64, self.names.len() as f64);
        let (of_scores, of_sweep) = effort::seconds_of_mcmc(&self.settings, n, d);
        let (scored, nodes) = self.scored();
        let work =
            |scored: f64, sweeps: usize| (1e6 * (of_scores * scored + of_sweep * sweeps as f64)) as u64;
        let until = self.settings.compared_after(self.sweeps());
        let scored = (scored as f64 + part).min(nodes as f64);
        (work(scored / nodes as f64, self.sweeps()), work(1.0, until))
    }

    /// Sets of parents whose score is known, over all nodes.
    pub fn sets(&self) -> usize {
        self.nodes.iter().map(|node| node.scores.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::num::random::Purpose;
    use crate::observer::Progress;
    use crate::posterior::mcmc::Family;

    /// At a tenth of the work, what is said of all of it is right within a factor of two, although chains may go on sixteen times
    /// as long as they do; and scores count for what they take.
    #[test]
    fn the_work_that_is_announced_is_about_the_work_that_is_done() {
        let mut draws = Seed::new(3).stream(Purpose::Noise).draws();
        let mut columns = vec![Vec::new(); 3];
        for _ in 0..120 {
            let a = draws.normal();
            let b = a + 0.5 * draws.normal();
            let c = draws.normal() - b;
            [a, b, c].into_iter().zip(&mut columns).for_each(|(x, column)| column.push(x));
        }
        let data = Dataset::from_columns(&["A", "B", "C"], columns, &[]).unwrap();
        for family in [Family::Linear, Family::GaussianProcess] {
            let heard = Mutex::new(Vec::new());
            let observer = |progress: &Progress<'_>| {
                heard.lock().unwrap().push((progress.done, progress.all));
                true
            };
            let settings = Mcmc { draws: 20, most_sweeps: 3200, ..Mcmc::of(family) };
            let fit = settings.fit(&data, &Knowledge::none(3), Seed::new(1), &observer).unwrap();
            assert!(fit.state.sweeps() < 3200, "this is about chains that end early");
            let heard = heard.into_inner().unwrap();
            let all = fit.state.progress().0;
            assert_eq!(fit.state.progress().1, all);
            let (_, said) = *heard.iter().find(|(done, _)| 10 * done >= all).unwrap();
            assert!(said <= 2 * all && 2 * said >= all, "{family:?}: {said} of {all}");
            let (scores, sweep) = effort::seconds_of_mcmc(&settings, 120.0, 3.0);
            let expected = scores / (scores + sweep * fit.state.sweeps() as f64);
            let scored = heard.iter().find(|(done, _)| *done >= (1e6 * scores) as u64).unwrap().0;
            assert!((scored as f64 / all as f64 - expected).abs() < 0.3, "{family:?}");
        }
    }
}
