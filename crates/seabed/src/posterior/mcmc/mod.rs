//! A posterior by Markov chains over DAGs, with linear (BGe) or Gaussian-process scores of sets of parents.
//!
//! Scores are computed once for every node and set of parents. Chains move between partitions of the nodes into layers,
//! of which every DAG has exactly one: unlike chains over orders they need no correction. Graphs of all chains after
//! burn-in are the posterior; each drawn graph gets parameters from their posterior given the graph. Variables are
//! worked on in the order of their names, so the order of the columns does not matter.

mod candidates;
mod chain;
mod diagnostics;
mod features;
mod fit;
mod gp;
mod ladder;
mod mask;
mod moves;
mod partition;
mod prior;
mod problem;
mod result;
mod settings;
mod smooth;
mod state;
mod subset;
mod table;
mod tails;
mod trust;

#[cfg(test)]
mod tests;

pub use diagnostics::{Convergence, Diagnostics};
pub(super) use fit::remarks;
pub use prior::EdgePrior;
pub use result::{McmcFit, Report};
pub use settings::{Family, Mcmc};
pub use state::State;
pub use trust::{Trust, TrustRule};
