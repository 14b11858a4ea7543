//! The DAG bootstrap: a posterior over linear models from resampled data.
//!
//! Rows are resampled within each regime; each resample is searched by GIES; one DAG of each estimated class, drawn at
//! random, gets its parameters by maximum likelihood on *all* the data. Equal draws are merged into weights.
//! Variables are worked on in the order of their names, so that the order of the columns shows nowhere.

mod gies;
mod moments;
mod operators;
mod score;

use crate::data::Dataset;
use crate::graph::{Dag, Node, NodeSet};
use crate::num::parallel::ordered_map_indices;
use crate::num::random::{Purpose, Seed, Stream};
use crate::posterior::Knowledge;
use crate::scm::{ByName, Ensemble, Linear, Mechanism, Scm};

pub use gies::{GiesOptions, GiesResult, Step};
pub use moments::Moments;
pub use score::{Degenerate, Gain, Regression, Scores, regress};

/// What the user may choose.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    /// Number of resamples, at least 1.
    pub draws: usize,
    /// λ, the price of a parameter; ½ ln N (BIC) if none.
    pub penalty: Option<f64>,
    /// Limits of the search.
    pub search: GiesOptions,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { draws: 100, penalty: None, search: GiesOptions::default() }
    }
}

/// A posterior and how it was reached.
#[derive(Clone, Debug)]
pub struct BootstrapFit {
    /// The weighted models.
    pub ensemble: Ensemble,
    /// The score of the class found in each resample, on that resample.
    pub scores: Vec<f64>,
    /// Steps of each search.
    pub steps: Vec<usize>,
}

/// Why data have no bootstrap posterior.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum BootstrapError {
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
    /// A required edge that no regression can hold.
    #[error(
        "the required edge {from:?} -> {to:?} cannot be fitted: {from:?} does not vary, or the other required parents \
         determine it; leave the column or the requirement out"
    )]
    RequiredDegenerate {
        /// Tail.
        from: String,
        /// Head.
        to: String,
    },
    /// No draw was asked for.
    #[error("0 draws: ask for at least one")]
    NoDraws,
    /// A penalty that is no penalty.
    #[error("λ = {0}: the penalty is a finite number, 0 or more")]
    Penalty(f64),
}

/// Members of a class that are drawn in search of one that obeys the knowledge.
const MOST_TRIES: usize = 200;

/// An intercept, a variance, and one row to spare.
const LEAST_ROWS: usize = 3;

impl Bootstrap {
    /// The posterior of the data. `done` is called after every draw, from any thread.
    pub fn fit(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        seed: Seed,
        done: &(dyn Fn() + Sync),
    ) -> Result<BootstrapFit, BootstrapError> {
        self.check(data, knowledge)?;
        let by_name = ByName::new(data.names());
        let sorted = data.reordered(&by_name.names).expect("the same names in another order");
        let knowledge = knowledge.relabelled(&by_name.to);
        let search = GiesOptions {
            start: self.search.start.as_ref().map(|start| start.relabelled(&by_name.to)),
            ..self.search.clone()
        };
        let stream = seed.stream(Purpose::Bootstrap);
        let results = ordered_map_indices(self.draws, |draw| {
            let stream = stream.at(draw as u64);
            let weights = resample(&sorted, stream);
            let mut scores = Scores::new(Moments::new(&sorted, &weights), self.penalty, gies::LEAST_GAIN);
            let found = gies::gies(&mut scores, sorted.regimes(), &knowledge, &search);
            let mut draws = stream.named("member").draws();
            let dag = match &found.refined {
                None => found.class.random_member(&mut draws),
                Some(refined) => {
                    // Members that obey, all with the same probability; where they are too rare, any that obeys.
                    let tried = (0..MOST_TRIES).map(|_| found.class.random_member(&mut draws));
                    let lucky = tried.into_iter().find(|member| knowledge.allows(member));
                    let any = || refined.random_member(&mut stream.named("refined").draws());
                    lucky.or_else(any).expect("a refined class has a member")
                }
            };
            done();
            (dag, found)
        });
        let all = Moments::new(&sorted, &vec![1.0; sorted.rows()]);
        let mut dags: Vec<(&Dag, usize)> = Vec::new();
        for (dag, _) in &results {
            match dags.iter_mut().find(|(known, _)| *known == dag) {
                Some((_, count)) => *count += 1,
                None => dags.push((dag, 1)),
            }
        }
        let models = dags
            .iter()
            .map(|(dag, _)| model(dag, &all, &sorted).reordered(data.names(), &by_name.to))
            .collect();
        let weights = dags.iter().map(|&(_, count)| count as f64 / self.draws as f64).collect();
        Ok(BootstrapFit {
            ensemble: Ensemble::new(models, weights).expect("every draw is a model with a positive weight"),
            scores: results.iter().map(|(_, found)| found.score).collect(),
            steps: results.iter().map(|(_, found)| found.steps.len()).collect(),
        })
    }

    /// One search on the data as they are, variables in the order of the columns, and the model of its DAG.
    pub fn single(&self, data: &Dataset, knowledge: &Knowledge) -> Result<(GiesResult, Scm), BootstrapError> {
        self.check(data, knowledge)?;
        let moments = || Moments::new(data, &vec![1.0; data.rows()]);
        let mut scores = Scores::new(moments(), self.penalty, gies::LEAST_GAIN);
        let found = gies::gies(&mut scores, data.regimes(), knowledge, &self.search);
        let scm = model(&found.dag, scores.moments(), data);
        Ok((found, scm))
    }

    fn check(&self, data: &Dataset, knowledge: &Knowledge) -> Result<(), BootstrapError> {
        if self.draws == 0 {
            return Err(BootstrapError::NoDraws);
        }
        if let Some(penalty) = self.penalty.filter(|penalty| !(*penalty >= 0.0 && penalty.is_finite())) {
            return Err(BootstrapError::Penalty(penalty));
        }
        for node in 0..data.variables() {
            let rows = (0..data.rows()).filter(|&row| !data.targets(row).contains(node)).count();
            if rows < LEAST_ROWS {
                let name = data.names()[node].clone();
                return Err(BootstrapError::TooFewRows { name, rows, least: LEAST_ROWS });
            }
        }
        let all = Moments::new(data, &vec![1.0; data.rows()]);
        for to in (0..data.variables()).filter(|&node| !knowledge.required().parents(node).is_empty()) {
            let parents = knowledge.required().parents(to);
            let from = match regress(&all, to, parents) {
                Ok(_) => continue,
                Err(Degenerate::CollinearParent(parent)) => parent,
                Err(_) => parents.first().expect("a required parent"),
            };
            let name = |node: Node| data.names()[node].clone();
            return Err(BootstrapError::RequiredDegenerate { from: name(from), to: name(to) });
        }
        Ok(())
    }
}

/// Why variables or single edges take no part: constants, and variables that another one determines without noise
/// (the second of the pair), so that the edge from that one has no regression.
pub fn degenerate(data: &Dataset) -> Vec<(Degenerate, Option<Node>)> {
    let all = Moments::new(data, &vec![1.0; data.rows()]);
    let nodes = data.variables();
    let empty = NodeSet::empty(nodes);
    let constant = |node: &Node| matches!(regress(&all, *node, &empty), Err(Degenerate::Constant(_)));
    let constants: Vec<Node> = (0..nodes).filter(constant).collect();
    let varying = (0..nodes).filter(|node| !constants.contains(node));
    let determined =
        varying.clone().flat_map(|a| varying.clone().filter(move |&b| b != a).map(move |b| (a, b)));
    let pairs = determined.filter_map(|(a, b)| {
        let reason = regress(&all, a, &NodeSet::of(nodes, [b])).err()?;
        matches!(reason, Degenerate::Determined(_)).then_some((reason, Some(b)))
    });
    constants
        .iter()
        .map(|&node| (Degenerate::Constant(node), None))
        .chain(pairs.collect::<Vec<_>>())
        .collect()
}

/// How often each row is drawn, with replacement within each regime.
fn resample(data: &Dataset, stream: Stream) -> Vec<f64> {
    let mut weights = vec![0.0; data.rows()];
    for regime in 0..data.regimes().len() {
        let rows: Vec<usize> =
            (0..data.rows()).filter(|&row| data.regime_of_row()[row] as usize == regime).collect();
        let mut draws = stream.at(regime as u64).draws();
        for _ in 0..rows.len() {
            weights[rows[draws.below(rows.len())]] += 1.0;
        }
    }
    weights
}

/// The model on a DAG with maximum-likelihood parameters; nodes in the order of the moments.
fn model(dag: &Dag, moments: &Moments, data: &Dataset) -> Scm {
    let fitted = |node| fitted(node, dag.parents(node), moments);
    let (mechanisms, noise_sd) =
        (0..dag.len()).map(fitted).map(|(linear, sd)| (Mechanism::Linear(linear), sd)).unzip();
    Scm::new(data.names().clone(), dag.clone(), mechanisms, noise_sd).expect("fitted parameters are finite")
}

/// Mechanism and noise of a node by maximum likelihood.
fn fitted(node: Node, parents: &NodeSet, moments: &Moments) -> (Linear, f64) {
    // Parents that a resample can tell apart can be told apart by all rows; a constant variable has no parents.
    let regression = regress(moments, node, parents).unwrap_or_else(|_| Regression {
        weights: vec![0.0; parents.len()],
        intercept: moments.mean(node, node),
        residual: moments.squares(node)[node],
    });
    let sd = (regression.residual / moments.rows(node)).sqrt();
    // A constant still needs a density: it is known to about its own precision.
    let least = 1e-9 * regression.intercept.abs().max(1e-3);
    let linear = Linear { weights: regression.weights, intercept: regression.intercept };
    (linear, sd.max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every regime keeps its number of rows; a regime of one row keeps that row.
    #[test]
    fn rows_are_resampled_within_their_regime() {
        let names = ["A", "B"].map(String::from).into();
        let columns = vec![(0..30).map(f64::from).collect(), vec![1.0; 30]];
        let targets = (0..30).map(|row| NodeSet::of(2, (row < 9).then_some(usize::from(row == 0)))).collect();
        let data = Dataset::new(names, columns, targets).unwrap();
        let mut distinct = std::collections::HashSet::new();
        for draw in 0..20 {
            let weights = resample(&data, Seed::new(draw).stream(Purpose::Bootstrap));
            let total = |rows: std::ops::Range<usize>| weights[rows].iter().sum::<f64>();
            assert_eq!((total(0..1), total(1..9), total(9..30)), (1.0, 8.0, 21.0));
            distinct.insert(weights.iter().map(|w| *w as u32).collect::<Vec<_>>());
        }
        assert_eq!(distinct.len(), 20);
    }
}
