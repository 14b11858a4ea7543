//! What the data say about one node: its rows, in units of their own, and the score of a set of parents.
//!
//! A node sees only rows in which it was not a target, and the units of all variables are those of these rows. So new
//! rows in which it was a target change none of its scores, and the scores of an earlier round can be kept.

use std::sync::Arc;

use super::mask::Mask;
use super::settings::{Family, Mcmc};
use super::smooth::Smooth;
use crate::belief::{Conditional, LinearConditional};
use crate::data::Dataset;
use crate::graph::Node;
use crate::num::fingerprint;
use crate::num::parallel::{ordered_map, ordered_map_indices};
use crate::num::random::Draws;
use crate::posterior::bge::{self, Bge};
use crate::posterior::units::{mean_and_sd, vary};
use crate::scm::{Linear, Mechanism};

/// One node's rows and scores.
pub(super) struct Problem {
    node: Node,
    nodes: usize,
    /// Mean and standard deviation of every variable, in the data's units.
    units: Vec<(f64, f64)>,
    /// Changes with anything that the scores depend on.
    pub mark: u64,
    /// Does the node vary in its rows? If not, nothing can be said about its parents.
    pub varies: bool,
    terms: Terms,
}

enum Terms {
    Linear(Arc<Bge>),
    Smooth(Box<Smooth>),
    /// A dose, set in every row: nothing is known of a mechanism. Its values are taken as they were chosen.
    AlwaysSet {
        rows: usize,
    },
}

/// Rows without an intervention from which on variables are measured by these alone.
const LEAST_OBSERVED: usize = 10;

/// Some rows in units of their own: those of all nodes that were targets in the same rows.
struct Rows {
    /// Is there no row in which the nodes were not set? Then these are all rows.
    always_set: bool,
    /// Mean and standard deviation of every variable, in the data's units.
    units: Vec<(f64, f64)>,
    /// `[variable][row]`, standardised.
    columns: Vec<Vec<f64>>,
    regimes: Vec<u32>,
    /// The places of the rows in which nothing was set; of all rows if there are too few of these.
    calm: Vec<usize>,
    /// Variables that vary.
    vary: Vec<bool>,
    /// Scores of linear mechanisms.
    linear: Option<Arc<Bge>>,
}

impl Rows {
    fn new(settings: &Mcmc, data: &Dataset, mut rows: Vec<usize>) -> Self {
        let nodes = data.variables();
        let always_set = rows.is_empty();
        if always_set {
            rows = (0..data.rows()).collect();
        }
        let column = |k: Node| rows.iter().map(move |&row| data.column(k)[row]);
        let values = |k: Node, keep: &dyn Fn(usize) -> bool| {
            rows.iter().filter(|&&row| keep(row)).map(|&row| data.column(k)[row]).collect()
        };
        let unit = |k: Node| {
            if !settings.standardise {
                return (0.0, 1.0);
            }
            // Values that an experimenter set say nothing about a variable's own spread, nor do those that follow from
            // setting something else to an extreme. Sums of squares, all that linear scores see, would lose their digits
            // in units that small.
            let smooth = settings.family == Family::GaussianProcess;
            let observed: Vec<f64> = values(k, &|row| data.targets(row).is_empty());
            let free: Vec<f64> = values(k, &|row| !data.targets(row).contains(k));
            let spread = |of: &[f64], least: usize| of.len() >= least && vary(of.iter().copied());
            if smooth && spread(&observed, LEAST_OBSERVED) {
                mean_and_sd(observed.iter().copied())
            } else if spread(&free, 3) {
                mean_and_sd(free.iter().copied())
            } else {
                mean_and_sd(column(k))
            }
        };
        let units: Vec<(f64, f64)> = (0..nodes).map(unit).collect();
        let columns: Vec<Vec<f64>> = units
            .iter()
            .enumerate()
            .map(|(k, (mean, sd))| column(k).map(|x| (x - mean) / sd).collect())
            .collect();
        let linear = (settings.family == Family::Linear).then(|| {
            let (rows_of, freedom) =
                (vec![(0..rows.len()).collect(); nodes], nodes as f64 + bge::EXTRA_FREEDOM);
            Arc::new(Bge::new(&columns, &rows_of, &vec![0.0; nodes], settings.prior_rows, freedom))
        });
        let vary = (0..nodes).map(|k| vary(column(k))).collect();
        let mut calm: Vec<usize> =
            (0..rows.len()).filter(|&place| data.targets(rows[place]).is_empty()).collect();
        if calm.len() < LEAST_OBSERVED {
            calm = (0..rows.len()).collect();
        }
        Self { always_set, units, columns, regimes: regimes(data, &rows), calm, vary, linear }
    }
}

impl Problem {
    /// All nodes of data whose rows are in their canonical order. Nodes with the same rows share what is made of them.
    pub fn all(settings: &Mcmc, data: &Dataset) -> Vec<Self> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut group_of = Vec::new();
        for node in 0..data.variables() {
            let rows: Vec<usize> = data.untouched_rows(node).collect();
            let known = groups.iter().position(|group| *group == rows);
            group_of.push(known.unwrap_or(groups.len()));
            if known.is_none() {
                groups.push(rows);
            }
        }
        let groups = ordered_map(&groups, |rows| Rows::new(settings, data, rows.clone()));
        ordered_map_indices(data.variables(), |node| Self::of(settings, &groups[group_of[node]], node))
    }

    /// One node of such data.
    #[cfg(test)]
    pub fn new(settings: &Mcmc, data: &Dataset, node: Node) -> Self {
        Self::of(settings, &Rows::new(settings, data, data.untouched_rows(node).collect()), node)
    }

    fn of(settings: &Mcmc, rows: &Rows, node: Node) -> Self {
        let terms = match &rows.linear {
            _ if rows.always_set => Terms::AlwaysSet { rows: rows.regimes.len() },
            Some(bge) => Terms::Linear(bge.clone()),
            None => Terms::Smooth(Box::new(Smooth::new(
                node,
                rows.columns.clone(),
                rows.regimes.clone(),
                &rows.calm,
            ))),
        };
        Self {
            node,
            nodes: rows.units.len(),
            units: rows.units.clone(),
            mark: mark(settings, rows, node),
            varies: !rows.always_set && rows.vary[node],
            terms,
        }
    }

    /// log p(values of the node | values of the parents), parameters integrated out. A function of data and set alone.
    pub fn score(&self, parents: Mask) -> f64 {
        match &self.terms {
            Terms::Linear(bge) => bge.score(self.node, &parents.node_set(self.nodes)),
            Terms::Smooth(smooth) => smooth.score(parents),
            Terms::AlwaysSet { .. } => 0.0,
        }
    }

    /// The law of the node's value given the parents' values, in ascending order of the parents and in the data's units;
    /// none if numbers run out of digits.
    pub fn conditional(&self, parents: Mask) -> Option<Conditional> {
        let units: Vec<(f64, f64)> = parents.nodes().map(|k| self.units[k]).collect();
        let unit = self.units[self.node];
        match &self.terms {
            Terms::Linear(bge) => {
                let found = bge.conditional(self.node, &parents.node_set(self.nodes))?;
                Some(Conditional::Linear(found.rescaled(unit, &units)))
            }
            Terms::Smooth(smooth) => {
                Some(Conditional::Process(Box::new(smooth.conditional(parents, unit, units)?)))
            }
            Terms::AlwaysSet { rows } => {
                let (size, rows) = (1 + units.len(), *rows as f64);
                let known = |k: usize| if k == 0 { rows.sqrt().recip() } else { 0.0 };
                let law = LinearConditional {
                    degrees: rows,
                    scale: rows,
                    centre: vec![0.0; units.len()],
                    location: vec![0.0; size],
                    factor: (0..size * size).map(known).collect(),
                };
                Some(Conditional::Linear(law.rescaled(unit, &units)))
            }
        }
    }

    /// Mechanisms and noise standard deviations from their posterior given the parents, in the data's units: one from
    /// every source of randomness.
    pub fn draw(&self, parents: Mask, sources: impl Iterator<Item = Draws>) -> Vec<(Mechanism, f64)> {
        let drawn: Vec<(Mechanism, f64)> = match &self.terms {
            Terms::Linear(bge) => {
                let set = parents.node_set(self.nodes);
                let of = |mut source: Draws| {
                    let (linear, variance) = bge.draw(self.node, &set, &mut source);
                    (Mechanism::Linear(linear), variance.sqrt())
                };
                sources.map(of).collect()
            }
            Terms::Smooth(smooth) => smooth.draw(parents, sources),
            Terms::AlwaysSet { .. } => {
                let weights = vec![0.0; parents.len()];
                sources
                    .map(|_| (Mechanism::Linear(Linear { weights: weights.clone(), intercept: 0.0 }), 1.0))
                    .collect()
            }
        };
        drawn.into_iter().map(|drawn| self.in_data_units(parents, drawn)).collect()
    }

    /// The mechanism and its noise in the data's units.
    fn in_data_units(&self, parents: Mask, (mechanism, sd): (Mechanism, f64)) -> (Mechanism, f64) {
        // Inside, x' = (x - mean)/sd, so x = (x' - (-mean/sd)) / (1/sd).
        let unit = |node: Node| (-self.units[node].0 / self.units[node].1, 1.0 / self.units[node].1);
        let units: Vec<(f64, f64)> = parents.nodes().map(unit).collect();
        (mechanism.rescaled(unit(self.node), &units), sd * self.units[self.node].1)
    }

    #[cfg(test)]
    pub(super) fn hyper(&self, parents: Mask) -> Option<super::gp::Hyper> {
        let Terms::Smooth(smooth) = &self.terms else { return None };
        smooth.hyper(parents)
    }
}

/// The regime of every row, numbered in the order of the rows: regimes without a row among these make no difference.
fn regimes(data: &Dataset, rows: &[usize]) -> Vec<u32> {
    let mut next = 0;
    let mut before = None;
    rows.iter()
        .map(|&row| {
            let regime = data.regime_of_row()[row];
            next += u32::from(before.is_some_and(|before| before != regime));
            before = Some(regime);
            next
        })
        .collect()
}

/// The fingerprint of the numbers that the scores are made of.
fn mark(settings: &Mcmc, rows: &Rows, node: Node) -> u64 {
    let Rows { columns, units, regimes, always_set, .. } = rows;
    let counts = [columns.len() as u64, regimes.len() as u64, node as u64, u64::from(*always_set)];
    let head = [VERSION, settings.family as u64, settings.prior_rows.to_bits()].into_iter().chain(counts);
    let numbers = columns.iter().flatten().copied().chain(units.iter().flat_map(|&(mean, sd)| [mean, sd]));
    let regimes = regimes.iter().map(|&regime| u64::from(regime));
    fingerprint::of_words(head.chain(regimes).chain(numbers.map(f64::to_bits)))
}

/// Of the scores: a new number makes saved ones worthless.
const VERSION: u64 = 3;
