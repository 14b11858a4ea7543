//! How much rows count for in what is believed about the graph, and the rule that chooses it.
//!
//! No data follow a model exactly. With many rows even a small misfit decides between graphs, and the posterior is certain
//! of one of them. With a trust below 1 every row counts for less: scores of sets of parents are multiplied by it, the
//! prior and the parameters given a graph are as before.

use serde::{Deserialize, Serialize};

use super::settings::Mcmc;
use super::state::State;
use crate::belief::{GraphBelief, Scratch};
use crate::data::Dataset;
use crate::graph::{Node, NodeSet};
use crate::num::log_sum_exp;
use crate::num::random::Seed;
use crate::observer::{Observer, Progress};
use crate::posterior::{FitError, Knowledge};
use crate::settings::SettingsError;

/// How much rows count for.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "write a number above 0 and up to 1, or \"auto\"")]
pub enum Trust {
    /// Every row counts for so much of a row, above 0 and up to 1.
    Share(f64),
    /// By a rule.
    Named(TrustRule),
}

/// Rules that choose how much rows count for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustRule {
    /// As little as possible without predicting the other half of the rows measurably worse.
    Auto,
}

/// Less would leave hardly more than the prior.
const LEAST: f64 = 1e-4;
/// What the rule tries.
const TRIED: [f64; 8] = [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015_625, 0.007_812_5];
/// Sweeps of the fits that are compared, at most.
const SWEEPS: usize = 800;

impl Trust {
    /// Rows count in full.
    pub const FULL: Self = Self::Share(1.0);

    pub(super) fn check(&self) -> Result<(), SettingsError> {
        match *self {
            Self::Share(got) if !(LEAST..=1.0).contains(&got) => {
                Err(SettingsError::OutOfRange { key: "trust", got, least: LEAST, most: 1.0 })
            }
            _ => Ok(()),
        }
    }
}

impl std::str::FromStr for Trust {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self::Named(TrustRule::Auto)),
            (_, Ok(share)) => Ok(Self::Share(share)),
            _ => Err("write a number above 0 and up to 1, or `auto`".into()),
        }
    }
}

/// As little trust as possible for which half of the rows, with all variables that were not set in them, are predicted from
/// the other half no worse than by the best one, up to one standard error of the difference over rows. Data and
/// knowledge are those of the fit, rows in their canonical order, so that every other row is a fair half.
pub(super) fn chosen(
    settings: &Mcmc,
    data: &Dataset,
    knowledge: &Knowledge,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<f64, FitError> {
    let (known, asked) = (half(data, 0), half(data, 1));
    if settings.check_data(&known).is_err() {
        return Ok(1.0);
    }
    let watched = |progress: &Progress<'_>| {
        let what = format_args!("choosing the trust: {}", progress.what);
        observer.progress(&Progress { what, ..*progress })
    };
    let mut earlier: Option<State> = None;
    let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
    for share in TRIED {
        let most_sweeps = SWEEPS.min(settings.most_sweeps);
        let least_sweeps = settings.least_sweeps.min(most_sweeps);
        let tried = Mcmc { trust: Trust::Share(share), least_sweeps, most_sweeps, ..settings.clone() };
        let fit = match earlier.take() {
            None => tried.fit(&known, knowledge, seed, &watched)?,
            Some(state) => tried.fit_from(state, &known, knowledge, seed, &watched)?,
        };
        if let Some(graphs) = &fit.graphs {
            found.push((share, log_predictives(graphs, &asked)));
        }
        earlier = Some(fit.state);
    }
    Ok(least_sufficient(&found))
}

/// The smallest share that is not measurably worse than the best.
fn least_sufficient(found: &[(f64, Vec<f64>)]) -> f64 {
    let sum = |(_, logs): &(f64, Vec<f64>)| logs.iter().sum::<f64>();
    let Some(best) = found.iter().reduce(|a, b| if sum(b) > sum(a) { b } else { a }) else { return 1.0 };
    let sufficient = |(_, logs): &&(f64, Vec<f64>)| {
        let losses: Vec<f64> = best.1.iter().zip(logs).map(|(best, log)| best - log).collect();
        let n = losses.len() as f64;
        let mean = losses.iter().sum::<f64>() / n;
        let variance = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        mean <= (variance / n).sqrt()
    };
    found.iter().filter(sufficient).map(|(share, _)| *share).fold(1.0, f64::min)
}

/// Every other row.
fn half(data: &Dataset, first: usize) -> Dataset {
    let rows = || (first..data.rows()).step_by(2);
    let columns = data.columns().iter().map(|column| rows().map(|row| column[row]).collect()).collect();
    let targets: Vec<NodeSet> = rows().map(|row| data.targets(row).clone()).collect();
    Dataset::new(data.names().clone(), columns, targets).unwrap_or_else(|_| data.clone())
}

/// The log-density of every row under the belief, each as if it were the one next row.
fn log_predictives(belief: &GraphBelief, data: &Dataset) -> Vec<f64> {
    let mut scratch = Scratch::default();
    let nodes = data.variables();
    // `[node][family][row]`, 0 where the node was set.
    let of_family = |node: Node, scratch: &mut Scratch| -> Vec<Vec<f64>> {
        let rows: Vec<usize> = data.untouched_rows(node).collect();
        let column = |k: Node| -> Vec<f64> { rows.iter().map(|&row| data.column(k)[row]).collect() };
        let mut of = |family: &crate::belief::Family| {
            let parents: Vec<Vec<f64>> = family.parents.iter().map(|&k| column(k)).collect();
            let parents: Vec<&[f64]> = parents.iter().map(|x| &x[..]).collect();
            let mut logs = vec![0.0; rows.len()];
            family.conditional.given().add_log_predictives(&column(node), &parents, scratch, &mut logs);
            let mut all = vec![0.0; data.rows()];
            rows.iter().zip(logs).for_each(|(&row, log)| all[row] = log);
            all
        };
        belief.families(node).iter().map(&mut of).collect()
    };
    let families: Vec<Vec<Vec<f64>>> = (0..nodes).map(|node| of_family(node, &mut scratch)).collect();
    let of_row = |row: usize| {
        let of_graph = |graph: usize| {
            let parts = belief.family_of(graph).iter().enumerate();
            belief.weights()[graph].ln()
                + parts.map(|(node, &k)| families[node][k as usize][row]).sum::<f64>()
        };
        log_sum_exp(&(0..belief.graphs().len()).map(of_graph).collect::<Vec<_>>())
    };
    (0..data.rows()).map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_share_that_is_not_measurably_worse_is_chosen() {
        let logs = |level: f64| -> Vec<f64> { (0..100).map(|k| level + 0.1 * f64::from(k % 2)).collect() };
        let noisy = |level: f64| -> Vec<f64> { (0..100).map(|k| level + f64::from(k % 2)).collect() };
        assert_eq!(least_sufficient(&[(1.0, logs(0.0)), (0.5, logs(0.0)), (0.25, logs(-0.1))]), 0.5);
        // Half of the rows are better and half are worse: no measurable difference.
        assert_eq!(least_sufficient(&[(1.0, logs(0.5)), (0.5, noisy(0.02))]), 0.5);
        assert_eq!(least_sufficient(&[(1.0, logs(-0.2)), (0.5, logs(0.0))]), 0.5);
        assert_eq!(least_sufficient(&[]), 1.0);
    }

    #[test]
    fn trust_is_written_as_a_number_or_auto() {
        let auto = Trust::Named(TrustRule::Auto);
        assert_eq!("auto".parse(), Ok(auto));
        assert_eq!("0.2".parse(), Ok(Trust::Share(0.2)));
        assert!("little".parse::<Trust>().is_err());
        assert_eq!(serde_json::to_string(&auto).unwrap(), "\"auto\"");
        assert_eq!(serde_json::from_str::<Trust>("0.5").unwrap(), Trust::Share(0.5));
        assert!(Trust::Share(0.0).check().is_err() && Trust::Share(1.5).check().is_err());
    }
}
