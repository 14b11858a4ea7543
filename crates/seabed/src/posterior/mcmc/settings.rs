//! What the user may choose, and what is refused.

use serde::{Deserialize, Serialize};

use super::prior::EdgePrior;
use super::state::State;
use crate::data::Dataset;

/// A posterior by Markov chains over graphs: model, prior, and how far and how carefully it is explored.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mcmc {
    /// Kind of mechanisms.
    pub family: Family,
    /// Which graphs are likely beforehand.
    pub prior: EdgePrior,
    /// Linear mechanisms: how many rows the prior of means, weights and noise counts for, above 0. It takes noise for at
    /// least so large a share of a variable's variance, divided by the number of rows.
    pub prior_rows: f64,
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

/// Why there is no posterior.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum McmcError {
    /// Too few rows tell about a variable.
    #[error(
        "{name:?} was not a target in {rows} rows only: at least {least} are needed to learn its mechanism; add \
         observations"
    )]
    TooFewRows {
        /// The variable.
        name: String,
        /// Rows in which it was not a target.
        rows: usize,
        /// The least number.
        least: usize,
    },
    /// More variables than the chains can hold.
    #[error("{got} variables: the chains hold up to {most}; leave some out, or choose another posterior")]
    TooManyVariables {
        /// Number of variables.
        got: usize,
        /// The largest number.
        most: usize,
    },
    /// A number outside its range.
    #[error("{got} {what}: choose between {least} and {most}")]
    OutOfRange {
        /// Of what.
        what: &'static str,
        /// The number.
        got: usize,
        /// The least.
        least: usize,
        /// The largest.
        most: usize,
    },
    /// More sets of parents than can be scored and searched.
    #[error(
        "{candidates} candidates and up to {parents} parents are {sets} sets for every variable; choose fewer, so that there \
         are at most {MOST_SETS}"
    )]
    TooManySets {
        /// Candidate parents of a variable.
        candidates: usize,
        /// Parents at most.
        parents: usize,
        /// Sets of them.
        sets: usize,
    },
    /// A prior that counts for no number of rows.
    #[error("a prior that counts for {0} rows: expected is a positive, finite number")]
    PriorRows(f64),
    /// A number of edges that is none.
    #[error("{0} edges per node: expected is a positive, finite number")]
    EdgesPerNode(f64),
    /// A probability that is none.
    #[error(
        "the edge {from:?} -> {to:?} has the prior probability {probability}: it lies between 0 and 1, both excluded; \
         what is certain is background knowledge"
    )]
    Probability {
        /// Tail.
        from: String,
        /// Head.
        to: String,
        /// The number.
        probability: f64,
    },
    /// A pair of names in the prior that is none.
    #[error(
        "the prior speaks of an edge {from:?} -> {to:?}: these are not two different variables of the data"
    )]
    UnknownPair {
        /// Tail.
        from: String,
        /// Head.
        to: String,
    },
    /// A pair that the prior names twice.
    #[error("the prior has two probabilities of the edge {from:?} -> {to:?}")]
    PairTwice {
        /// Tail.
        from: String,
        /// Head.
        to: String,
    },
    /// Numbers left their range.
    #[error("the score of {name:?} is no finite number; check the units of the data")]
    NotFinite {
        /// The variable.
        name: String,
    },
    /// A saved state of something else.
    #[error("the saved state is of {what}; it goes only with the fit that wrote it")]
    OtherState {
        /// What differs.
        what: &'static str,
    },
    /// The caller asked to stop; the state goes on.
    #[error("interrupted")]
    Interrupted(Box<State>),
}

/// An intercept, a variance, and one row to spare.
const LEAST_ROWS: usize = 3;

/// Sets of candidates for one variable: beyond this tables outgrow a laptop.
const MOST_SETS: usize = 50_000;

/// Sets of parents are bits of one number.
pub(super) const MOST_VARIABLES: usize = 128;

impl Mcmc {
    pub(super) fn check(&self, data: &Dataset) -> Result<(), McmcError> {
        let ranges = [
            (self.draws, "draws", 1, 1_000_000),
            (self.chains, "chains", 1, 1000),
            (self.least_sweeps, "sweeps at least", 4, 10_000_000),
            (self.most_sweeps, "sweeps at most", self.least_sweeps, 10_000_000),
            (self.candidates, "candidate parents", 1, 20),
            (self.most_parents(), "parents at most", 1, 8),
        ];
        if let Some(&(got, what, least, most)) =
            ranges.iter().find(|(got, _, least, most)| got < least || got > most)
        {
            return Err(McmcError::OutOfRange { what, got, least, most });
        }
        if !(self.prior_rows > 0.0 && self.prior_rows.is_finite()) {
            return Err(McmcError::PriorRows(self.prior_rows));
        }
        let candidates = self.candidates.min(data.variables().saturating_sub(1));
        let sets = small_sets(candidates, self.most_parents());
        if sets > MOST_SETS {
            return Err(McmcError::TooManySets { candidates, parents: self.most_parents(), sets });
        }
        if data.variables() > MOST_VARIABLES {
            return Err(McmcError::TooManyVariables { got: data.variables(), most: MOST_VARIABLES });
        }
        self.prior.check(data.names())?;
        for node in 0..data.variables() {
            let rows = (0..data.rows()).filter(|&row| !data.targets(row).contains(node)).count();
            if rows < LEAST_ROWS {
                let name = data.names()[node].clone();
                return Err(McmcError::TooFewRows { name, rows, least: LEAST_ROWS });
            }
        }
        Ok(())
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
