//! The pieces against the numbers of the paper's reference code, to 1e-8 relative, and against finite differences.

use serde_json::Value;

use super::super::acyclicity::acyclicity;
use super::super::graph_prior::{GraphPrior, erdos_renyi};
use super::super::latent::{Edges, by_latent, scores};
use super::super::parameters::{Layout, NoisePrior};
use super::super::svgd::{Gradient, Kernel, Particle, STEP, climb, directions};
use super::slow_twins::{Graphs, Slope, SlowColumn, by_parameters, by_scores, softmax, weights};
use crate::graph::NodeSet;
use crate::posterior::Knowledge;
use crate::posterior::bge::Bge;

/// The cases of a part: those in the repository, and all of them where the larger collection is available.
fn cases(part: &str, file: &str) -> Vec<Value> {
    let golden: Value = serde_json::from_str(include_str!("../../../../tests/golden/dibs.json")).unwrap();
    let mut cases = golden[part].as_array().unwrap().clone();
    if let Some(path) = seabed_testkit::shared(&format!("golden/dibs/{file}")) {
        let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        cases.extend(all["cases"].as_array().unwrap().iter().cloned());
    }
    cases
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn size(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

/// All numbers of nested lists, in order.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(flat).collect(),
        other => vec![number(other)],
    }
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(flat).collect()
}

/// A matrix [from][to] as `[to][from]`.
fn columns(value: &Value) -> Vec<Vec<f64>> {
    let rows = rows(value);
    (0..rows[0].len()).map(|j| rows.iter().map(|row| row[j]).collect()).collect()
}

#[track_caller]
fn close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    let size = want.iter().fold(1e-6f64, |size, x| size.max(x.abs()));
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= 1e-8 * want.abs().max(1e-3 * size), "{got} against {want}");
    }
}

/// [node][i][k][0 or 1] as our u rows, v rows.
fn latent(value: &Value) -> Vec<f64> {
    let flat = flat(value);
    let part = |k: usize| flat.iter().skip(k).step_by(2).copied().collect::<Vec<_>>();
    [part(0), part(1)].concat()
}

/// A network's parameters for every column, with a log-variance.
fn networks(value: &Value, log_variance: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
    (0..value["b2"].as_array().unwrap().len())
        .map(|j| {
            let parts = ["W1", "b1", "W2", "b2"].map(|name| flat(&value[name][j]));
            [parts.concat(), vec![log_variance(j)]].concat()
        })
        .collect()
}

fn slow_columns(case: &Value, layout: Layout) -> Vec<SlowColumn> {
    let (x, mask) = (rows(&case["x"]), rows(&case["interv_mask"]));
    (0..layout.nodes)
        .map(|j| {
            let kept: Vec<usize> = (0..x.len()).filter(|&n| mask[n][j] == 0.0).collect();
            SlowColumn {
                layout,
                inputs: kept.iter().map(|&n| x[n].clone()).collect(),
                values: kept.iter().map(|&n| x[n][j]).collect(),
                noise: NoisePrior::Known,
            }
        })
        .collect()
}

fn network_layout(case: &Value) -> Layout {
    let (nodes, units) = (size(&case["d"]), case["hidden"].as_u64().unwrap_or(5) as usize);
    Layout { nodes, units, nonlinear: true, intercept: true, prior_sd: number(&case["sig_param"]) }
}

/// Prior or likelihood of a column.
type Part = fn(&SlowColumn, &[f64], &[f64]) -> Slope;

/// Values and gradients of prior and likelihood of all columns.
fn check_densities(case: &Value, columns: &[SlowColumn], theta: &[Vec<f64>], graph: &[Vec<f64>]) {
    let nodes = 0..columns.len();
    let by_graph = |slopes: &[Vec<f64>]| -> Vec<f64> {
        nodes.clone().flat_map(|i| nodes.clone().map(move |j| slopes[j][i])).collect()
    };
    let parts: [(&str, &str, &str, Part); 2] = [
        ("log_prob_parameters", "dlogprior_dG", "dlogprior_dtheta", SlowColumn::log_prior),
        ("log_likelihood_interv", "dloglik_dG", "dloglik_dtheta", SlowColumn::log_likelihood),
    ];
    for (value, of_graph, of_theta, part) in parts {
        let slopes: Vec<_> = nodes.clone().map(|j| part(&columns[j], &graph[j], &theta[j])).collect();
        close(&[slopes.iter().map(|slope| slope.value).sum()], &[number(&case[value])]);
        close(
            &by_graph(&slopes.iter().map(|slope| slope.by_graph.clone()).collect::<Vec<_>>()),
            &flat(&case[of_graph]),
        );
        let layout = columns[0].layout;
        if layout.nonlinear {
            for (j, want) in networks(&case[of_theta], |_| 0.0).iter().enumerate() {
                close(&slopes[j].by_parameters, want);
            }
        } else {
            let weights: Vec<Vec<f64>> =
                slopes.iter().map(|slope| slope.by_parameters[..layout.nodes].to_vec()).collect();
            close(&by_graph(&weights), &flat(&case[of_theta]));
        }
    }
}

#[test]
fn networks_agree() {
    for case in cases("nonlinear", "a_nonlinear_gaussian.json") {
        let noise = flat(&case["noise_std"]);
        let slow = slow_columns(&case, network_layout(&case));
        let theta = networks(&case["theta"], |j| 2.0 * noise[j].ln());
        let graph = columns(&case["G"]);
        check_densities(&case, &slow, &theta, &graph);
        for (n, means) in rows(&case["node_means"]).iter().enumerate() {
            let x = rows(&case["x"])[n].clone();
            let mean = |j: usize| {
                let whole =
                    SlowColumn { inputs: vec![x.clone()], values: vec![0.0], ..slow_column(&slow[j]) };
                whole.mean(0, &graph[j], &theta[j])
            };
            close(&(0..means.len()).map(mean).collect::<Vec<_>>(), means);
        }
    }
}

fn slow_column(like: &SlowColumn) -> SlowColumn {
    SlowColumn { layout: like.layout, inputs: vec![], values: vec![], noise: like.noise }
}

#[test]
fn weighted_sums_agree() {
    for case in cases("linear", "b1_linear_gaussian.json") {
        assert_eq!(number(&case["mean_edge"]), 0.0);
        let nodes = size(&case["d"]);
        let prior_sd = number(&case["sig_edge"]);
        let layout = Layout { nodes, units: 1, nonlinear: false, intercept: false, prior_sd };
        let log_variance = number(&case["obs_noise_variance"]).ln();
        let theta: Vec<Vec<f64>> =
            columns(&case["theta"]).into_iter().map(|w| [w, vec![0.0, log_variance]].concat()).collect();
        check_densities(&case, &slow_columns(&case, layout), &theta, &columns(&case["G"]));
    }
}

#[test]
fn bge_scores_agree_and_leave_interventional_rows_out() {
    for case in cases("bge", "b2_bge.json") {
        let (x, mask) = (columns(&case["x"]), columns(&case["interv_mask"]));
        let graph = columns(&case["G"]);
        let nodes = size(&case["d"]);
        let score = |rows_of: &[Vec<usize>]| -> Vec<f64> {
            let (mean_weight, freedom) = (number(&case["alpha_mu"]), number(&case["alpha_lambd"]));
            let bge = Bge::new(&x, rows_of, &flat(&case["mean_obs"]), mean_weight, freedom);
            let parents = |j: usize| NodeSet::of(nodes, (0..nodes).filter(|&i| graph[j][i] == 1.0));
            (0..nodes).map(|j| bge.local(j, &parents(j))).collect()
        };
        let all: Vec<usize> = (0..x[0].len()).collect();
        close(&score(&vec![all.clone(); nodes]), &flat(&case["obs_node_scores"]));
        let own = |j: usize| all.iter().copied().filter(|&n| mask[j][n] == 0.0).collect::<Vec<_>>();
        let scores = score(&(0..nodes).map(own).collect::<Vec<_>>());
        close(&scores, &flat(&case["interv_node_scores_correct"]));
        close(&[scores.iter().sum()], &[number(&case["interv_score_correct"])]);
    }
}

#[test]
fn graph_priors_agree() {
    for case in cases("priors", "c_graph_priors.json") {
        let nodes = size(&case["d"]);
        let soft = columns(&case["soft_G"]).concat();
        let mut gradient = vec![0.0; nodes * nodes];
        let pairs = (nodes * (nodes - 1) / 2) as f64;
        close(
            &[erdos_renyi(&soft, number(&case["er_p"]), pairs, &mut gradient)],
            &[number(&case["er_logprob"])],
        );
        close(&gradient, &columns(&case["er_grad"]).concat());
        gradient.fill(0.0);
        close(&[GraphPrior::Sf.add_gradient(&soft, nodes, &mut gradient)], &[number(&case["sf_logprob"])]);
        close(&gradient, &columns(&case["sf_grad"]).concat());
    }
    // The reference takes the logarithm of 0 here; so would p = 1 of two variables.
    for nodes in [1, 2, 3] {
        let mut gradient = vec![0.0; nodes * nodes];
        let value = GraphPrior::Er { edges_per_node: 1.0 }.add_gradient(
            &vec![0.3; nodes * nodes],
            nodes,
            &mut gradient,
        );
        assert!(value.is_finite() && gradient.iter().all(|slope| slope.is_finite()));
    }
}

#[test]
fn acyclicity_agrees() {
    for case in cases("acyclicity", "d_acyclicity.json") {
        let (h, gradient) = acyclicity(&columns(&case["G"]).concat(), size(&case["d"]));
        // h is a difference of numbers of the size of d.
        assert!((h - number(&case["h"])).abs() <= 1e-8 * number(&case["h"]).abs() + 1e-13, "{h}");
        close(&gradient, &columns(&case["grad"]).concat());
    }
}

#[test]
fn latent_graphs_agree() {
    for case in cases("latent", "e_latent_graph.json") {
        let (nodes, alpha) = (size(&case["d"]), number(&case["alpha"]));
        let z = latent(&case["Z"]);
        let edges = Edges::of(&Knowledge::none(nodes));
        let scores = scores(&z, nodes);
        close(&scores, &columns(&case["scores"]).concat());
        let probabilities = edges.probabilities(&scores, alpha);
        close(&probabilities, &columns(&case["edge_probs"]).concat());
        let noise = columns(&case["eps"]).concat();
        let shifted: Vec<f64> =
            scores.iter().zip(&noise).map(|(s, e)| (alpha * s + e) / alpha.max(1e-300)).collect();
        if alpha > 0.0 {
            close(&edges.probabilities(&shifted, alpha), &columns(&case["soft_graph"]).concat());
            let hard = edges.limit(&shifted);
            let want = columns(&case["hard_graph"]);
            assert!((0..nodes).all(|j| (0..nodes).all(|i| hard[j].contains(i) == (want[j][i] == 1.0))));
        }
        let limit = edges.limit(&scores);
        let want = columns(&case["G_lim"]);
        assert!((0..nodes).all(|j| (0..nodes).all(|i| limit[j].contains(i) == (want[j][i] == 1.0))));
        // d log p(G | Z) / d score = α (G - p).
        let graph = columns(&case["G_for_logprob"]).concat();
        let slope: Vec<f64> = graph.iter().zip(&probabilities).map(|(g, p)| alpha * (g - p)).collect();
        close(&by_latent(&z, &slope, nodes), &latent(&case["grad_log_p_G_given_Z"]));
    }
}

/// The soft graphs, `[sample][to][from]`, of noise `[sample][from][to]`.
fn soft_graphs(noise: &Value, scores: &[f64], alpha: f64, nodes: usize) -> Graphs {
    let edges = Edges::of(&Knowledge::none(nodes));
    let soft = |noise: &Value| -> Vec<Vec<f64>> {
        let arguments: Vec<f64> =
            columns(noise).concat().iter().zip(scores).map(|(e, s)| e + alpha * s).collect();
        edges.probabilities(&arguments, 1.0).chunks(nodes).map(<[f64]>::to_vec).collect()
    };
    noise.as_array().unwrap().iter().map(soft).collect()
}

#[test]
fn estimators_agree() {
    for case in cases("estimators", "f_estimators.json") {
        let (nodes, alpha, beta) = (size(&case["d"]), number(&case["alpha"]), number(&case["beta"]));
        let z = latent(&case["Z"]);
        let scores = scores(&z, nodes);
        let slow = slow_columns(&case, network_layout(&case));
        let log_variance = 2.0 * number(&case["noise_std"]).ln();
        let theta = networks(&case["theta"], |_| log_variance);
        let soft = soft_graphs(&case["eps_logistic"], &scores, alpha, nodes);
        close(&weights(&slow, &soft, &theta, true)[0], &flat(&case["softmax_weights"]));
        let slope = by_scores(&slow, &soft, &theta, alpha, true).concat();
        close(&by_latent(&z, &slope, nodes), &latent(&case["grad_z_likelihood_gumbel"]));

        let hard: Graphs = case["bernoulli_G"].as_array().unwrap().iter().map(columns).collect();
        close(&weights(&slow, &hard, &theta, true)[0], &flat(&case["theta_softmax_weights"]));
        let want = networks(&case["grad_theta_likelihood"], |_| 0.0);
        close(&by_parameters(&slow, &hard, &theta, true).concat(), &want.concat());

        let probabilities = Edges::of(&Knowledge::none(nodes)).probabilities(&scores, alpha);
        let of_samples = softmax(&flat(&case["hard_log_joint"]));
        let mut slope = vec![0.0; nodes * nodes];
        for (sample, weight) in hard.iter().zip(&of_samples) {
            for (k, g) in sample.concat().iter().enumerate() {
                slope[k] += weight * alpha * (g - probabilities[k]);
            }
        }
        close(&by_latent(&z, &slope, nodes), &latent(&case["grad_z_score_function_same_G"]));

        let walks = soft_graphs(&case["eps_acyclicity"], &scores, alpha, nodes);
        let mut constraint = vec![0.0; nodes * nodes];
        for (graph, want) in walks.iter().zip(flat(&case["h_soft"])) {
            let graph = graph.concat();
            let (h, gradient) = acyclicity(&graph, nodes);
            close(&[h], &[want]);
            for k in 0..nodes * nodes {
                constraint[k] += gradient[k] * alpha * graph[k] * (1.0 - graph[k]) / walks.len() as f64;
            }
        }
        close(&by_latent(&z, &constraint, nodes), &latent(&case["grad_constraint_gumbel"]));

        let mut prior = vec![0.0; nodes * nodes];
        if case["prior"] == "er" {
            // The reference's p is for unordered pairs.
            let p = 2.0 * number(&case["edges_per_node"]) / (nodes - 1) as f64;
            erdos_renyi(&probabilities, p, 0.0, &mut prior);
        } else {
            GraphPrior::Sf.add_gradient(&probabilities, nodes, &mut prior);
        }
        for (slope, p) in prior.iter_mut().zip(&probabilities) {
            *slope *= alpha * p * (1.0 - p);
        }
        close(&by_latent(&z, &prior, nodes), &latent(&case["grad_log_graph_prior"]));

        let total: Vec<f64> = prior.iter().zip(&constraint).map(|(p, h)| p - beta * h).collect();
        let sd = number(&case["latent_prior_std"]);
        let total: Vec<f64> =
            by_latent(&z, &total, nodes).iter().zip(&z).map(|(slope, z)| slope - z / (sd * sd)).collect();
        close(&total, &latent(&case["grad_latent_prior_total"]));
    }
}

#[test]
fn svgd_agrees() {
    for case in cases("svgd", "g_svgd_rmsprop.json") {
        let list = |name: &str| case[name].as_array().unwrap().clone();
        let theta = |value: &Value| networks(value, |_| 0.0).concat();
        let particles: Vec<Particle> = list("Z")
            .iter()
            .zip(list("theta"))
            .map(|(z, parameters)| Particle { z: latent(z), theta: theta(&parameters), squares: vec![] })
            .collect();
        let gradients: Vec<Gradient> = list("grad_log_prob_z")
            .iter()
            .zip(list("grad_log_prob_theta"))
            .map(|(z, parameters)| Gradient { z: latent(z), theta: theta(&parameters) })
            .collect();
        let kernel = Kernel::of(&particles);
        close(&kernel.latent.concat(), &flat(&case["k_z"]));
        close(&kernel.parameter.concat(), &flat(&case["k_theta"]));
        let directions = directions(&particles, &gradients, &kernel);
        let negated = |values: &[f64]| values.iter().map(|x| -x).collect::<Vec<_>>();
        for (k, direction) in directions.iter().enumerate() {
            close(&negated(&direction.z), &latent(&case["neg_phi_z"][k]));
            close(&negated(&direction.theta), &theta(&case["neg_phi_theta"][k]));
        }
    }
}

#[test]
fn rmsprop_agrees() {
    let golden: Value = serde_json::from_str(include_str!("../../../../tests/golden/dibs.json")).unwrap();
    let case = &golden["rmsprop"];
    let mut x = flat(&case["x0"]);
    let mut squares = vec![0.0; x.len()];
    for (gradient, after) in rows(&case["grads"]).iter().zip(rows(&case["x_after"])) {
        // The reference descends.
        let up: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
        climb(&mut x, &up, &mut squares, STEP);
        close(&x, &after);
    }
}
