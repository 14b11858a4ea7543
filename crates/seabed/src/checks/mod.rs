//! After a fit: what in the data the models cannot have made, told in plain sentences.
//!
//! A posterior is right if its models are: parents act on a child by one function, with normal noise of one size,
//! independent between variables and rows, and an intervention changes nothing but its targets. Every check is a
//! test of one consequence, made on the residuals of the graphs believed in; together they raise a false alarm in at most 5 % of the data
//! sets that the models are right for. Their cost is linear in the rows but for sorting.
//!
//! - `regression`: residuals of a variable given its parents; `ranks`: what does not depend on tails;
//! - `nodes`, `pairs`: the tests; `rows`: single rows; `verdict`: one probability from many graphs and tests; `wording`: sentences.

mod nodes;
mod pairs;
mod ranks;
mod regression;
mod rows;
mod verdict;
mod wording;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use crate::data::{DataError, Dataset};
use crate::num::parallel::ordered_map;
use crate::observer::{Observer, Stopped, report};
use crate::scm::{ByName, Ensemble, Scm};
use regression::Regressions;

pub use wording::{caution, summary};

/// The probability of any finding at all, at most, for data that the models are right for.
pub const ERROR_RATE: f64 = 0.05;

/// Graphs of the ensemble that the checks are made on.
const MOST_GRAPHS: usize = 8;

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A single row that contradicts all others, or decides alone.
    Row,
    /// Setting a variable does not do to another one what the other rows say.
    Effect,
    /// Rows depend on their neighbours, or on their place.
    Drift,
    /// Residuals of two variables depend on each other.
    Dependence,
    /// A linear effect is curved.
    Curvature,
    /// The size of the noise is not always the same.
    Spread,
    /// The noise is not normal.
    Tails,
}

impl Kind {
    /// All of them, the likely cause of the others first.
    pub const ALL: [Self; 7] =
        [Self::Row, Self::Effect, Self::Drift, Self::Dependence, Self::Curvature, Self::Spread, Self::Tails];
}

/// Something in the data that the models cannot have made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// One variable, or two: the one that acts or was set first.
    pub variables: Vec<String>,
    /// The row, counted from 1, if it is about a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<usize>,
    /// The probability of such a finding, or a stronger one, anywhere in data that the models are right for; at most
    /// [`ERROR_RATE`].
    pub p_value: f64,
    /// One sentence.
    pub text: String,
}

/// Why there are no findings.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// Other variables than the models'.
    #[error("the data are not of the models' variables: {0}")]
    Variables(DataError),
    /// The observer asked to stop.
    #[error("stopped before all checks were made")]
    Stopped,
}

impl From<Stopped> for CheckError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// What the models of a belief cannot have made in the data it was learned from, the likely causes first.
///
/// `data` has the ensemble's variables, in any order; the order of the rows matters to the check of drift alone.
pub fn check(
    data: &Dataset,
    ensemble: &Ensemble,
    observer: &dyn Observer,
) -> Result<Vec<Finding>, CheckError> {
    let by_name = ByName::new(ensemble.names());
    let data = data.reordered(&by_name.names).map_err(CheckError::Variables)?;
    let chosen = representatives(ensemble);
    let (done, all) = (AtomicU64::new(0), chosen.len() as u64);
    let models: Vec<Scm> =
        ensemble.draws().iter().map(|draw| draw.reordered(&by_name.names, &by_name.from)).collect();
    let graphs = chosen.iter().map(|&(draw, _)| models[draw].dag());
    let regressions = Regressions::new(&data, graphs, &models, observer)?;
    let results = ordered_map(&chosen, |&(draw, votes)| {
        report(observer, done.load(Relaxed), all, format_args!("graphs checked"))?;
        let fitted = regressions.of_graph(models[draw].dag());
        let mut evidence = nodes::evidence(&data, &fitted);
        evidence.extend(pairs::evidence(&data, models[draw].dag(), &fitted));
        done.fetch_add(1, Relaxed);
        Ok((votes, evidence))
    });
    let of_graphs = results.into_iter().collect::<Result<Vec<_>, Stopped>>()?;
    let found = verdict::verdict(of_graphs, rows::far_values(&data));
    Ok(wording::findings(found, &data))
}

/// At most [`MOST_GRAPHS`] votes, evenly spaced along the weights of the draws: (a draw, its votes).
fn representatives(ensemble: &Ensemble) -> Vec<(usize, usize)> {
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    let (mut draw, mut reached) = (0, ensemble.weights()[0]);
    for k in 0..MOST_GRAPHS {
        let place = (k as f64 + 0.5) / MOST_GRAPHS as f64;
        while reached < place && draw + 1 < ensemble.weights().len() {
            draw += 1;
            reached += ensemble.weights()[draw];
        }
        let dag = ensemble.draws()[draw].dag();
        match chosen.iter_mut().find(|(other, _)| ensemble.draws()[*other].dag() == dag) {
            Some((_, votes)) => *votes += 1,
            None => chosen.push((draw, 1)),
        }
    }
    chosen
}
