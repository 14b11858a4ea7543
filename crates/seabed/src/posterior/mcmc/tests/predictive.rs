//! Laws with parameters integrated out against the scores: the density of new rows is the ratio of two of them.

use crate::belief::{Accuracy, Conditional, ProcessConditional, Regression};
use crate::data::Dataset;
use crate::graph::{Dag, NodeSet};
use crate::num::log_sum_exp;
use crate::num::random::{Purpose, Seed};
use crate::posterior::mcmc::mask::Mask;
use crate::posterior::mcmc::problem::Problem;
use crate::posterior::mcmc::{Family, Mcmc, gp};

/// Rows of four variables far from 0, of which the third is a function of the first two.
fn columns(rows: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
    let mut columns = vec![Vec::new(); 4];
    for _ in 0..rows {
        let (a, b) = (3.0 + draws.normal(), 20.0 * draws.normal());
        let c = (1.5 * a).sin() + 0.05 * b + 0.3 * draws.normal();
        for (column, x) in columns.iter_mut().zip([a, b, c, -7.0 + 0.5 * a + draws.normal()]) {
            column.push(x);
        }
    }
    columns
}

fn dataset(columns: &[Vec<f64>], rows: std::ops::Range<usize>) -> Dataset {
    let names = (0..columns.len()).map(|k| format!("X{k}")).collect();
    let columns = columns.iter().map(|column| column[rows.clone()].to_vec()).collect();
    Dataset::with_regime(names, columns, NodeSet::empty(4)).unwrap()
}

/// Mean and standard deviation of the first rows.
fn unit(column: &[f64]) -> (f64, f64) {
    let mean = column.iter().sum::<f64>() / column.len() as f64;
    let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / column.len() as f64;
    (mean, variance.sqrt())
}

/// All columns in units of their first rows.
fn in_units_of_first(columns: &[Vec<f64>], first: usize) -> Vec<Vec<f64>> {
    let scaled = |column: &Vec<f64>| {
        let (mean, sd) = unit(&column[..first]);
        column.iter().map(|x| (x - mean) / sd).collect()
    };
    columns.iter().map(scaled).collect()
}

/// Σ log-predictives of the rows after the first ones, each given those before it.
fn chain(law: &Conditional, node: usize, parents: Mask, columns: &[Vec<f64>], first: usize) -> f64 {
    let mut given = law.given();
    let mut sum = 0.0;
    for row in first..columns[0].len() {
        let x: Vec<f64> = parents.nodes().map(|k| columns[k][row]).collect();
        sum += given.log_predictive(columns[node][row], &x);
        given = given.with_row(columns[node][row], &x);
    }
    sum
}

const SETS: [(usize, &[usize]); 6] =
    [(2, &[]), (2, &[0]), (2, &[0, 1]), (0, &[1, 2, 3]), (1, &[3]), (3, &[0, 2])];

#[test]
fn linear_predictives_are_ratios_of_scores() {
    let settings = Mcmc::of(Family::Linear);
    let held = Mcmc { standardise: false, ..settings.clone() };
    for (first, more) in [(4, 1), (30, 1), (30, 2), (30, 5), (200, 5)] {
        let columns = columns(first + more, 7 + more as u64);
        let inside = in_units_of_first(&columns, first);
        for (node, parents) in SETS.map(|(node, parents)| (node, Mask::of(parents.iter().copied()))) {
            let law =
                Problem::new(&settings, &dataset(&columns, 0..first), node).conditional(parents).unwrap();
            let got = chain(&law, node, parents, &columns, first);
            let score = |rows| Problem::new(&held, &dataset(&inside, 0..rows), node).score(parents);
            let want =
                score(first + more) - score(first) - more as f64 * unit(&columns[node][..first]).1.ln();
            assert!(
                (got - want).abs() < 1e-8,
                "{first} + {more} rows, {node} given {parents:?}: {got} {want}"
            );
        }
    }
}

/// Hyperparameters held; with all rows as centres to 1e-6, and as laws are used, with fewer, to 0.1 nats for five rows far
/// outside the data (measured: 0.06).
#[test]
fn predictives_of_a_process_are_ratios_of_scores() {
    let settings = Mcmc::of(Family::GaussianProcess);
    for (first, more) in [(12, 1), (60, 2), (60, 5), (200, 5)] {
        let mut columns = columns(first + more, 17 + more as u64);
        // Replicates far outside the data.
        if more > 1 {
            columns[0][first..].fill(11.0);
            columns[1][first..].fill(-90.0);
            columns[3][first..].fill(0.0);
        }
        let inside = in_units_of_first(&columns, first);
        for (node, parents) in SETS.map(|(node, parents)| (node, Mask::of(parents.iter().copied()))) {
            let problem = Problem::new(&settings, &dataset(&columns, 0..first), node);
            let hyper = problem.hyper(parents).unwrap();
            let rows = |count: usize| Regression {
                values: &inside[node][..count],
                parents: parents.nodes().map(|k| &inside[k][..count]).collect(),
            };
            let score = |count: usize| rows(count).log_posterior(&hyper).unwrap().0;
            let unit_of = |node: usize| unit(&columns[node][..first]);
            let want = score(first + more) - score(first) - more as f64 * unit_of(node).1.ln();
            let units: Vec<(f64, f64)> = parents.nodes().map(unit_of).collect();
            let kernel = gp::kernel(&hyper);
            let exact = ProcessConditional::with_accuracy(
                unit_of(node),
                units,
                kernel,
                &rows(first),
                Accuracy::EXACT,
            )
            .unwrap();
            let exact = chain(&Conditional::Process(Box::new(exact)), node, parents, &columns, first);
            let used = chain(&problem.conditional(parents).unwrap(), node, parents, &columns, first);
            assert!(
                (exact - want).abs() < 1e-6,
                "{first} + {more}, {node} given {parents:?}: {exact} {want}"
            );
            assert!((used - want).abs() < 0.1, "{first} + {more}, {node} given {parents:?}: {used} {want}");
        }
    }
}

/// Weights times predictives of five new rows, two of them with a target, are the posterior given all rows, over all 25
/// DAGs of three variables.
#[test]
fn weights_times_predictives_are_the_posterior_given_all_rows() {
    let settings = Mcmc::of(Family::Linear);
    let held = Mcmc { standardise: false, ..settings.clone() };
    let (first, all) = (40, 45);
    let columns: Vec<Vec<f64>> = columns(all, 3).into_iter().take(3).collect();
    let target = |row: usize| (row >= 43).then_some(0);
    let data = |columns: &[Vec<f64>], rows: usize| {
        let targets = (0..rows).map(|row| NodeSet::of(3, target(row))).collect();
        let columns = columns.iter().map(|column| column[..rows].to_vec()).collect();
        Dataset::new((0..3).map(|k| format!("X{k}")).collect(), columns, targets).unwrap()
    };
    let inside = in_units_of_first(&columns, first);
    let pairs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
    let dags: Vec<Dag> = (0..64)
        .filter_map(|code| {
            Dag::from_edges(3, (0..6).filter(|k| code >> k & 1 == 1).map(|k: usize| pairs[k])).ok()
        })
        .collect();
    assert_eq!(dags.len(), 25);
    let score = |dag: &Dag, rows: usize| -> f64 {
        let of = |node: usize| {
            Problem::new(&held, &data(&inside, rows), node).score(Mask::from(dag.parents(node)))
        };
        (0..3).map(of).sum()
    };
    let predictive = |dag: &Dag| -> f64 {
        let of = |node: usize| {
            let parents = Mask::from(dag.parents(node));
            let law = Problem::new(&settings, &data(&columns, first), node).conditional(parents).unwrap();
            let seen: Vec<Vec<f64>> = columns
                .iter()
                .map(|column| {
                    (0..all)
                        .filter(|&row| row < first || target(row) != Some(node))
                        .map(|row| column[row])
                        .collect()
                })
                .collect();
            chain(&law, node, parents, &seen, first)
        };
        (0..3).map(of).sum()
    };
    let normalised = |logs: Vec<f64>| -> Vec<f64> {
        let total = log_sum_exp(&logs);
        logs.iter().map(|log| (log - total).exp()).collect()
    };
    let got = normalised(dags.iter().map(|dag| score(dag, first) + predictive(dag)).collect());
    let want = normalised(dags.iter().map(|dag| score(dag, all)).collect());
    for ((got, want), dag) in got.iter().zip(&want).zip(&dags) {
        assert!((got - want).abs() < 1e-8, "{dag:?}: {got} {want}");
    }
}
