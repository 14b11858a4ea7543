//! Means and log-densities against the numbers of the paper's reference code.

use seabed::data::Names;
use seabed::graph::{Dag, Node, NodeSet};
use seabed::scm::{Linear, Mechanism, Mlp, Scm};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    mlp: Vec<MlpCase>,
    linear: Vec<LinearCase>,
}

#[derive(Deserialize)]
struct MlpCase {
    d: usize,
    hidden: usize,
    noise_std: Vec<f64>,
    graph_kind: String,
    #[serde(rename = "G")]
    g: Vec<Vec<f64>>,
    theta: Theta,
    x: Vec<Vec<f64>>,
    interv_mask: Vec<Vec<u8>>,
    node_means: Vec<Vec<f64>>,
    log_likelihood_interv: f64,
    log_likelihood_obs: f64,
    log_likelihood_rowwise_interv: Vec<f64>,
    acq_target: Node,
    acq_loglik_rowwise: Vec<f64>,
}

#[derive(Deserialize)]
struct Theta {
    #[serde(rename = "W1")]
    w1: Vec<Vec<Vec<f64>>>,
    b1: Vec<Vec<f64>>,
    #[serde(rename = "W2")]
    w2: Vec<Vec<Vec<f64>>>,
    b2: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct LinearCase {
    d: usize,
    obs_noise_variance: f64,
    #[serde(rename = "G")]
    g: Vec<Vec<f64>>,
    theta: Vec<Vec<f64>>,
    x: Vec<Vec<f64>>,
    interv_mask: Vec<Vec<u8>>,
    log_likelihood_interv: f64,
    log_likelihood_obs: f64,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/log_density.json")).unwrap()
}

fn names(d: usize) -> Names {
    (0..d).map(|k| format!("X{k}")).collect()
}

fn columns(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..rows[0].len()).map(|j| rows.iter().map(|row| row[j]).collect()).collect()
}

fn constant() -> Mechanism {
    Mechanism::Linear(Linear { weights: vec![], intercept: 0.0 })
}

/// A soft graph may be cyclic, but each of its mechanisms is one of a model: the one in which all others are roots.
fn model_of(node: Node, parents: &[Node], mechanism: Mechanism, noise_sd: Vec<f64>) -> Scm {
    let d = noise_sd.len();
    let dag = Dag::from_edges(d, parents.iter().map(|&parent| (parent, node))).unwrap();
    let mechanisms = (0..d).map(|k| if k == node { mechanism.clone() } else { constant() }).collect();
    Scm::new(names(d), dag, mechanisms, noise_sd).unwrap()
}

fn parents_of(g: &[Vec<f64>], node: Node) -> Vec<Node> {
    (0..g.len()).filter(|&parent| g[parent][node] != 0.0).collect()
}

impl MlpCase {
    fn mechanism(&self, node: Node) -> Mechanism {
        let scaled = |parent: Node| self.theta.w1[node][parent].iter().map(move |w| w * self.g[parent][node]);
        Mechanism::Mlp(Mlp {
            w1: parents_of(&self.g, node).into_iter().flat_map(scaled).collect(),
            b1: self.theta.b1[node].clone(),
            w2: self.theta.w2[node].iter().map(|w| w[0]).collect(),
            b2: self.theta.b2[node][0],
        })
    }
}

impl LinearCase {
    fn mechanism(&self, node: Node) -> Mechanism {
        let weight = |parent: Node| self.theta[parent][node] * self.g[parent][node];
        let weights = parents_of(&self.g, node).into_iter().map(weight).collect();
        Mechanism::Linear(Linear { weights, intercept: 0.0 })
    }
}

fn assert_close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{got} is not {expected}");
}

/// Sums of the terms that `keep` lets through, row by row.
fn rowwise(terms: &[Vec<f64>], keep: impl Fn(usize, Node) -> bool) -> Vec<f64> {
    let rows = terms[0].len();
    let row = |n: usize| (0..terms.len()).filter(|&j| keep(n, j)).map(|j| terms[j][n]).sum();
    (0..rows).map(row).collect()
}

#[test]
fn mlp_means_and_log_densities_agree_with_the_reference() {
    for case in golden().mlp {
        assert_eq!(case.hidden, case.theta.b1[0].len());
        let data = columns(&case.x);
        let mut terms = Vec::new();
        for node in 0..case.d {
            let scm =
                model_of(node, &parents_of(&case.g, node), case.mechanism(node), case.noise_std.clone());
            let mut means = vec![0.0; case.x.len()];
            scm.means(node, &data, &mut means);
            for (row, mean) in means.iter().enumerate() {
                assert_close(*mean, case.node_means[row][node]);
            }
            let mut term = vec![0.0; case.x.len()];
            scm.add_log_density_of(node, &data, &mut term);
            terms.push(term);
        }
        let masked = rowwise(&terms, |n, j| case.interv_mask[n][j] == 0);
        for (got, expected) in masked.iter().zip(&case.log_likelihood_rowwise_interv) {
            assert_close(*got, *expected);
        }
        assert_close(masked.iter().sum(), case.log_likelihood_interv);
        assert_close(rowwise(&terms, |_, _| true).iter().sum(), case.log_likelihood_obs);
        let design = rowwise(&terms, |_, j| j != case.acq_target);
        for (got, expected) in design.iter().zip(&case.acq_loglik_rowwise) {
            assert_close(*got, *expected);
        }
    }
}

#[test]
fn whole_models_agree_with_the_reference_where_its_graph_is_acyclic() {
    let mut checked = 0;
    for case in golden().mlp.iter().filter(|case| case.graph_kind == "hard") {
        let adjacency: Vec<Vec<bool>> =
            case.g.iter().map(|row| row.iter().map(|&g| g == 1.0).collect()).collect();
        let Ok(dag) = Dag::from_rows_to_columns(&adjacency) else { continue };
        let mechanisms = (0..case.d).map(|node| case.mechanism(node)).collect();
        let scm = Scm::new(names(case.d), dag, mechanisms, case.noise_std.clone()).unwrap();
        let target = NodeSet::of(case.d, [case.acq_target]);
        let got = scm.log_density(&columns(&case.x), &target);
        for (got, expected) in got.iter().zip(&case.acq_loglik_rowwise) {
            assert_close(*got, *expected);
        }
        checked += 1;
    }
    assert!(checked >= 3, "only {checked} acyclic cases");
}

#[test]
fn linear_log_densities_agree_with_the_reference() {
    for case in golden().linear {
        let data = columns(&case.x);
        let noise_sd = vec![case.obs_noise_variance.sqrt(); case.d];
        let terms: Vec<Vec<f64>> = (0..case.d)
            .map(|node| {
                let scm = model_of(node, &parents_of(&case.g, node), case.mechanism(node), noise_sd.clone());
                let mut term = vec![0.0; case.x.len()];
                scm.add_log_density_of(node, &data, &mut term);
                term
            })
            .collect();
        let masked = rowwise(&terms, |n, j| case.interv_mask[n][j] == 0);
        assert_close(masked.iter().sum(), case.log_likelihood_interv);
        assert_close(rowwise(&terms, |_, _| true).iter().sum(), case.log_likelihood_obs);
    }
}
