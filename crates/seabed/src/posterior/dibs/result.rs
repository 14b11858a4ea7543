//! From particles to an ensemble: graphs without cycles, mechanisms in the data's units, weights.

use serde::Serialize;

use super::estimator::{Problem, Terms};
use super::latent::scores;
use super::parameters::Layout;
use super::settings::Weighting;
use super::state::{Measured, State};
use super::walk::walk;
use crate::data::{Dataset, Names};
use crate::graph::{Dag, Node, NodeSet};
use crate::num::log_sum_exp;
use crate::num::parallel::ordered_map_indices;
use crate::num::random::{Draws, Purpose};
use crate::posterior::UnusableData;
use crate::posterior::fit::{self, Fit};
use crate::scm::{ByName, Ensemble, Linear, Mechanism, Mlp, Scm, ScmError};

/// A posterior and how it was reached.
#[derive(Clone, Debug)]
pub struct DibsFit {
    /// The weighted models.
    pub ensemble: Ensemble,
    /// Particles whose graph had a cycle, from which the least probable edges were removed.
    pub repaired: usize,
    /// log p(Θ, D | G) + log p(G) of every draw, in the units inside, before any is left out for its weight.
    pub log_joints: Vec<f64>,
    /// Why it ended.
    pub end: End,
    /// Where it ended: to resume, or to start the next round from.
    pub state: State,
}

/// Why a fit ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All steps were taken.
    Steps,
    /// Nothing changed any more.
    Quiet,
}

/// How DiBS got there.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Diagnostics {
    /// Steps ever taken, earlier rounds included.
    pub steps: u64,
    /// Why the fit ended.
    pub stopped: &'static str,
    /// log p(Θ, D | G) + log p(G) of every draw, before any is left out for its weight.
    pub log_joints: Vec<f64>,
    /// What was measured on the way.
    pub history: Vec<Measured>,
}

impl From<DibsFit> for Fit {
    fn from(fit: DibsFit) -> Self {
        let stopped = match fit.end {
            End::Quiet => "nothing changed any more",
            End::Steps => "all steps taken",
        };
        Self {
            draws: fit.ensemble.draws().len(),
            ensemble: fit.ensemble,
            graphs: None,
            repaired: fit.repaired,
            warning: None,
            notes: Vec::new(),
            diagnostics: fit::Diagnostics::Dibs(Diagnostics {
                steps: fit.state.steps_taken(),
                stopped,
                log_joints: fit.log_joints,
                history: fit.state.history.clone(),
            }),
            state: Some(fit::State::Dibs(fit.state)),
        }
    }
}

/// The models of all particles.
pub(super) struct Models {
    pub ensemble: Ensemble,
    /// Particles whose graph had a cycle.
    pub repaired: usize,
    /// log p(Θ, D | G) + log p(G) of every draw.
    pub log_joints: Vec<f64>,
}

/// A draw with a weight below this is left out: it would make no difference.
const LEAST_WEIGHT: f64 = 1e-12;

/// The models of sorted data, with the variables in the order of `names`. Particles of a resumed state may be anywhere, even
/// where a model leaves the range of numbers.
pub(super) fn models(
    state: &State,
    problem: &Problem,
    sorted: &Dataset,
    names: &Names,
    by_name: &ByName,
) -> Result<Models, UnusableData> {
    let beyond = || UnusableData::StepNotFinite { step: state.step };
    let nodes = state.names.len();
    let mut repaired = 0;
    let mut log_joints = Vec::new();
    let mut drawn: Vec<(Dag, Scm)> = Vec::new();
    // Units inside are x' = (x - mean)/scale, so x = (x' - (-mean/scale)) / (1/scale).
    let units = state.units.means.iter().zip(&state.units.scales);
    let (means, scales): (Vec<f64>, Vec<f64>) =
        units.map(|(mean, scale)| (-mean / scale, 1.0 / scale)).unzip();
    let of_particles = ordered_map_indices(state.particles.len(), |k| {
        let scores = scores(&state.particles[k].z, nodes);
        let (dag, removed) = acyclic(problem.edges.limit(&scores), &problem.edges.always, &scores);
        let mut draws = state.seed.stream(Purpose::Dibs).at(2).at(state.step).at(k as u64).draws();
        let dags = match &problem.terms {
            Terms::Marginal(bge) if state.settings.walk > 0 => {
                walk(bge, &problem.edges, &state.settings.prior, &dag, state.settings.walk, &mut draws)
            }
            _ => vec![dag],
        };
        (dags, removed > 0, draws)
    });
    for (particle, (dags, cyclic, mut draws)) in state.particles.iter().zip(of_particles) {
        repaired += usize::from(cyclic);
        for dag in dags {
            let parents: Vec<NodeSet> = (0..nodes).map(|j| dag.parents(j).clone()).collect();
            let mut edges = vec![0.0; nodes * nodes];
            for (from, to) in dag.edges() {
                edges[to * nodes + from] = 1.0;
            }
            let of_graph = state.settings.prior.add_gradient(&edges, nodes, &mut vec![0.0; nodes * nodes]);
            let log_joint = problem.log_joint(&parents, &particle.theta) + of_graph;
            if !log_joint.is_finite() {
                return Err(beyond());
            }
            log_joints.push(log_joint);
            let scm = model(problem, &dag, &particle.theta, sorted, &mut draws);
            let scm = scm.and_then(|scm| scm.rescaled(&means, &scales)).map_err(|_| beyond())?;
            drawn.push((dag, scm.reordered(names, &by_name.to)));
        }
    }
    let weights = weights(state, problem, &drawn, &log_joints);
    let (kept, weights): (Vec<Scm>, Vec<f64>) = drawn
        .into_iter()
        .zip(weights)
        .filter(|(_, weight)| *weight > LEAST_WEIGHT)
        .map(|((_, scm), weight)| (scm, weight))
        .unzip();
    let ensemble = Ensemble::new(kept, weights).expect("the largest weight is positive");
    Ok(Models { ensemble, repaired, log_joints })
}

fn weights(state: &State, problem: &Problem, drawn: &[(Dag, Scm)], log_joints: &[f64]) -> Vec<f64> {
    match state.settings.weighting {
        Weighting::Uniform => vec![1.0 / drawn.len() as f64; drawn.len()],
        Weighting::LogJoint => {
            // Without parameters a graph has its whole probability the first time it is found.
            let found_before = |k: usize| {
                matches!(problem.terms, Terms::Marginal(_))
                    && drawn[..k].iter().any(|(dag, _)| *dag == drawn[k].0)
            };
            let values: Vec<f64> = (0..drawn.len())
                .map(|k| if found_before(k) { f64::NEG_INFINITY } else { log_joints[k] })
                .collect();
            let total = log_sum_exp(&values);
            values.iter().map(|value| (value - total).exp()).collect()
        }
    }
}

/// The graph without its least probable edges on cycles, and how many those were; certain edges stay.
pub(super) fn acyclic(mut parents: Vec<NodeSet>, always: &[NodeSet], scores: &[f64]) -> (Dag, usize) {
    let nodes = parents.len();
    let mut removed = 0;
    loop {
        match Dag::from_parents(parents.clone()) {
            Ok(dag) => return (dag, removed),
            Err(_) => {
                let reach = reachable(&parents);
                // An edge i -> j lies on a cycle if i can be reached from j.
                let on_cycle = (0..nodes)
                    .flat_map(|to| parents[to].iter().map(move |from| (from, to)))
                    .filter(|&(from, to)| reach[to].contains(from) && !always[to].contains(from));
                let score = |(from, to): (Node, Node)| scores[to * nodes + from];
                let (from, to) = on_cycle
                    .min_by(|&a, &b| score(a).total_cmp(&score(b)).then(a.cmp(&b)))
                    .expect("certain edges form no cycle");
                parents[to].remove(from);
                removed += 1;
            }
        }
    }
}

/// `[v]`: the nodes to which a directed path leads from v.
fn reachable(parents: &[NodeSet]) -> Vec<NodeSet> {
    let nodes = parents.len();
    let mut reach = vec![NodeSet::empty(nodes); nodes];
    for (to, set) in parents.iter().enumerate() {
        for from in set {
            reach[from].insert(to);
        }
    }
    for through in 0..nodes {
        let beyond = reach[through].clone();
        for set in &mut reach {
            if set.contains(through) {
                set.union_with(&beyond);
            }
        }
    }
    reach
}

/// The model of a graph, in the units inside.
fn model(
    problem: &Problem,
    dag: &Dag,
    theta: &[f64],
    sorted: &Dataset,
    draws: &mut Draws,
) -> Result<Scm, ScmError> {
    let (mechanisms, noise_sd) = (0..dag.len())
        .map(|node| {
            let (mechanism, variance) = match &problem.terms {
                Terms::Marginal(bge) => {
                    let (linear, variance) = bge.draw(node, dag.parents(node), draws);
                    (Mechanism::Linear(linear), variance)
                }
                Terms::Parameters { layout, .. } => {
                    let own = &theta[node * layout.len()..(node + 1) * layout.len()];
                    mechanism(layout, own, dag.parents(node))
                }
            };
            (mechanism, variance.sqrt())
        })
        .unzip();
    Scm::new(sorted.names().clone(), dag.clone(), mechanisms, noise_sd)
}

fn mechanism(layout: &Layout, theta: &[f64], parents: &NodeSet) -> (Mechanism, f64) {
    let weights = parents
        .iter()
        .flat_map(|parent| (0..layout.units).map(move |unit| theta[layout.weight(parent, unit)]))
        .collect();
    let b2 = theta[layout.b2()];
    let mechanism = if layout.nonlinear {
        let of_units = |place: fn(&Layout, usize) -> usize| {
            (0..layout.units).map(|unit| theta[place(layout, unit)]).collect()
        };
        Mechanism::Mlp(Mlp { w1: weights, b1: of_units(Layout::b1), w2: of_units(Layout::w2), b2 })
    } else {
        Mechanism::Linear(Linear { weights, intercept: b2 })
    };
    (mechanism, theta[layout.log_variance()].exp())
}
