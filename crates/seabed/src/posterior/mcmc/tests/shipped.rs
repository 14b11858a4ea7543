//! Calibration of the settings as they are shipped: worlds from the prior of the smooth and of the linear family, as far as a
//! prior in units of the data can be drawn from. Of edges with probability p a share p must be true.

use super::super::features::{Spectrum, Weights};
use super::super::gp::{Hyper, Regression, SIGMA, SMOOTH, usual};
use super::super::{Family, Mcmc};
use crate::data::Dataset;
use crate::graph::{Dag, Node, NodeSet};
use crate::num::random::{Draws, Purpose, Seed};
use crate::posterior::Knowledge;
use crate::posterior::bge::{self, Bge};
use crate::scm::Mechanism;

const NODES: usize = 3;
const OBSERVED: usize = 24;
const SET: usize = 12;

/// A DAG from the prior: edges with probability ½, redrawn until acyclic.
fn graph(draws: &mut Draws) -> Dag {
    loop {
        let pairs = (0..NODES).flat_map(|i| (0..NODES).filter(move |&j| j != i).map(move |j| (i, j)));
        let edges: Vec<_> = pairs.filter(|_| draws.uniform() < 0.5).collect();
        if let Ok(dag) = Dag::from_edges(NODES, edges) {
            return dag;
        }
    }
}

/// Hyperparameters from their prior, within a range in which 36 rows can tell anything.
fn hyper(parents: usize, draws: &mut Draws) -> Hyper {
    let widths = [1.0, 1.0, 1.0, 0.7, 0.7, 0.7];
    let mut hyper = usual(parents);
    for (place, value) in hyper.iter_mut().enumerate() {
        let heavy = place == SIGMA || place == SMOOTH;
        let squares: f64 = (0..4).map(|_| draws.normal().powi(2)).sum();
        let scale = if heavy { (squares / 4.0).sqrt().recip() } else { 1.0 };
        *value = (*value + widths[place] * scale * draws.normal()).clamp(-4.0, 3.0);
    }
    hyper
}

/// A mechanism and its noise from the prior.
fn mechanism(family: Family, node: Node, parents: &NodeSet, draws: &mut Draws) -> (Mechanism, f64) {
    if family == Family::Linear {
        // BGe without any row is its own prior.
        let (freedom, none) = (NODES as f64 + bge::EXTRA_FREEDOM, vec![Vec::new(); NODES]);
        let weight = Mcmc::of(family).prior_rows;
        let prior = Bge::new(&none, &vec![Vec::new(); NODES], &[0.0; NODES], weight, freedom);
        let (linear, variance) = prior.draw(node, parents, draws);
        return (Mechanism::Linear(linear), variance.sqrt());
    }
    let hyper = hyper(parents.len(), draws);
    let none = Regression { values: &[], parents: vec![&[]; parents.len()] };
    let prior = Weights::new(&none, &hyper, Spectrum::of(parents.len()), false).expect("a prior");
    (prior.draw(draws).0, hyper[SIGMA].exp())
}

/// Data of a world: every variable has mean 0 and standard deviation 1 in the rows in which nothing was set.
fn data(dag: &Dag, family: Family, draws: &mut Draws) -> Dataset {
    let targets: Vec<Option<usize>> =
        (0..OBSERVED + SET).map(|row| (row >= OBSERVED).then_some(row % NODES)).collect();
    let mut columns = vec![Vec::new(); NODES];
    for node in dag.topological_order() {
        let parents: Vec<&[f64]> = dag.parents(node).iter().map(|k| &columns[k][..]).collect();
        let (function, noise) = mechanism(family, node, dag.parents(node), draws);
        let mut values = vec![0.0; targets.len()];
        function.means(&parents, &mut values);
        values.iter_mut().for_each(|y| *y += noise * draws.normal());
        let observed = &values[..OBSERVED];
        let mean = observed.iter().sum::<f64>() / OBSERVED as f64;
        let sd = (observed.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / OBSERVED as f64).sqrt();
        for (y, target) in values.iter_mut().zip(&targets) {
            *y = if *target == Some(node) { 2.0 * draws.normal() } else { (*y - mean) / sd };
        }
        columns[node] = values;
    }
    let names = (0..NODES).map(|k| format!("X{k}")).collect();
    let targets = targets.into_iter().map(|target| NodeSet::of(NODES, target)).collect();
    Dataset::new(names, columns, targets).unwrap()
}

/// True edges against the sum of probabilities, in thirds of the probabilities and in all: z-scores, with the number of pairs
/// and the shares.
fn calibration(family: Family, repeats: u64) -> Vec<(f64, usize, f64, f64)> {
    let settings = Mcmc { draws: 100, chains: 2, most_sweeps: 400, ..Mcmc::of(family) };
    let mut found: Vec<(f64, f64)> = Vec::new();
    for repeat in 0..repeats {
        let mut draws = Seed::new(1000 + repeat).stream(Purpose::Parameters).draws();
        let dag = graph(&mut draws);
        let data = data(&dag, family, &mut draws);
        let fit = settings.fit(&data, &Knowledge::none(NODES), Seed::new(repeat), &()).unwrap();
        for (i, row) in fit.edge_probabilities.iter().enumerate() {
            for (j, &p) in row.iter().enumerate().filter(|&(j, _)| j != i) {
                found.push((p, f64::from(u8::from(dag.has_edge(i, j)))));
            }
        }
    }
    let third = |low: f64, high: f64| {
        let within: Vec<&(f64, f64)> = found.iter().filter(|(p, _)| *p >= low && *p < high).collect();
        let expected: f64 = within.iter().map(|(p, _)| p).sum();
        let seen: f64 = within.iter().map(|(_, truth)| truth).sum();
        // Edges of one graph exclude one another: their sum varies less than this. Half a graph in 200 is rounding.
        let variance: f64 = within.iter().map(|(p, _)| (p * (1.0 - p)).max(0.0025)).sum();
        let count = within.len() as f64;
        ((seen - expected) / variance.sqrt(), within.len(), expected / count, seen / count)
    };
    [(0.0, 1.0 / 3.0), (1.0 / 3.0, 2.0 / 3.0), (2.0 / 3.0, 1.1), (0.0, 1.1)]
        .map(|(a, b)| third(a, b))
        .to_vec()
}

/// 60 worlds of three variables: z-scores below 4.
#[test]
fn probabilities_are_shares() {
    let found = [Family::Linear, Family::GaussianProcess].map(|family| (family, calibration(family, 60)));
    assert!(found.iter().all(|(_, thirds)| thirds.iter().all(|third| third.0.abs() < 4.0)), "{found:?}");
}
