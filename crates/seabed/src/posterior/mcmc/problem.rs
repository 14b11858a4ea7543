//! What the data say about one node: its rows, in units of their own, and the score of a set of parents.
//!
//! A node sees only rows in which it was not a target, and the units of all variables are those of these rows. So new
//! rows in which it was a target change none of its scores, and the scores of an earlier round can be kept.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use super::features::{Spectrum, Weights};
use super::gp::{self, Hyper, LENGTHS, LINEAR, Regression, SIGMA, SMOOTH, usual};
use super::settings::{Family, Mcmc};
use super::table::{Mask, bit, nodes_of, set_of};
use crate::belief::{Conditional, MOST_CENTRES, ProcessConditional};
use crate::data::Dataset;
use crate::graph::{Node, NodeSet};
use crate::num::fingerprint;
use crate::num::random::Draws;
use crate::posterior::bge::{self, Bge};
use crate::posterior::units::mean_and_sd;
use crate::scm::Mechanism;

/// One node's rows and scores.
pub(super) struct Problem {
    node: Node,
    nodes: usize,
    /// Mean and standard deviation of every variable, in the data's units.
    units: Vec<(f64, f64)>,
    /// Changes with anything that the scores depend on.
    pub mark: u64,
    terms: Terms,
}

enum Terms {
    Linear(Box<Bge>),
    Gp {
        /// `[variable][row]`, standardised.
        columns: Vec<Vec<f64>>,
        /// The hyperparameters of every single parent, from which larger sets start; found when first needed.
        singles: OnceLock<Vec<Option<Hyper>>>,
        /// The hyperparameters of every set that was asked for, and their score.
        fitted: Mutex<HashMap<Mask, Option<(Hyper, f64)>>>,
    },
}

/// Rows up to which the marginal likelihood is that of the process itself; beyond, hyperparameters come from so many
/// rows evenly spread, and all rows are seen through these.
pub(super) const EXACT_ROWS: usize = MOST_CENTRES;

impl Problem {
    pub fn new(settings: &Mcmc, data: &Dataset, node: Node) -> Self {
        let nodes = data.variables();
        let rows: Vec<usize> = data.untouched_rows(node).collect();
        let unit = |k: Node| {
            if !settings.standardise {
                return (0.0, 1.0);
            }
            // Values that an experimenter set say nothing about a variable's own spread.
            let free: Vec<f64> = rows
                .iter()
                .filter(|&&row| !data.targets(row).contains(k))
                .map(|&row| data.column(k)[row])
                .collect();
            let all = || rows.iter().map(|&row| data.column(k)[row]).collect();
            mean_and_sd(if free.len() < 3 { all() } else { free }.iter().copied())
        };
        let units: Vec<(f64, f64)> = (0..nodes).map(unit).collect();
        let columns: Vec<Vec<f64>> = units
            .iter()
            .enumerate()
            .map(|(k, (mean, sd))| rows.iter().map(|&row| (data.column(k)[row] - mean) / sd).collect())
            .collect();
        let mark = mark(settings, &columns, &units, node);
        let terms = match settings.family {
            Family::Linear => {
                let all: Vec<usize> = (0..rows.len()).collect();
                let freedom = nodes as f64 + bge::EXTRA_FREEDOM;
                let rows_of = vec![all; nodes];
                Terms::Linear(Box::new(Bge::new(
                    &columns,
                    &rows_of,
                    &vec![0.0; nodes],
                    settings.prior_rows,
                    freedom,
                )))
            }
            Family::GaussianProcess => {
                Terms::Gp { columns, singles: OnceLock::new(), fitted: Mutex::default() }
            }
        };
        Self { node, nodes, units, mark, terms }
    }

    /// log p(values of the node | values of the parents), parameters integrated out. A function of data and set alone.
    pub fn score(&self, parents: Mask) -> f64 {
        match &self.terms {
            Terms::Linear(bge) => bge.score(self.node, &set_of(parents, self.nodes)),
            Terms::Gp { columns, .. } => {
                let score = match self.hyper(parents) {
                    Some((hyper, _)) if columns[0].len() > EXACT_ROWS => {
                        let centres = thinned(columns, self.node, parents);
                        regression(columns, self.node, parents).score_through(&centres.as_ref(), &hyper)
                    }
                    found => found.map(|(_, score)| score),
                };
                score.unwrap_or(f64::NAN)
            }
        }
    }

    /// The law of the node's value given the parents' values, in ascending order of the parents and in the data's units;
    /// none if numbers run out of digits.
    pub fn conditional(&self, parents: Mask) -> Option<Conditional> {
        let units: Vec<(f64, f64)> = nodes_of(parents).map(|k| self.units[k]).collect();
        let unit = self.units[self.node];
        match &self.terms {
            Terms::Linear(bge) => {
                let found = bge.conditional(self.node, &set_of(parents, self.nodes))?;
                Some(Conditional::Linear(found.rescaled(unit, &units)))
            }
            Terms::Gp { columns, .. } => {
                let kernel = gp::kernel(&self.hyper(parents)?.0);
                let rows = regression(columns, self.node, parents);
                let process = ProcessConditional::new(unit, units.clone(), kernel.clone(), &rows)?;
                if columns[0].len() <= EXACT_ROWS {
                    return Some(Conditional::Process(Box::new(process)));
                }
                // As in the score of many rows, all variances have their most likely factor.
                let kernel = kernel.scaled(process.misfit().max(1e-12));
                Some(Conditional::Process(Box::new(ProcessConditional::new(unit, units, kernel, &rows)?)))
            }
        }
    }

    /// Mechanisms and noise standard deviations from their posterior given the parents, in the data's units: one from
    /// every source of randomness.
    pub fn draw(&self, parents: Mask, sources: impl Iterator<Item = Draws>) -> Vec<(Mechanism, f64)> {
        let of_linear = |bge: &Bge, set: &NodeSet, mut source: Draws| {
            let (linear, variance) = bge.draw(self.node, set, &mut source);
            (Mechanism::Linear(linear), variance.sqrt())
        };
        let drawn: Vec<(Mechanism, f64)> = match &self.terms {
            Terms::Linear(bge) => {
                let set = set_of(parents, self.nodes);
                sources.map(|source| of_linear(bge, &set, source)).collect()
            }
            Terms::Gp { .. } => {
                let weights = self.weights(parents).expect("a set that has a score");
                sources.map(|mut source| weights.draw(&mut source)).collect()
            }
        };
        drawn.into_iter().map(|drawn| self.in_data_units(parents, drawn)).collect()
    }

    /// The mechanism and its noise in the data's units.
    fn in_data_units(&self, parents: Mask, (mechanism, sd): (Mechanism, f64)) -> (Mechanism, f64) {
        // Inside, x' = (x - mean)/sd, so x = (x' - (-mean/sd)) / (1/sd).
        let unit = |node: Node| (-self.units[node].0 / self.units[node].1, 1.0 / self.units[node].1);
        let units: Vec<(f64, f64)> = nodes_of(parents).map(unit).collect();
        (mechanism.rescaled(unit(self.node), &units), sd * self.units[self.node].1)
    }

    fn weights(&self, parents: Mask) -> Option<Weights> {
        let Terms::Gp { columns, .. } = &self.terms else { return None };
        let (hyper, _) = self.hyper(parents)?;
        let all = regression(columns, self.node, parents);
        let spectrum = Spectrum::of(parents.count_ones() as usize);
        Weights::new(&all, &hyper, spectrum, columns[0].len() > EXACT_ROWS)
    }

    fn singles(&self, columns: &[Vec<f64>]) -> Vec<Option<Hyper>> {
        let single = |k: Node| {
            let thinned = thinned(columns, self.node, bit(k));
            let fits = starts().map(|start| thinned.as_ref().fitted(&start));
            fits.into_iter().flatten().reduce(|a, b| if b.1 > a.1 { b } else { a }).map(|best| best.0)
        };
        (0..self.nodes).map(|k| if k == self.node { None } else { single(k) }).collect()
    }

    /// The best hyperparameters and their score, searched for once.
    pub(super) fn hyper(&self, parents: Mask) -> Option<(Hyper, f64)> {
        let Terms::Gp { fitted, .. } = &self.terms else { return None };
        let known =
            fitted.lock().expect("no thread fails while it holds hyperparameters").get(&parents).cloned();
        known.unwrap_or_else(|| {
            let found = self.best_hyper(parents);
            fitted
                .lock()
                .expect("no thread fails while it holds hyperparameters")
                .insert(parents, found.clone());
            found
        })
    }

    fn best_hyper(&self, parents: Mask) -> Option<(Hyper, f64)> {
        let Terms::Gp { columns, singles, .. } = &self.terms else { return None };
        let thinned = thinned(columns, self.node, parents);
        let regression = thinned.as_ref();
        let count = parents.count_ones() as usize;
        let mut start = usual(count);
        if count == 0 {
            return regression.fitted(&start);
        }
        let singles = singles.get_or_init(|| self.singles(columns));
        let known: Vec<&Hyper> = nodes_of(parents).filter_map(|k| singles[k].as_ref()).collect();
        if known.len() == count {
            // The noise is that of the best parent alone, and so is the rest but for the lengths.
            let best = known
                .iter()
                .fold(known[0], |best, hyper| if hyper[SIGMA] < best[SIGMA] { hyper } else { best });
            start[..LENGTHS].copy_from_slice(&best[..LENGTHS]);
            for (k, hyper) in known.iter().enumerate() {
                start[LENGTHS + k] = hyper[LENGTHS];
            }
            start[LINEAR] = start[LINEAR].max(-3.0);
            start[SMOOTH] = start[SMOOTH].max(-3.0);
        }
        regression.fitted(&start)
    }
}

/// A smooth beginning, and one that is all but linear.
fn starts() -> [Hyper; 2] {
    let smooth = usual(1);
    let mut straight = usual(1);
    straight[SMOOTH] = -2.5;
    straight[LINEAR] = -0.3;
    straight[LENGTHS] = 1.5;
    [smooth, straight]
}

/// Columns of some rows.
struct Thinned {
    values: Vec<f64>,
    parents: Vec<Vec<f64>>,
}

impl Thinned {
    fn as_ref(&self) -> Regression<'_> {
        Regression { values: &self.values, parents: self.parents.iter().map(|column| &column[..]).collect() }
    }
}

/// At most [`EXACT_ROWS`] rows, evenly spread.
fn thinned(columns: &[Vec<f64>], node: Node, parents: Mask) -> Thinned {
    let rows = columns[0].len();
    let kept = rows.min(EXACT_ROWS);
    let of = |k: Node| (0..kept).map(|place| columns[k][place * rows / kept]).collect();
    Thinned { values: of(node), parents: nodes_of(parents).map(of).collect() }
}

fn regression(columns: &[Vec<f64>], node: Node, parents: Mask) -> Regression<'_> {
    Regression { values: &columns[node], parents: nodes_of(parents).map(|k| &columns[k][..]).collect() }
}

/// The fingerprint of the numbers that the scores are made of.
fn mark(settings: &Mcmc, columns: &[Vec<f64>], units: &[(f64, f64)], node: Node) -> u64 {
    let prior = settings.prior_rows.to_bits();
    let head =
        [VERSION, settings.family as u64, prior, columns.len() as u64, columns[0].len() as u64, node as u64];
    let numbers = columns.iter().flatten().copied().chain(units.iter().flat_map(|&(mean, sd)| [mean, sd]));
    fingerprint::of_words(head.into_iter().chain(numbers.map(f64::to_bits)))
}

/// Of the scores: a new number makes saved ones worthless.
const VERSION: u64 = 2;
