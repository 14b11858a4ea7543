//! Chains against the enumeration of all DAGs with the same scores.

use std::collections::HashMap;

use serde_json::Value;

use super::super::mask::{Mask, bit};
use super::super::problem::Problem;
use super::super::{EdgePrior, Family, Mcmc};
use crate::data::Dataset;
use crate::graph::NodeSet;
use crate::num::log_sum_exp;
use crate::num::random::{Purpose, Seed, Stream};
use crate::posterior::Knowledge;
use crate::scm::{Intervention, Linear, Mechanism, Mlp, Scm};

/// The parents of every node, for all DAGs.
fn all_dags(nodes: usize) -> Vec<Vec<Mask>> {
    let pairs: Vec<(usize, usize)> =
        (0..nodes).flat_map(|i| (0..nodes).filter(move |&j| j != i).map(move |j| (i, j))).collect();
    let graph = |code: u32| {
        let mut parents = vec![Mask::EMPTY; nodes];
        for (k, &(from, to)) in pairs.iter().enumerate() {
            if code >> k & 1 == 1 {
                parents[to] |= bit(from);
            }
        }
        parents
    };
    let acyclic = |parents: &Vec<Mask>| {
        let mut placed = Mask::EMPTY;
        for _ in 0..nodes {
            let free = |node: &usize| parents[*node].is_within(placed);
            placed = (0..nodes).filter(free).fold(placed, |set, node| set | bit(node));
        }
        placed.len() == nodes
    };
    (0..1u32 << pairs.len()).map(graph).filter(acyclic).collect()
}

/// Observations and a few interventions of a random world in which half of the possible edges are present.
fn data(nodes: usize, family: Family, seed: u64) -> Dataset {
    let mut draws = Seed::new(seed).stream(Purpose::Parameters).draws();
    let pairs = (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j)));
    let edges: Vec<_> = pairs.filter(|_| draws.uniform() < 0.5).collect();
    let dag = crate::graph::Dag::from_edges(nodes, edges).unwrap();
    let mechanisms = (0..nodes)
        .map(|node| {
            let parents = dag.parents(node).len();
            let mut numbers = |count: usize| -> Vec<f64> { (0..count).map(|_| draws.normal()).collect() };
            match family {
                Family::Linear => Mechanism::Linear(Linear { weights: numbers(parents), intercept: 1.0 }),
                Family::GaussianProcess => {
                    let (w1, b1, w2) = (numbers(parents * 5), numbers(5), numbers(5));
                    Mechanism::Mlp(Mlp { w1, b1, w2, b2: 0.0 })
                }
            }
        })
        .collect();
    let names = (0..nodes).map(|k| format!("X{k}")).collect();
    let scm = Scm::new(names, dag, mechanisms, vec![1.0; nodes]).unwrap();
    let stream = Seed::new(seed).stream(Purpose::Noise);
    let experiment = |set: Intervention, rows: usize, stream: Stream| {
        let columns = scm.sample(rows, &set, stream);
        Dataset::with_regime(scm.names().clone(), columns, set.targets(nodes)).unwrap()
    };
    let mut data = experiment(Intervention::none(), 16, stream);
    data.append(&experiment(Intervention::new([(1, 1.0)]).unwrap(), 6, stream.at(1))).unwrap();
    data
}

fn exact(settings: &Mcmc, data: &Dataset, knowledge: &Knowledge, dags: &[Vec<Mask>]) -> Vec<f64> {
    let nodes = data.variables();
    let tables: Vec<HashMap<Mask, f64>> = (0..nodes)
        .map(|node| {
            let problem = Problem::new(settings, data, node);
            let prior = settings.prior.of_node(node, data.names());
            let of_bits = |code: u32| Mask::of((0..nodes).filter(|k| code >> k & 1 == 1));
            let sets = (0..1 << nodes).map(of_bits);
            let score = |set: Mask| {
                let forbidden = set.nodes().any(|parent| knowledge.forbids(parent, node));
                let missing = knowledge.required().parents(node).iter().any(|parent| !set.contains(parent));
                let known = set.contains(node) || forbidden || missing;
                if known { f64::NEG_INFINITY } else { problem.score(set) + prior.of(set) }
            };
            sets.map(|set| (set, score(set))).collect()
        })
        .collect();
    let scores: Vec<f64> =
        dags.iter().map(|parents| parents.iter().zip(&tables).map(|(set, table)| table[set]).sum()).collect();
    let total = log_sum_exp(&scores);
    let mut probabilities = vec![0.0; nodes * nodes];
    for (parents, score) in dags.iter().zip(&scores) {
        let p = (score - total).exp();
        for (to, &set) in parents.iter().enumerate() {
            set.nodes().for_each(|from| probabilities[from * nodes + to] += p);
        }
    }
    probabilities
}

fn settings(family: Family, nodes: usize) -> Mcmc {
    Mcmc { max_parents: Some(nodes - 1), draws: 4, least_sweeps: 6000, most_sweeps: 6000, ..Mcmc::of(family) }
}

/// The largest error of an edge's probability over some data sets.
fn worst(family: Family, nodes: usize, seeds: std::ops::Range<u64>, change: impl Fn(&mut Mcmc)) -> f64 {
    let dags = all_dags(nodes);
    let mut worst = 0.0f64;
    for seed in seeds {
        let data = data(nodes, family, seed);
        let mut settings = settings(family, nodes);
        change(&mut settings);
        let knowledge = Knowledge::none(nodes);
        let fit = settings.fit(&data, &knowledge, Seed::new(seed), &()).unwrap();
        let want = exact(&settings, &data, &knowledge, &dags);
        for (got, want) in fit.edge_probabilities.concat().iter().zip(&want) {
            worst = worst.max((got - want).abs());
        }
        assert!(fit.diagnostics.agree, "{:?}", fit.diagnostics);
    }
    worst
}

#[test]
fn the_enumeration_finds_every_dag() {
    assert_eq!([1, 2, 3, 4, 5].map(|nodes| all_dags(nodes).len()), [1, 3, 25, 543, 29281]);
}

/// 20 data sets each: chains of 3000 sweeps have standard errors of at most 0.006.
#[test]
fn edge_probabilities_of_linear_models_are_exact() {
    for nodes in [3, 4, 5] {
        let worst = worst(Family::Linear, nodes, 0..20, |_| {});
        println!("linear, {nodes} variables: off by {worst:.4} at most");
        assert!(worst < 0.02, "{worst}");
    }
}

#[test]
fn edge_probabilities_of_gaussian_processes_are_exact() {
    for nodes in [3, 4, 5] {
        let worst = worst(Family::GaussianProcess, nodes, 0..20, |_| {});
        println!("Gaussian process, {nodes} variables: off by {worst:.4} at most");
        assert!(worst < 0.02, "{worst}");
    }
}

/// A single candidate: all other parents are tried beside it, or become candidates because they are used.
#[test]
fn parents_that_were_screened_out_come_back() {
    let dags = all_dags(4);
    let few = Mcmc { candidates: 1, ..settings(Family::Linear, 4) };
    let mut readmitted = 0;
    for seed in 0..10 {
        let data = data(4, Family::Linear, seed);
        let knowledge = Knowledge::none(4);
        let fit = few.fit(&data, &knowledge, Seed::new(seed), &()).unwrap();
        readmitted += fit.diagnostics.readmitted;
        let want = exact(&few, &data, &knowledge, &dags);
        for (got, want) in fit.edge_probabilities.concat().iter().zip(&want) {
            assert!((got - want).abs() < 0.02, "{got} {want}");
        }
    }
    assert!(readmitted > 0);
}

#[test]
fn priors_are_those_of_the_enumeration() {
    let listed = vec![("X0".into(), "X1".into(), 0.9), ("X3".into(), "X2".into(), 0.01)];
    for prior in [EdgePrior::Sf, EdgePrior::Pairs { probabilities: listed, edges_per_node: 0.5 }] {
        let worst = worst(Family::Linear, 4, 0..4, |settings| settings.prior = prior.clone());
        assert!(worst < 0.02, "{worst}");
    }
}

/// Two required chains and many forbidden edges: moves of single nodes alone would get stuck.
#[test]
fn knowledge_is_that_of_the_enumeration() {
    let nodes = 5;
    let dags = all_dags(nodes);
    let data = data(nodes, Family::Linear, 3);
    let all = (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j)));
    let required = [(1, 2), (3, 4)];
    let free = [(0, 1), (0, 3)];
    let forbidden: Vec<_> =
        all.filter(|(i, j)| i != j && !required.contains(&(*i, *j)) && !free.contains(&(*i, *j))).collect();
    for forbidden in [forbidden, vec![(0, 1), (4, 2)]] {
        let knowledge = Knowledge::new(data.names(), &forbidden, &required, &[]).unwrap();
        let settings = settings(Family::Linear, nodes);
        let fit = settings.fit(&data, &knowledge, Seed::new(1), &()).unwrap();
        let want = exact(&settings, &data, &knowledge, &dags);
        for (got, want) in fit.edge_probabilities.concat().iter().zip(&want) {
            assert!((got - want).abs() < 0.02, "{got} {want}");
        }
        assert!(fit.ensemble.draws().iter().all(|draw| knowledge.allows(draw.dag())));
    }
}

/// The reference program's BGe without the rows in which a node was a target, from data to score.
#[test]
fn linear_scores_are_those_of_the_reference() {
    let golden: Value = serde_json::from_str(include_str!("../../../../tests/golden/dibs.json")).unwrap();
    let table = |value: &Value| -> Vec<Vec<f64>> { serde_json::from_value(value.clone()).unwrap() };
    for case in golden["bge"].as_array().unwrap() {
        let (x, mask, graph) = (table(&case["x"]), table(&case["interv_mask"]), table(&case["G"]));
        let nodes = graph.len();
        let columns = (0..nodes).map(|k| x.iter().map(|row| row[k]).collect()).collect();
        let targets = mask.iter().map(|row| NodeSet::of(nodes, (0..nodes).filter(|&k| row[k] == 1.0)));
        let names = (0..nodes).map(|k| format!("X{k}")).collect();
        let data = Dataset::new(names, columns, targets.collect()).unwrap();
        let settings = Mcmc { standardise: false, prior_rows: 1.0, ..Mcmc::of(Family::Linear) };
        let want: Vec<f64> = serde_json::from_value(case["interv_node_scores_correct"].clone()).unwrap();
        for (node, want) in want.iter().enumerate() {
            let parents =
                (0..nodes).filter(|&k| graph[k][node] == 1.0).fold(Mask::EMPTY, |set, k| set | bit(k));
            let got = Problem::new(&settings, &data, node).score(parents);
            assert!((got - want).abs() < 1e-8 * want.abs(), "{got} {want}");
        }
    }
}
