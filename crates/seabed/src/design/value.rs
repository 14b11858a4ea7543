//! Where to set a target: which values are tried, one target at a time.

use serde::{Deserialize, Serialize};

use super::constraints::Levels;
use super::gp::GaussianProcess;
use crate::num::random::Draws;

/// How values are chosen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// This value, or the nearest that is allowed.
    Fixed(f64),
    /// Draws around what is observed: N(mean, (1.5 sd)²).
    Sample,
    /// These values; evenly spread ones if there are none.
    Grid(Vec<f64>),
    /// Evenly spread ones, then more beside the best value of the best targets.
    Refined,
    /// Bayesian optimisation: a few spread values, then where mean + κ sd of a Gaussian process is largest.
    GpUcb {
        /// κ.
        kappa: f64,
    },
}

/// Values that are tried before the Gaussian process is used.
const FIRST: usize = 3;

/// How often the values beside the best one are refined.
const REFINEMENTS: usize = 2;

/// Points at which the upper bound is compared.
const POINTS: usize = 401;

impl Values {
    /// Bayesian optimisation with κ = 2.5.
    pub fn gp_ucb() -> Self {
        Self::GpUcb { kappa: 2.5 }
    }

    /// The most values that are tried for one target.
    pub(super) fn most(&self, evaluations: usize) -> usize {
        match self {
            Self::Fixed(_) => 1,
            Self::Grid(values) if !values.is_empty() => values.len(),
            Self::Sample | Self::Grid(_) | Self::GpUcb { .. } => evaluations,
            Self::Refined => evaluations.saturating_add(2 * REFINEMENTS),
        }
    }

    /// Values to try first, at most `evaluations`. `marginal` is mean and standard deviation when only observed.
    pub(super) fn first(
        &self,
        levels: &Levels,
        marginal: (f64, f64),
        evaluations: usize,
        draws: &mut Draws,
    ) -> Vec<f64> {
        let mut values = match self {
            Self::Fixed(value) => vec![levels.nearest(*value)],
            Self::Sample => (0..evaluations)
                .map(|_| levels.nearest(marginal.0 + 1.5 * marginal.1 * draws.normal()))
                .collect(),
            Self::Refined => levels.spread(evaluations),
            Self::Grid(values) if values.is_empty() => levels.spread(evaluations),
            Self::Grid(values) => values.iter().map(|value| levels.nearest(*value)).collect(),
            Self::GpUcb { .. } => levels.spread(evaluations.min(FIRST)),
        };
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// The values to try next, given those tried with their worths; none if no more are wanted.
    pub(super) fn next(&self, levels: &Levels, tried: &[(f64, f64)], evaluations: usize) -> Vec<f64> {
        match self {
            Self::GpUcb { kappa } => upper_bound(*kappa, levels, tried, evaluations).into_iter().collect(),
            Self::Refined if tried.len() < evaluations + 2 * REFINEMENTS - 1 => {
                beside_the_best(levels, tried)
            }
            _ => Vec::new(),
        }
    }
}

/// Halfway from the best value to its neighbours on both sides, as far as they are new.
fn beside_the_best(levels: &Levels, tried: &[(f64, f64)]) -> Vec<f64> {
    let mut tried = tried.to_vec();
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(best) = (0..tried.len()).max_by(|&a, &b| tried[a].1.total_cmp(&tried[b].1).then(b.cmp(&a)))
    else {
        return Vec::new();
    };
    let neighbours = [best.checked_sub(1), Some(best + 1).filter(|next| *next < tried.len())];
    let halfway = neighbours.iter().flatten().map(|&k| levels.nearest(0.5 * (tried[k].0 + tried[best].0)));
    let mut new: Vec<f64> = halfway.filter(|value| tried.iter().all(|(known, _)| known != value)).collect();
    new.dedup();
    new
}

/// Where the upper bound of a Gaussian process through the values tried is largest.
fn upper_bound(kappa: f64, levels: &Levels, tried: &[(f64, f64)], evaluations: usize) -> Option<f64> {
    let candidates: Vec<f64> =
        levels.spread(POINTS).into_iter().filter(|x| tried.iter().all(|(known, _)| known != x)).collect();
    let (Some(low), Some(high)) = (candidates.first(), candidates.last()) else { return None };
    if tried.len() >= evaluations {
        return None;
    }
    let width = (high - low).max(f64::MIN_POSITIVE);
    let (x, y): (Vec<f64>, Vec<f64>) = tried.iter().copied().unzip();
    // Shorter lengths predict nothing between the points, longer ones give straight lines.
    let process = GaussianProcess::fitted(&x, &y, width / 10.0, 2.0 * width)?;
    let bound = |x: f64| {
        let (mean, sd) = process.predict(x);
        mean + kappa * sd
    };
    candidates.into_iter().map(|x| (x, bound(x))).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(x, _)| x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refined_values_close_in_on_the_best_and_end() {
        let (levels, worth) = (Levels::Range(0.0, 8.0), |x: f64| -(x - 4.6).powi(2));
        let mut tried: Vec<(f64, f64)> = levels.spread(5).into_iter().map(|x| (x, worth(x))).collect();
        for expected in [vec![3.0, 5.0], vec![4.5, 5.5], vec![]] {
            let next = Values::Refined.next(&levels, &tried, 5);
            assert_eq!(next, expected);
            tried.extend(next.into_iter().map(|x| (x, worth(x))));
        }
        assert!(tried.len() <= Values::Refined.most(5));
        // Nothing lies between the levels of a list.
        let levels = Levels::List(vec![0.0, 1.0]);
        assert!(Values::Refined.next(&levels, &[(0.0, 1.0), (1.0, 2.0)], 5).is_empty());
    }
}
