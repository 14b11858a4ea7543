//! A node as a smooth function of its parents: the score of a set of parents as a Gaussian process, and draws from it.
//!
//! The node is seen in up to two ways: straight, and along the curve that draws in its tails ([`tails`]). With every set of
//! parents the data are as likely as the two together make them. The law of new rows given a graph follows the likelier
//! way; models that are drawn have additive normal noise, so they are always drawn from the straight one.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use super::features::{Spectrum, Weights};
use super::gp::{self, Hyper, LENGTHS, LINEAR, Regression, SIGMA, SMOOTH, usual};
use super::mask::{Mask, bit};
use super::subset;
use super::table::log_add;
use super::tails;
use crate::belief::{MOST_CENTRES, ProcessConditional, Warp, pivots};
use crate::graph::Node;
use crate::num::random::Draws;
use crate::scm::Mechanism;

/// Rows up to which the marginal likelihood is that of the process itself; beyond, hyperparameters come from
/// [`SOME_ROWS`] of them that cover the rest, and all rows are seen through some of these.
pub(super) const EXACT_ROWS: usize = MOST_CENTRES;
const SOME_ROWS: usize = 200;

/// Rows on which the search for hyperparameters begins, and which tell how sharply they are known.
const FEW_ROWS: usize = 100;

/// What the centres of many rows may leave unexplained at any of the rows that they are chosen from, as a share of the
/// noise's variance.
const UNEXPLAINED: f64 = 0.1;

/// One node's rows.
pub(super) struct Smooth {
    node: Node,
    /// `[variable][row]`, standardised.
    columns: Vec<Vec<f64>>,
    /// The regime of every row, numbered in the order of the rows.
    regimes: Vec<u32>,
    straight: View,
    curved: Option<View>,
}

/// A way to see the node.
struct View {
    warp: Option<Warp>,
    /// [rows].
    values: Vec<f64>,
    /// What turns the density of these values into one of the data.
    log_volume: f64,
    /// The hyperparameters of every single parent, from which larger sets start; found when first needed.
    singles: OnceLock<Vec<Option<Hyper>>>,
    /// What was found for every set that was asked for.
    fitted: Mutex<HashMap<Mask, Option<Fitted>>>,
}

/// Hyperparameters of a set of parents.
#[derive(Clone)]
struct Fitted {
    /// Where the score of the rows that they were found from is largest.
    hyper: Hyper,
    /// That score.
    largest: f64,
    /// What the width of the maximum adds to the score of all rows.
    log_width: f64,
}

impl View {
    fn new(warp: Option<Warp>, values: Vec<f64>, log_volume: f64) -> Self {
        Self { warp, values, log_volume, singles: OnceLock::new(), fitted: Mutex::default() }
    }
}

impl Smooth {
    /// `calm` are the rows by which variables are measured.
    pub fn new(node: Node, columns: Vec<Vec<f64>>, regimes: Vec<u32>, calm: &[usize]) -> Self {
        let straight = View::new(None, columns[node].clone(), 0.0);
        let values: Vec<f64> = calm.iter().map(|&row| columns[node][row]).collect();
        let curved = tails::curve(&values, &columns[node]).map(|curve| {
            let values = columns[node].iter().map(|u| curve.warp.inside(*u)).collect();
            View::new(Some(curve.warp), values, curve.log_volume)
        });
        Self { node, columns, regimes, straight, curved }
    }

    fn rows(&self) -> usize {
        self.regimes.len()
    }

    /// log p(values of the node | values of the parents); not a number if numbers run out of digits.
    pub fn score(&self, parents: Mask) -> f64 {
        let straight = self.score_of(&self.straight, parents);
        let Some(curved) = &self.curved else { return straight.unwrap_or(f64::NAN) };
        // Models are drawn from the straight way: a set that it has no score for has none.
        match (straight, self.score_of(curved, parents)) {
            (Some(a), Some(b)) => log_add(a, b),
            (a, _) => a.unwrap_or(f64::NAN),
        }
    }

    /// Of one way to see the node.
    fn score_of(&self, view: &View, parents: Mask) -> Option<f64> {
        let Fitted { hyper, largest, log_width } = self.fitted(view, parents)?;
        let added = log_width + view.log_volume;
        if self.rows() <= EXACT_ROWS {
            return Some(largest + added);
        }
        let chosen = self.chosen(parents);
        let some = Rows::new(self, view, parents, &chosen);
        let centres = pivots(&gp::kernel(&hyper), &some.as_ref(), UNEXPLAINED);
        let centres: Vec<usize> = centres.iter().map(|&place| chosen[place]).collect();
        let centres = Rows::new(self, view, parents, &centres);
        Some(self.regression(view, parents).score_through(&centres.as_ref(), &hyper)? + added)
    }

    /// The law of the node's value given the parents' values; none if numbers run out of digits.
    pub fn conditional(
        &self,
        parents: Mask,
        unit: (f64, f64),
        parent_units: Vec<(f64, f64)>,
    ) -> Option<ProcessConditional> {
        let view = self.likelier(parents);
        let kernel = gp::kernel(&self.fitted(view, parents)?.hyper);
        let rows = self.regression(view, parents);
        let process = ProcessConditional::new(unit, parent_units.clone(), kernel.clone(), &rows)?;
        if self.rows() <= EXACT_ROWS {
            return Some(process.along(view.warp));
        }
        // As in the score of many rows, all variances have their most likely factor.
        let kernel = kernel.scaled(process.misfit().max(1e-12));
        Some(ProcessConditional::new(unit, parent_units, kernel, &rows)?.along(view.warp))
    }

    /// The way to see the node that makes the data likelier.
    fn likelier(&self, parents: Mask) -> &View {
        match &self.curved {
            Some(curved) if self.score_of(curved, parents) > self.score_of(&self.straight, parents) => curved,
            _ => &self.straight,
        }
    }

    /// Functions and noise standard deviations from their posterior, in the units inside.
    pub fn draw(&self, parents: Mask, sources: impl Iterator<Item = Draws>) -> Vec<(Mechanism, f64)> {
        let weights = self.weights(parents).expect("a set that has a score");
        sources.map(|mut source| weights.draw(&mut source)).collect()
    }

    fn weights(&self, parents: Mask) -> Option<Weights> {
        let hyper = self.fitted(&self.straight, parents)?.hyper;
        let all = self.regression(&self.straight, parents);
        let spectrum = Spectrum::of(parents.len());
        Weights::new(&all, &hyper, spectrum, self.rows() > EXACT_ROWS)
    }

    /// The best hyperparameters of the straight way.
    #[cfg(test)]
    pub fn hyper(&self, parents: Mask) -> Option<Hyper> {
        Some(self.fitted(&self.straight, parents)?.hyper)
    }

    /// The best hyperparameters, searched for once.
    fn fitted(&self, view: &View, parents: Mask) -> Option<Fitted> {
        let fitted = || view.fitted.lock().expect("no thread fails while it holds hyperparameters");
        let known = fitted().get(&parents).cloned();
        known.unwrap_or_else(|| {
            let found = self.search(view, parents);
            fitted().insert(parents, found.clone());
            found
        })
    }

    /// A few rows lead close to the best hyperparameters and tell the shape of the maximum, more rows lead there.
    fn search(&self, view: &View, parents: Mask) -> Option<Fitted> {
        let few = self.few(view, parents);
        let rough = few.as_ref().fitted(&self.start(view, parents))?;
        let shape = few.as_ref().shape(&rough)?;
        let chosen = self.chosen(parents);
        let best = if chosen.len() > few.values.len() {
            Rows::new(self, view, parents, &chosen).as_ref().polished(&rough.hyper, &shape)?
        } else {
            rough
        };
        Some(Fitted { hyper: best.hyper, largest: best.score, log_width: shape.log_width(self.rows()) })
    }

    /// Where the search begins.
    fn start(&self, view: &View, parents: Mask) -> Hyper {
        let count = parents.len();
        let mut start = usual(count);
        if count == 0 {
            return start;
        }
        let singles = view.singles.get_or_init(|| self.singles(view));
        let known: Vec<&Hyper> = parents.nodes().filter_map(|k| singles[k].as_ref()).collect();
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
        start
    }

    fn singles(&self, view: &View) -> Vec<Option<Hyper>> {
        let single = |k: Node| {
            let few = self.few(view, bit(k));
            let fits = starts().map(|start| few.as_ref().fitted(&start));
            fits.into_iter()
                .flatten()
                .reduce(|a, b| if b.score > a.score { b } else { a })
                .map(|best| best.hyper)
        };
        (0..self.columns.len()).map(|k| if k == self.node { None } else { single(k) }).collect()
    }

    /// The rows that hyperparameters are found from.
    fn chosen(&self, parents: Mask) -> Vec<usize> {
        self.spread(parents, if self.rows() <= EXACT_ROWS { EXACT_ROWS } else { SOME_ROWS })
    }

    /// The rows on which the search begins: all, if the rest would hardly be worth another search.
    fn few(&self, view: &View, parents: Mask) -> Rows {
        let most = if self.rows() <= FEW_ROWS * 3 / 2 { self.rows() } else { FEW_ROWS };
        Rows::new(self, view, parents, &self.spread(parents, most))
    }

    fn spread(&self, parents: Mask, most: usize) -> Vec<usize> {
        let parents: Vec<&[f64]> = parents.nodes().map(|k| &self.columns[k][..]).collect();
        subset::spread(&parents, &self.regimes, most)
    }

    fn regression<'a>(&'a self, view: &'a View, parents: Mask) -> Regression<'a> {
        let parents = parents.nodes().map(|k| &self.columns[k][..]).collect();
        Regression { values: &view.values, parents }
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

/// Some of the rows.
struct Rows {
    values: Vec<f64>,
    parents: Vec<Vec<f64>>,
}

impl Rows {
    fn new(of: &Smooth, view: &View, parents: Mask, rows: &[usize]) -> Self {
        let some = |column: &[f64]| rows.iter().map(|&row| column[row]).collect();
        Self { values: some(&view.values), parents: parents.nodes().map(|k| some(&of.columns[k])).collect() }
    }

    fn as_ref(&self) -> Regression<'_> {
        Regression { values: &self.values, parents: self.parents.iter().map(|column| &column[..]).collect() }
    }
}
