//! Every gradient against differences of its function, and the fast code against its slow twin.

use std::sync::Arc;

use super::super::acyclicity::acyclicity;
use super::super::column::ColumnData;
use super::super::estimator::{Estimator, Problem, Sampling, Terms, estimate};
use super::super::graph_prior::GraphPrior;
use super::super::latent::{Edges, by_latent, scores};
use super::super::parameters::{Family, Layout, NoisePrior};
use super::slow_twins::{Graphs, SlowColumn, by_parameters, by_scores};
use crate::num::elementwise::sigmoid;
use crate::num::random::{Purpose, Seed, Stream};
use crate::posterior::Knowledge;

/// Central differences of `f` at `x`, each against the slope that is claimed.
#[track_caller]
pub fn check(x: &[f64], slopes: &[f64], f: impl Fn(&[f64]) -> f64) {
    let size = slopes.iter().fold(1.0f64, |size, slope| size.max(slope.abs()));
    for k in 0..x.len() {
        let at = |shift: f64| {
            let mut x = x.to_vec();
            x[k] += shift;
            f(&x)
        };
        let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
        assert!((difference - slopes[k]).abs() < 1e-5 * size, "{k}: {difference} against {}", slopes[k]);
    }
}

fn uniforms(stream: Stream, count: usize) -> Vec<f64> {
    let mut values = vec![0.0; count];
    stream.fill_uniform(&mut values);
    values
}

fn normals(stream: Stream, count: usize) -> Vec<f64> {
    let mut values = vec![0.0; count];
    stream.fill_normal(&mut values);
    values
}

/// Random data of `rows` rows and parameters; every third row has a target.
struct Case {
    layout: Layout,
    slow: Vec<SlowColumn>,
    fast: Problem,
    theta: Vec<Vec<f64>>,
    z: Vec<f64>,
}

fn case(
    family: Family,
    nodes: usize,
    rows: usize,
    noise_sd: f64,
    learned: bool,
    knowledge: &Knowledge,
) -> Case {
    let layout = Layout::of(family, nodes).unwrap();
    let stream = Seed::new(11).stream(Purpose::Noise);
    let x: Vec<Vec<f64>> = (0..nodes).map(|j| normals(stream.at(j as u64), rows)).collect();
    let (mut slow, mut columns) = (Vec::new(), Vec::new());
    for j in 0..nodes {
        let kept: Vec<usize> = (0..rows).filter(|row| row % 3 != 0 || row % nodes != j).collect();
        let noise = if learned { NoisePrior::learned(1.3) } else { NoisePrior::Known };
        slow.push(SlowColumn {
            layout,
            inputs: kept.iter().map(|&row| x.iter().map(|column| column[row]).collect()).collect(),
            values: kept.iter().map(|&row| x[j][row]).collect(),
            noise,
        });
        let short = |column: &Vec<f64>| kept.iter().map(|&row| column[row] as f32).collect::<Vec<f32>>();
        columns.push(ColumnData {
            inputs: Arc::new(x.iter().flat_map(short).collect()),
            values: short(&x[j]),
            noise,
        });
    }
    let mut theta: Vec<Vec<f64>> =
        (0..nodes).map(|j| normals(stream.at(100 + j as u64), layout.len())).collect();
    for column in &mut theta {
        column[layout.log_variance()] = 2.0 * noise_sd.ln();
    }
    let z = normals(stream.at(1000), 2 * nodes * nodes);
    let fast = Problem { edges: Edges::of(knowledge), terms: Terms::Parameters { layout, columns } };
    Case { layout, slow, fast, theta, z }
}

const FAMILIES: [Family; 3] = [
    Family::Nonlinear { hidden: 5 },
    Family::Linear { intercept: true },
    Family::Linear { intercept: false },
];

#[test]
fn slopes_of_the_densities_are_differences() {
    for family in FAMILIES {
        let case = case(family, 4, 12, 0.7, true, &Knowledge::none(4));
        let graph = uniforms(Seed::new(3).stream(Purpose::Graph), 4);
        for (column, theta) in case.slow.iter().zip(&case.theta) {
            let slope = column.log_joint(&graph, theta);
            check(&graph, &slope.by_graph, |graph| column.log_joint(graph, theta).value);
            // A missing intercept is a constant, not a parameter.
            let moved = if case.layout.intercept { theta.len() } else { case.layout.b2() };
            check(&theta[..moved], &slope.by_parameters[..moved], |part| {
                column.log_joint(&graph, &[part, &theta[moved..]].concat()).value
            });
        }
    }
}

/// A function of a soft graph with its gradient.
type Term<'a> = dyn Fn(&[f64]) -> (f64, Vec<f64>) + 'a;

#[test]
fn slopes_of_the_graph_terms_are_differences() {
    let nodes = 4;
    let z = normals(Seed::new(1).stream(Purpose::Noise), 2 * nodes * nodes);
    let edges = Edges::of(&Knowledge::none(nodes));
    let alpha = 0.8;
    let through = |term: &Term<'_>| {
        let soft = edges.probabilities(&scores(&z, nodes), alpha);
        let by_edges = term(&soft).1;
        let by_scores: Vec<f64> =
            by_edges.iter().zip(&soft).map(|(s, p)| s * alpha * p * (1.0 - p)).collect();
        check(&z, &by_latent(&z, &by_scores, nodes), |z| {
            term(&edges.probabilities(&scores(z, nodes), alpha)).0
        });
    };
    through(&|soft| acyclicity(soft, nodes));
    for prior in [GraphPrior::Er { edges_per_node: 0.7 }, GraphPrior::Sf] {
        through(&|soft| {
            let mut gradient = vec![0.0; nodes * nodes];
            (prior.add_gradient(soft, nodes, &mut gradient), gradient)
        });
    }
}

/// The graphs that the fast code draws, drawn again one number at a time.
fn drawn(problem: &Problem, scores: &[f64], alpha: f64, samples: usize, stream: Stream) -> (Graphs, Graphs) {
    let nodes = problem.edges.nodes();
    let mut soft: Graphs = vec![vec![vec![0.0; nodes]; nodes]; samples];
    let mut hard = soft.clone();
    for to in 0..nodes {
        let free = &problem.edges.free[to];
        let mut noise = vec![0.0; samples * free.len()];
        stream.at(to as u64).fill_logistic(&mut noise);
        for sample in 0..samples {
            for from in &problem.edges.always[to] {
                soft[sample][to][from] = 1.0;
                hard[sample][to][from] = 1.0;
            }
            for (k, &from) in free.iter().enumerate() {
                let x = noise[sample * free.len() + k] + alpha * scores[to * nodes + from];
                soft[sample][to][from] = sigmoid(x);
                hard[sample][to][from] = if x > 0.0 { 1.0 } else { 0.0 };
            }
        }
    }
    (soft, hard)
}

#[track_caller]
fn close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    let size = want.iter().fold(1e-3f64, |size, x| size.max(x.abs()));
    let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-4 * size, "off by {worst} where {size} is the largest");
}

#[test]
fn the_fast_estimator_agrees_with_the_slow_one() {
    let knowledge = Knowledge::new(
        &(0..6).map(|k| format!("X{k}")).collect(),
        &[(0, 1), (3, 4), (5, 0)],
        &[(1, 2), (4, 5)],
        &[],
    )
    .unwrap();
    for family in FAMILIES {
        for (alpha, noise_sd, knowledge) in [
            (0.0, 3.0, &Knowledge::none(6)),
            (0.5, 0.1, &Knowledge::none(6)),
            (3.0, 1.0, &knowledge),
            (200.0, 0.3, &knowledge),
        ] {
            let case = case(family, 6, 40, noise_sd, alpha == 3.0, knowledge);
            let scores = scores(&case.z, 6);
            let stream = Seed::new(7).stream(Purpose::Dibs);
            let (soft, hard) = drawn(&case.fast, &scores, alpha, 16, stream);
            for (estimator, joint) in [(Estimator::Columns, false), (Estimator::Joint, true)] {
                let sampling = Sampling { estimator, samples: 16, soft: 2 };
                let got = estimate(&case.fast, &scores, &case.theta.concat(), alpha, sampling, stream);
                let mut want = by_scores(&case.slow, &soft, &case.theta, alpha, joint);
                for (to, column) in want.iter_mut().enumerate() {
                    for from in (0..6).filter(|from| !case.fast.edges.free[to].contains(from)) {
                        column[from] = 0.0;
                    }
                }
                close(&got.by_scores, &want.concat());
                close(&got.by_theta, &by_parameters(&case.slow, &hard, &case.theta, joint).concat());
                for (got, want) in got.soft.iter().zip(&soft) {
                    close(got, &want.concat());
                }
            }
        }
    }
}

/// Variance and mean squared error of the gradient by the scores, summed over edges, over 200 repetitions with M = 16.
/// The truth is the mean of column-wise estimates with M = 4096.
fn spread(case: &Case, alpha: f64, estimator: Estimator) -> (f64, f64) {
    let nodes = case.layout.nodes;
    let (scores, theta) = (scores(&case.z, nodes), case.theta.concat());
    let draws = |estimator: Estimator, samples: usize, count: u64| -> Vec<Vec<f64>> {
        let sampling = Sampling { estimator, samples, soft: 1 };
        let stream = |k: u64| Seed::new(k).stream(Purpose::Dibs).at(samples as u64);
        (0..count)
            .map(|k| estimate(&case.fast, &scores, &theta, alpha, sampling, stream(k)).by_scores)
            .collect()
    };
    let mean =
        |draws: &[Vec<f64>], k: usize| draws.iter().map(|draw| draw[k]).sum::<f64>() / draws.len() as f64;
    let (exact, draws) = (draws(Estimator::Columns, 4096, 8), draws(estimator, 16, 200));
    let about = |k: usize, centre: f64| {
        draws.iter().map(|draw| (draw[k] - centre).powi(2)).sum::<f64>() / draws.len() as f64
    };
    let edges = 0..nodes * nodes;
    let variance = edges.clone().map(|k| about(k, mean(&draws, k))).sum();
    (variance, edges.map(|k| about(k, mean(&exact, k))).sum())
}

/// At equal M the column-wise gradient varies less than the joint one and is closer to the truth: by factors of 1.2
/// to 4 where this was measured (4, 8, 16 variables, noise 0.3 to 10), of which two cases are tested here.
#[test]
fn column_wise_gradients_vary_less() {
    for (nodes, noise_sd, alpha, least) in [(4, 1.0, 0.2, 2.0), (8, 3.0, 1.0, 1.2)] {
        let case = case(Family::Nonlinear { hidden: 5 }, nodes, 50, noise_sd, false, &Knowledge::none(nodes));
        let columns = spread(&case, alpha, Estimator::Columns);
        let joint = spread(&case, alpha, Estimator::Joint);
        println!("{nodes} variables: variance {:.3} and {:.3} (joint)", columns.0, joint.0);
        println!("{nodes} variables: squared error {:.3} and {:.3} (joint)", columns.1, joint.1);
        assert!(joint.0 > least * columns.0 && joint.1 > least * columns.1);
    }
}
