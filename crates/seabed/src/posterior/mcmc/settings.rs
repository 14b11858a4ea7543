//! What the user may choose, and what is refused.

use serde::{Deserialize, Serialize};

use super::mask::MOST_NODES;
use super::prior::EdgePrior;
use super::trust::Trust;
use crate::data::Dataset;
use crate::posterior::bootstrap::Bootstrap;
use crate::posterior::error::check_rows_or_always_set;
use crate::posterior::{FitError, Posterior, UnusableData};
use crate::settings::{SettingsError, check_count, check_positive};

/// A posterior by Markov chains over graphs: model, prior, and how far and how carefully it is explored.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mcmc {
    /// Kind of mechanisms.
    pub family: Family,
    /// Which graphs are likely beforehand.
    pub prior: EdgePrior,
    /// Linear mechanisms: how many rows the prior of means, weights and noise counts for, above 0. Noise is taken to be at
    /// least this fraction of a variable's variance, divided by the number of rows.
    pub prior_rows: f64,
    /// How much the rows count for in what is believed about the graph.
    pub trust: Trust,
    /// Are variables brought to mean 0 and standard deviation 1 inside? Results are in the data's units either way.
    pub standardise: bool,
    /// Largest number of parents; that of the family if none. Required parents count but are never refused.
    pub max_parents: Option<usize>,
    /// Parents of a variable that are tried in all combinations; others are tried one at a time.
    pub candidates: usize,
    /// Number of models drawn, at least 1.
    pub draws: usize,
    /// Number of chains, at least 1; with 2 or more they are compared.
    pub chains: usize,
    /// Sweeps of each chain at least; the first half is burn-in.
    pub least_sweeps: usize,
    /// Sweeps of each chain at most; they end earlier once chains agree and are long enough.
    pub most_sweeps: usize,
}

/// Kinds of mechanisms, each with the marginal likelihood of a set of parents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Weighted sums; parameters integrated out (BGe).
    Linear,
    /// A linear part and a smooth function of all parents with noise of unknown size: a Gaussian process.
    GaussianProcess,
}

impl Family {
    /// The largest number of parents, if the user says nothing.
    pub fn usual_parents(self) -> usize {
        match self {
            Self::Linear => 5,
            Self::GaussianProcess => 3,
        }
    }
}

impl Mcmc {
    /// The usual settings of a family.
    pub fn of(family: Family) -> Self {
        Self {
            family,
            prior: EdgePrior::Er { edges_per_node: 1.0 },
            prior_rows: 0.01,
            trust: Trust::FULL,
            standardise: true,
            max_parents: None,
            candidates: 12,
            draws: 200,
            chains: 4,
            least_sweeps: 200,
            most_sweeps: 3200,
        }
    }

    pub(super) fn most_parents(&self) -> usize {
        self.max_parents.unwrap_or(self.family.usual_parents())
    }
}

/// Sets of candidates for one variable: with more, tables do not fit on a laptop.
const MOST_SETS: usize = 50_000;

/// Sweeps at most: more must be a typing error.
const MOST_SWEEPS: usize = 10_000_000;

/// Sets of parents are bits.
pub(super) const MOST_VARIABLES: usize = MOST_NODES;

impl Mcmc {
    /// Are all numbers within their ranges?
    pub fn check(&self) -> Result<(), SettingsError> {
        check_count("draws", self.draws, 1..=1_000_000)?;
        check_count("chains", self.chains, 1..=1000)?;
        check_count("least-sweeps", self.least_sweeps, 4..=MOST_SWEEPS)?;
        check_count("sweeps", self.most_sweeps, self.least_sweeps..=MOST_SWEEPS)?;
        check_count("candidates", self.candidates, 1..=20)?;
        check_count("max-parents", self.most_parents(), 1..=8)?;
        check_positive("prior-rows", self.prior_rows)?;
        self.trust.check()?;
        self.prior.check()
    }

    /// Sets of candidates that are scored for one of so many variables.
    pub(in crate::posterior) fn sets_per_variable(&self, variables: usize) -> usize {
        small_sets(self.candidates.min(variables.saturating_sub(1)), self.most_parents())
    }

    /// After how many sweeps chains that have made this many are compared next: after the least number, then after twice
    /// as many, and so on.
    pub(super) fn compared_after(&self, sweeps: usize) -> usize {
        let enough_graphs = 2 * self.draws.div_ceil(self.chains);
        let mut until = self.least_sweeps.max(enough_graphs.min(self.most_sweeps));
        while until < sweeps.min(self.most_sweeps) {
            until = (2 * until).min(self.most_sweeps);
        }
        until
    }

    /// Can the data be learned from, with these settings?
    pub(super) fn check_data(&self, data: &Dataset) -> Result<(), FitError> {
        self.check()?;
        let (candidates, parents) =
            (self.candidates.min(data.variables().saturating_sub(1)), self.most_parents());
        let sets = self.sets_per_variable(data.variables());
        if sets > MOST_SETS {
            let problem = format!(
                "{candidates} candidates and up to {parents} parents give {sets} sets per variable; choose fewer, \
                 at most {MOST_SETS} sets"
            );
            return Err(SettingsError::Conflict { problem }.into());
        }
        if data.variables() > MOST_VARIABLES {
            let (got, most) = (data.variables(), MOST_VARIABLES);
            let bootstrap = Posterior::Bootstrap(Bootstrap::default()).effort(data.rows(), got).seconds;
            return Err(UnusableData::TooManyVariables { got, most, bootstrap }.into());
        }
        self.prior.check_names(data.names())?;
        Ok(check_rows_or_always_set(data)?)
    }
}

/// The number of sets of at most `most` out of `count`.
fn small_sets(count: usize, most: usize) -> usize {
    let (mut sets, mut of_size) = (1, 1);
    for size in 1..=most.min(count) {
        of_size = of_size * (count + 1 - size) / size;
        sets += of_size;
    }
    sets
}
