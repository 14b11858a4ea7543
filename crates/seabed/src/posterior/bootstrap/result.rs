//! From the graphs of resamples to an ensemble: parameters by maximum likelihood on all the data, equal graphs merged.

use serde::Serialize;

use super::moments::Moments;
use super::prepare::Prepared;
use super::score::{Degenerate, Regression, regress};
use super::state::State;
use crate::data::Dataset;
use crate::graph::{Dag, Node, NodeSet};
use crate::posterior::fit::{self, Fit};
use crate::scm::{ByName, Ensemble, Linear, Mechanism, Scm};

/// The least noise, as a fraction of the spread of a variable, or of its size if it does not vary.
const LEAST_NOISE: f64 = 1e-9;

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

/// How the bootstrap got there.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Diagnostics {
    /// The score of the class found in each resample, on that resample.
    pub scores: Vec<f64>,
    /// Steps of each search.
    pub steps: Vec<usize>,
    /// Different graphs among the draws.
    pub distinct_graphs: usize,
}

impl From<BootstrapFit> for Fit {
    fn from(fit: BootstrapFit) -> Self {
        let distinct_graphs = fit.ensemble.draws().len();
        Self {
            draws: fit.scores.len(),
            ensemble: fit.ensemble,
            graphs: None,
            repaired: 0,
            warning: None,
            notes: Vec::new(),
            diagnostics: fit::Diagnostics::Bootstrap(Diagnostics {
                scores: fit.scores,
                steps: fit.steps,
                distinct_graphs,
            }),
            state: None,
        }
    }
}

/// The ensemble of a state all of whose resamples are done.
pub(super) fn fit(state: &State, prepared: &Prepared, data: &Dataset, by_name: &ByName) -> BootstrapFit {
    let sorted = &prepared.data;
    let all = Moments::new(sorted, &vec![1.0; sorted.rows()]);
    let drawn = || state.drawn.iter().flatten();
    let mut dags: Vec<(&Dag, usize)> = Vec::new();
    for drawn in drawn() {
        match dags.iter_mut().find(|(known, _)| **known == drawn.dag) {
            Some((_, count)) => *count += 1,
            None => dags.push((&drawn.dag, 1)),
        }
    }
    let on =
        |dag: &Dag| prepared.in_given_units(&model(dag, &all, sorted)).reordered(data.names(), &by_name.to);
    let models = dags.iter().map(|(dag, _)| on(dag)).collect();
    let weights = dags.iter().map(|&(_, count)| count as f64 / state.all() as f64).collect();
    BootstrapFit {
        ensemble: Ensemble::new(models, weights).expect("every draw is a model with a positive weight"),
        scores: drawn().map(|drawn| drawn.score).collect(),
        steps: drawn().map(|drawn| drawn.steps).collect(),
    }
}

/// Which edges the search cannot consider because of the data, as text.
pub(in crate::posterior) fn remarks(data: &Dataset) -> Vec<String> {
    let name = |node: Node| &data.names()[node];
    let remark = |(reason, with): (Degenerate, Option<Node>)| match (reason, with) {
        (Degenerate::Determined(node), Some(other)) => Some(format!(
            "{:?} determines {:?} without noise: an edge in this direction is not considered",
            name(other),
            name(node)
        )),
        (Degenerate::Constant(node), _) => {
            Some(format!("{:?} does not vary measurably where it was not set: it gets no edges", name(node)))
        }
        _ => None,
    };
    degenerate(data).into_iter().filter_map(remark).collect()
}

/// Why variables or single edges are left out: constants, and variables that another one determines without noise
/// (the second of the pair), so that the edge from that one has no regression.
pub fn degenerate(data: &Dataset) -> Vec<(Degenerate, Option<Node>)> {
    let all = Moments::new(&Prepared::in_units(data).data, &vec![1.0; data.rows()]);
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

/// The model on a DAG with maximum-likelihood parameters; nodes in the order of the moments.
pub(super) fn model(dag: &Dag, moments: &Moments, data: &Dataset) -> Scm {
    let fitted = |node| fitted(node, dag.parents(node), moments);
    let (mechanisms, noise_sd) =
        (0..dag.len()).map(fitted).map(|(linear, sd)| (Mechanism::Linear(linear), sd)).unzip();
    Scm::new(data.names().clone(), dag.clone(), mechanisms, noise_sd).expect("fitted parameters are finite")
}

/// Mechanism and noise of a node by maximum likelihood.
fn fitted(node: Node, parents: &NodeSet, moments: &Moments) -> (Linear, f64) {
    // Parents that are not collinear in a resample are not collinear in all rows; a constant variable has no parents.
    let regression = regress(moments, node, parents).unwrap_or_else(|_| Regression {
        weights: vec![0.0; parents.len()],
        intercept: moments.mean(node, node),
        residual: moments.squares(node)[node],
    });
    let sd = (regression.residual / moments.rows(node)).sqrt();
    // What is determined without noise still needs a density, in the variable's own unit; so does a constant, which is
    // known to about its own precision, and for 0 there is no unit to go by.
    let spread = (moments.squares(node)[node] / moments.rows(node)).sqrt();
    let least = match moments.mean(node, node).abs() {
        _ if spread > 0.0 => LEAST_NOISE * spread,
        0.0 => LEAST_NOISE,
        size => LEAST_NOISE * size,
    };
    let linear = Linear { weights: regression.weights, intercept: regression.intercept };
    (linear, sd.max(least))
}
