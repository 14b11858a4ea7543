//! From the graphs to an ensemble: parameters by least squares on all the data, equal graphs merged.

use serde::Serialize;

use super::state::State;
use crate::data::Dataset;
use crate::graph::{Dag, Node, NodeSet};
use crate::posterior::bootstrap::{Moments, regress};
use crate::posterior::fit::{self, Fit};
use crate::posterior::units::mean_and_sd;
use crate::scm::{ByName, Ensemble, Linear, Mechanism, Scm};

/// A posterior and how it was reached.
#[derive(Clone, Debug)]
pub struct ToyFit {
    /// The weighted models.
    pub ensemble: Ensemble,
    /// Draws that were made.
    pub draws: usize,
}

/// How the toy posterior got there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Diagnostics {
    /// Different graphs among the draws.
    pub distinct_graphs: usize,
}

impl From<ToyFit> for Fit {
    fn from(fit: ToyFit) -> Self {
        let distinct_graphs = fit.ensemble.draws().len();
        Self {
            draws: fit.draws,
            ensemble: fit.ensemble,
            graphs: None,
            repaired: 0,
            warning: None,
            notes: Vec::new(),
            diagnostics: fit::Diagnostics::Toy(Diagnostics { distinct_graphs }),
            state: None,
        }
    }
}

/// The ensemble of a state all of whose draws are made; `sorted` are the data with variables sorted by name.
pub(super) fn fit(state: &State, sorted: &Dataset, data: &Dataset, by_name: &ByName) -> ToyFit {
    let moments = Moments::new(sorted, &vec![1.0; sorted.rows()]);
    let mut dags: Vec<(&Dag, usize)> = Vec::new();
    for drawn in state.drawn.iter().flatten() {
        match dags.iter_mut().find(|(known, _)| *known == drawn) {
            Some((_, count)) => *count += 1,
            None => dags.push((drawn, 1)),
        }
    }
    let models = dags
        .iter()
        .map(|(dag, _)| model(dag, &moments, sorted).reordered(data.names(), &by_name.to))
        .collect();
    let weights = dags.iter().map(|&(_, count)| count as f64 / state.all() as f64).collect();
    let ensemble = Ensemble::new(models, weights).expect("every draw is a model with a positive weight");
    ToyFit { ensemble, draws: state.all() }
}

/// The linear model on a DAG; variables sorted.
fn model(dag: &Dag, moments: &Moments, data: &Dataset) -> Scm {
    let (mechanisms, noise_sd) =
        (0..dag.len()).map(|node| fitted(node, dag.parents(node), moments, data)).unzip();
    Scm::new(data.names().clone(), dag.clone(), mechanisms, noise_sd).expect("fitted parameters are finite")
}

/// Mechanism and noise of a node by least squares; weights are 0 where there is no regression.
fn fitted(node: Node, parents: &NodeSet, moments: &Moments, data: &Dataset) -> (Mechanism, f64) {
    let (linear, sd) = match regress(moments, node, parents) {
        Ok(found) => {
            let sd = (found.residual / moments.rows(node)).sqrt();
            (Linear { weights: found.weights, intercept: found.intercept }, sd)
        }
        Err(_) => {
            let (mean, sd) = mean_and_sd(data.untouched_rows(node).map(|row| data.column(node)[row]));
            (Linear { weights: vec![0.0; parents.len()], intercept: mean }, sd)
        }
    };
    (Mechanism::Linear(linear), sd)
}
