//! The search against the original program: same class, same representative, same numbers.

use std::fs;

use seabed::data::{Dataset, Names};
use seabed::graph::{Dag, EssentialGraph, Node, NodeSet};
use seabed::posterior::Knowledge;
use seabed::posterior::bootstrap::{Bootstrap, Moments, Scores};
use seabed::scm::Mechanism;
use seabed_testkit::shared;
use serde_json::Value;

struct Case {
    name: String,
    data: Dataset,
    class: Vec<(Node, Node)>,
    dag: Dag,
    /// `[from][to]`
    weights: Vec<Vec<f64>>,
    variances: Vec<f64>,
    intercepts: Vec<f64>,
    score: f64,
    score_empty: f64,
    score_true: f64,
    truth: Dag,
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn edges(value: &Value) -> Vec<(Node, Node)> {
    let edge = |e: &Value| (e[0].as_u64().unwrap() as Node, e[1].as_u64().unwrap() as Node);
    value.as_array().unwrap().iter().map(edge).collect()
}

fn matrix_edges(value: &Value) -> Vec<(Node, Node)> {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
    let cells =
        rows.iter().enumerate().flat_map(|(i, row)| row.iter().enumerate().map(move |(j, x)| (i, j, *x)));
    cells.filter(|cell| cell.2 != 0.0).map(|(i, j, _)| (i, j)).collect()
}

fn dataset(value: &Value) -> Dataset {
    let rows: Vec<Vec<f64>> = value["data"].as_array().unwrap().iter().map(numbers).collect();
    let p = rows[0].len();
    let names: Names = (0..p).map(|k| format!("V{k}")).collect();
    let columns = (0..p).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
    let target = |label: &Value| NodeSet::of(p, usize::try_from(label.as_i64().unwrap()));
    let targets = value["label"].as_array().unwrap().iter().map(target).collect();
    Dataset::new(names, columns, targets).unwrap()
}

/// A case of the project's own file.
fn small(value: &Value) -> Case {
    let data = dataset(value);
    let p = data.variables();
    let dag_edges = edges(&value["repr"]);
    let mut weights = vec![vec![0.0; p]; p];
    for (&(from, to), weight) in dag_edges.iter().zip(numbers(&value["weights"])) {
        weights[from][to] = weight;
    }
    Case {
        name: value["name"].to_string(),
        class: edges(&value["essgraph"]),
        dag: Dag::from_edges(p, dag_edges).unwrap(),
        weights,
        variances: numbers(&value["err_var"]),
        intercepts: numbers(&value["intercept"]),
        score: value["score"].as_f64().unwrap(),
        score_empty: value["score_empty"].as_f64().unwrap(),
        score_true: value["score_true"].as_f64().unwrap(),
        truth: Dag::from_edges(p, edges(&value["true_dag"])).unwrap(),
        data,
    }
}

/// A case of the large collection; none if it is marked fragile.
fn large(value: &Value) -> Option<Case> {
    let reference = &value["pcalg"];
    let data = dataset(value);
    let p = data.variables();
    (value["fragile"] == Value::Bool(false)).then(|| Case {
        name: value["name"].to_string(),
        class: matrix_edges(&reference["essgraph"]),
        dag: Dag::from_edges(p, matrix_edges(&reference["repr"])).unwrap(),
        weights: reference["repr_weights"].as_array().unwrap().iter().map(numbers).collect(),
        variances: numbers(&reference["repr_err_var"]),
        intercepts: numbers(&reference["repr_intercept"]),
        score: reference["score"].as_f64().unwrap(),
        score_empty: reference["score_empty"].as_f64().unwrap(),
        score_true: reference["score_true"].as_f64().unwrap(),
        truth: Dag::from_edges(p, matrix_edges(&value["true_dag"])).unwrap(),
        data,
    })
}

fn close(got: f64, expected: f64, name: &str) {
    assert!((got - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{name}: {got} is not {expected}");
}

fn check(case: &Case) {
    let name = &case.name;
    let p = case.data.variables();
    let (found, scm) = Bootstrap::default().single(&case.data, &Knowledge::none(p), &()).unwrap();
    let class = found.class.to_rows_to_columns();
    let expected: Vec<Vec<bool>> =
        (0..p).map(|i| (0..p).map(|j| case.class.contains(&(i, j))).collect()).collect();
    assert_eq!(class, expected, "{name}: another class");
    assert_eq!(found.dag, case.dag, "{name}: another representative");
    assert_eq!(EssentialGraph::of(&found.dag, case.data.regimes()), found.class, "{name}");
    let mut scores = Scores::new(Moments::new(&case.data, &vec![1.0; case.data.rows()]), None, 1e-8);
    for (dag, score) in
        [(&case.dag, case.score), (&Dag::empty(p), case.score_empty), (&case.truth, case.score_true)]
    {
        let got = scores.total(dag);
        assert!((got - score).abs() < 1e-7, "{name}: score {got} is not {score}");
    }
    assert!((found.score - case.score).abs() < 1e-7, "{name}");
    for node in 0..p {
        let Mechanism::Linear(linear) = scm.mechanism(node) else { panic!("linear") };
        for (parent, &weight) in case.dag.parents(node).iter().zip(&linear.weights) {
            close(weight, case.weights[parent][node], name);
        }
        close(linear.intercept, case.intercepts[node], name);
        close(scm.noise_sd()[node].powi(2), case.variances[node], name);
    }
}

#[test]
fn the_cases_of_the_repository_agree() {
    let golden: Value = serde_json::from_str(include_str!("golden/gies.json")).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert!(cases.len() >= 9);
    for case in cases {
        check(&small(case));
    }
}

#[test]
fn the_cases_of_the_large_collection_agree() {
    let Some(folder) = shared("golden/gies") else { return };
    let mut checked = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        if let Some(case) = large(&serde_json::from_str(&text).unwrap()) {
            check(&case);
            checked += 1;
        }
    }
    assert!(checked >= 30, "only {checked} cases");
}
