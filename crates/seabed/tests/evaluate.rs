//! Scores of beliefs against known numbers and slow definitions.

use proptest::prelude::*;
use seabed::data::{Dataset, Names};
use seabed::design::Goal;
use seabed::evaluate::{
    SortabilityError, answer_scores, area_under_roc, average_precision, brier, calibration,
    expected_calibration_error, held_out_log_likelihood, held_out_log_likelihood_observed, scores,
    scores_with_cycles, sortability,
};
use seabed::graph::{Dag, Node, NodeSet, sid};
use seabed::num::random::{Purpose, Seed};
use seabed::observer::Progress;
use seabed::scm::{Ensemble, Intervention, Linear, Mechanism, Scm};
use seabed::world::World;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    rankings: Vec<Ranking>,
    draws: Vec<Draws>,
    sortability: Vec<Rows>,
}

#[derive(Deserialize)]
struct Ranking {
    d: usize,
    truth: Vec<(Node, Node)>,
    probabilities: Vec<Vec<f64>>,
    auroc: f64,
    average_precision: f64,
    brier: f64,
    ece: f64,
}

#[derive(Deserialize)]
struct Draws {
    d: usize,
    truth: Vec<(Node, Node)>,
    draws: Vec<Vec<(Node, Node)>>,
    weights: Vec<f64>,
    eshd: f64,
    ef1: f64,
    auroc: f64,
    average_precision: f64,
    brier: f64,
}

#[derive(Deserialize)]
struct Rows {
    d: usize,
    truth: Vec<(Node, Node)>,
    rows: Vec<Vec<f64>>,
    var_sortability: f64,
    r2_sortability: f64,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/metrics.json")).unwrap()
}

fn names(d: usize) -> Names {
    (0..d).map(|k| format!("X{k}")).collect()
}

fn model(dag: Dag, intercept: f64) -> Scm {
    let d = dag.len();
    let linear = |k| Linear { weights: vec![0.5; dag.parents(k).len()], intercept };
    let mechanisms = (0..d).map(|k| Mechanism::Linear(linear(k))).collect();
    Scm::new(names(d), dag, mechanisms, vec![1.0; d]).unwrap()
}

#[track_caller]
fn assert_close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
}

#[test]
fn rankings_agree_with_scikit_learn() {
    for case in golden().rankings {
        let truth = Dag::from_edges(case.d, case.truth).unwrap();
        let p = &case.probabilities;
        assert_close(area_under_roc(p, &truth).unwrap(), case.auroc);
        assert_close(average_precision(p, &truth).unwrap(), case.average_precision);
        assert_close(brier(p, &truth), case.brier);
        assert_close(expected_calibration_error(&calibration(p, &truth)), case.ece);
    }
}

#[test]
fn scores_of_ensembles_agree_with_known_numbers() {
    for case in golden().draws {
        let dag = |edges: Vec<(Node, Node)>| Dag::from_edges(case.d, edges).unwrap();
        let truth = dag(case.truth);
        let dags: Vec<Dag> = case.draws.into_iter().map(dag).collect();
        let truth_mass: f64 =
            dags.iter().zip(&case.weights).filter(|(dag, _)| **dag == truth).map(|(_, w)| w).sum();
        let esid: f64 = dags.iter().zip(&case.weights).map(|(dag, w)| w * sid(&truth, dag) as f64).sum();
        let draws = dags.into_iter().map(|dag| model(dag, 0.0)).collect();
        let got = scores(&Ensemble::new(draws, case.weights).unwrap(), &truth);
        assert_close(got.eshd, case.eshd);
        assert_close(got.esid.unwrap(), esid);
        assert_close(got.ef1, case.ef1);
        assert_close(got.auroc.unwrap(), case.auroc);
        assert_close(got.auprc.unwrap(), case.average_precision);
        assert_close(got.brier, case.brier);
        assert_close(got.edge_loss.unwrap() / (case.d * (case.d - 1)) as f64, case.brier);
        assert_close(got.truth_mass.unwrap(), truth_mass);
    }
}

#[test]
fn the_weight_of_the_truth_is_that_of_its_draws() {
    let dag = |edges: &[(Node, Node)]| Dag::from_edges(3, edges.iter().copied()).unwrap();
    let (truth, other) = (dag(&[(0, 1), (1, 2)]), dag(&[(1, 0), (1, 2)]));
    let draws = [&truth, &other, &truth].map(|dag| model(dag.clone(), 0.0)).to_vec();
    let found = scores(&Ensemble::new(draws, vec![0.25, 0.5, 0.25]).unwrap(), &truth);
    assert_eq!(found.truth_mass, Some(0.5));
    // Half of the weight is on A -> B, half on B -> A: (1/2)² twice.
    assert_eq!(found.edge_loss, Some(0.5));
}

/// What observation alone can tell of a graph: pair by pair `[->, <-]`, over all DAGs with its skeleton and v-structures.
fn class_by_enumeration(dag: &Dag) -> Vec<[bool; 2]> {
    let d = dag.len();
    let pairs: Vec<(Node, Node)> = (0..d).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
    let joined = |dag: &Dag, i: Node, j: Node| dag.parents(i).contains(j) || dag.parents(j).contains(i);
    let colliders = |dag: &Dag| {
        let mut found = Vec::new();
        for v in 0..d {
            for &(a, b) in &pairs {
                if dag.parents(v).contains(a) && dag.parents(v).contains(b) && !joined(dag, a, b) {
                    found.push((a, b, v));
                }
            }
        }
        found
    };
    let edges: Vec<(Node, Node)> = pairs.iter().copied().filter(|&(i, j)| joined(dag, i, j)).collect();
    let oriented = |code: usize| {
        let turned = |(k, &(i, j)): (usize, &(Node, Node))| if code >> k & 1 == 1 { (j, i) } else { (i, j) };
        Dag::from_edges(d, edges.iter().enumerate().map(turned)).ok()
    };
    let members: Vec<Dag> = (0..1 << edges.len())
        .filter_map(oriented)
        .filter(|member| colliders(member) == colliders(dag))
        .collect();
    let some = |from: Node, to: Node| members.iter().any(|member| member.parents(to).contains(from));
    pairs.iter().map(|&(i, j)| [some(i, j), some(j, i)]).collect()
}

#[test]
fn distances_between_classes_and_skeletons_agree_with_enumeration() {
    let d = 5;
    let mut random = Seed::new(9).stream(Purpose::Graph).draws();
    for _ in 0..40 {
        let mut random_dag = || {
            let mut order: Vec<Node> = (0..d).collect();
            random.shuffle(&mut order);
            let pairs: Vec<_> = (0..d).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
            let kept = pairs.into_iter().filter(|_| random.uniform() < 0.5);
            Dag::from_edges(d, kept.map(|(i, j)| (order[i], order[j]))).unwrap()
        };
        let truth = random_dag();
        let dags: Vec<Dag> = (0..4).map(|_| random_dag()).collect();
        let weights = [0.1, 0.2, 0.3, 0.4];
        let draws = dags.iter().map(|dag| model(dag.clone(), 0.0)).collect();
        let found = scores(&Ensemble::new(draws, weights.to_vec()).unwrap(), &truth);

        let class = class_by_enumeration(&truth);
        let differing = |dag: &Dag| {
            let other = class_by_enumeration(dag);
            class.iter().zip(&other).filter(|(a, b)| a != b).count() as f64
        };
        let expected: f64 = dags.iter().zip(weights).map(|(dag, weight)| weight * differing(dag)).sum();
        assert_close(found.cpdag_eshd.unwrap(), expected);

        let pairs: Vec<(Node, Node)> = (0..d).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
        let joined =
            |dag: &Dag, (i, j): (Node, Node)| dag.parents(i).contains(j) || dag.parents(j).contains(i);
        let tenths = |pair| (0..4).filter(|&k| joined(&dags[k], pair)).map(|k| k + 1).sum::<usize>();
        let (mut won, mut all) = (0.0, 0.0);
        for &yes in pairs.iter().filter(|&&pair| joined(&truth, pair)) {
            for &no in pairs.iter().filter(|&&pair| !joined(&truth, pair)) {
                all += 1.0;
                won += match tenths(yes).cmp(&tenths(no)) {
                    std::cmp::Ordering::Less => 0.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Greater => 1.0,
                };
            }
        }
        if all > 0.0 {
            assert_close(found.skeleton_auroc.unwrap(), won / all);
        } else {
            assert_eq!(found.skeleton_auroc, None);
        }
    }
}

/// Answers to every question, pair by pair and draw by draw, where paths are found by trying all of them.
#[test]
fn answers_agree_with_counting_pairs() {
    fn leads(edge: &dyn Fn(Node, Node) -> bool, d: usize, from: Node, to: Node, steps: usize) -> bool {
        edge(from, to) || steps > 0 && (0..d).any(|via| edge(from, via) && leads(edge, d, via, to, steps - 1))
    }
    let d = 5;
    let mut random = Seed::new(4).stream(Purpose::Graph).draws();
    for case in 0..40 {
        let mut random_dag = || {
            let pairs = (0..d).flat_map(|i| (i + 1..d).map(move |j| (i, j)));
            let dag =
                Dag::from_edges(d, pairs.filter(|_| random.uniform() < 0.4).collect::<Vec<_>>()).unwrap();
            let mut order: Vec<Node> = (0..d).collect();
            random.shuffle(&mut order);
            dag.relabelled(&order)
        };
        let dags: Vec<Dag> = (0..3).map(|_| random_dag()).collect();
        let mut truth = random_dag().to_rows_to_columns();
        // Some truths have cycles.
        if case % 2 == 0 {
            (truth[1][2], truth[2][1]) = (true, true);
        }
        let weights = vec![0.5, 0.3, 0.2];
        let draws = dags.iter().map(|dag| model(dag.clone(), 0.0)).collect();
        let ensemble = Ensemble::new(draws, weights.clone()).unwrap();
        let edges: Vec<(Node, Node)> = (0..d).filter(|&k| k != 1).map(|k| (k, 1)).collect();
        let ancestors: Vec<(Node, Node)> = (0..d).filter(|&k| k != 1).map(|k| (1, k)).collect();
        for (goal, pairs, by_paths) in [
            (Goal::Edge { from: 0, to: 1 }, vec![(0, 1)], false),
            (Goal::Parents { of: 1 }, edges, false),
            (Goal::Descendants { of: 1 }, ancestors, true),
            (Goal::Effect { of: 1, on: 3 }, vec![(1, 3)], true),
        ] {
            let steps = if by_paths { d } else { 0 };
            let answers = |edge: &dyn Fn(Node, Node) -> bool| -> Vec<bool> {
                pairs.iter().map(|&(from, to)| leads(edge, d, from, to, steps)).collect()
            };
            let expected = answers(&|from, to| truth[from][to]);
            let (mut errors, mut jaccard) = (0.0, 0.0);
            for (dag, weight) in dags.iter().zip(&weights) {
                let got = answers(&|from, to| dag.has_edge(from, to));
                let count = |of: fn(bool, bool) -> bool| {
                    got.iter().zip(&expected).filter(|(a, b)| of(**a, **b)).count() as f64
                };
                errors += weight * count(|a, b| a != b);
                let either = count(|a, b| a || b);
                jaccard += weight * if either == 0.0 { 1.0 } else { count(|a, b| a && b) / either };
            }
            let truth = goal.answer(&truth).unwrap();
            let found = answer_scores(&ensemble, &truth, |dag| goal.answer(dag).unwrap());
            assert_close(found.errors, errors);
            assert_close(found.jaccard, jaccard);
        }
        assert_eq!(Goal::Everything.answer(&dags[0]), None);
    }
}

#[test]
fn sortability_agrees_with_causaldisco() {
    for case in golden().sortability {
        let columns = (0..case.d).map(|k| case.rows.iter().map(|row| row[k]).collect()).collect();
        let data = Dataset::with_regime(names(case.d), columns, NodeSet::empty(case.d)).unwrap();
        let got = sortability(&data, &Dag::from_edges(case.d, case.truth).unwrap()).unwrap();
        assert_close(got.var_sortability, case.var_sortability);
        assert_close(got.r2_sortability, case.r2_sortability);
    }
}

#[test]
fn sortability_says_why_it_is_not_defined() {
    let d = 2;
    let data = |columns: Vec<Vec<f64>>| Dataset::with_regime(names(d), columns, NodeSet::empty(d)).unwrap();
    let edge = Dag::from_edges(d, [(0, 1)]).unwrap();
    let good = data(vec![vec![1.0, 2.0, 4.0], vec![1.0, 0.0, 3.0]]);
    assert!(sortability(&good, &edge).is_ok());
    assert_eq!(sortability(&good, &Dag::empty(d)), Err(SortabilityError::NoEdges));
    let short = data(vec![vec![1.0, 2.0], vec![1.0, 0.0]]);
    assert_eq!(sortability(&short, &edge), Err(SortabilityError::TooFewRows { rows: 2, variables: 2 }));
    let constant = data(vec![vec![1.0, 2.0, 4.0], vec![0.1; 3]]);
    assert_eq!(sortability(&constant, &edge), Err(SortabilityError::Constant { column: "X1".into() }));
    let collinear = data(vec![vec![1.0, 2.0, 4.0], vec![-2.0, -4.0, -8.0]]);
    assert_eq!(sortability(&collinear, &edge), Err(SortabilityError::Collinear));
}

#[test]
fn an_empty_truth_has_no_ranking_and_an_empty_belief_of_it_is_perfect() {
    let truth = Dag::empty(3);
    let got = scores(&Ensemble::uniform(vec![model(truth.clone(), 0.0)]).unwrap(), &truth);
    assert_eq!((got.auroc, got.auprc), (None, None));
    assert_eq!((got.eshd, got.esid, got.ef1, got.brier, got.ece), (0.0, Some(0.0), 1.0, 0.0, 0.0));
}

fn beliefs() -> impl Strategy<Value = (Vec<Vec<f64>>, Dag)> {
    (2usize..6).prop_flat_map(|d| {
        // Few distinct values, so that there are ties; exact tenths lie on the edges of bins.
        let level = (0u8..=10).prop_map(|k| f64::from(k) / 10.0);
        let probabilities = proptest::collection::vec(proptest::collection::vec(level, d), d);
        let edges = proptest::collection::vec(any::<bool>(), d * d);
        (probabilities, edges).prop_map(move |(p, edges)| {
            let lower = (0..d * d).filter(|&k| edges[k] && k / d < k % d).map(|k| (k / d, k % d));
            (p, Dag::from_edges(d, lower).unwrap())
        })
    })
}

proptest! {
    /// AUROC is the probability that a true edge wins against another pair.
    #[test]
    fn area_under_roc_agrees_with_counting_pairs((p, truth) in beliefs()) {
        let d = truth.len();
        let pairs: Vec<(f64, bool)> = (0..d * d).filter(|k| k / d != k % d)
            .map(|k| (p[k / d][k % d], truth.has_edge(k / d, k % d))).collect();
        let (mut won, mut games) = (0.0, 0.0);
        for edge in pairs.iter().filter(|pair| pair.1) {
            for other in pairs.iter().filter(|pair| !pair.1) {
                games += 1.0;
                won += if edge.0 > other.0 { 1.0 } else if edge.0 == other.0 { 0.5 } else { 0.0 };
            }
        }
        match area_under_roc(&p, &truth) {
            Some(area) => prop_assert!((area - won / games).abs() < 1e-12),
            None => prop_assert_eq!(games, 0.0),
        }
    }

    /// The order of the variables changes no score.
    #[test]
    fn relabelling_changes_no_score(d in 2usize..7, seed: u64) {
        let mut draws = Seed::new(seed).stream(Purpose::Graph).draws();
        let mut random_dag = || {
            let pairs = (0..d).flat_map(|i| (i + 1..d).map(move |j| (i, j)));
            Dag::from_edges(d, pairs.filter(|_| draws.uniform() < 0.4).collect::<Vec<_>>()).unwrap()
        };
        let truth = random_dag();
        let dags: Vec<Dag> = (0..4).map(|_| random_dag()).collect();
        let mut order: Vec<Node> = (0..d).collect();
        draws.shuffle(&mut order);
        let of = |relabel: &dyn Fn(&Dag) -> Dag| {
            let models = dags.iter().map(|dag| model(relabel(dag), 0.0)).collect();
            scores(&Ensemble::uniform(models).unwrap(), &relabel(&truth))
        };
        let (a, b) = (of(&Dag::clone), of(&|dag| dag.relabelled(&order)));
        prop_assert_eq!((a.eshd, a.esid, a.auroc, a.auprc, a.ef1), (b.eshd, b.esid, b.auroc, b.auprc, b.ef1));
        prop_assert!((a.brier - b.brier).abs() < 1e-12 && (a.ece - b.ece).abs() < 1e-12);
    }
}

/// Three of ten draws, and seven, whatever the order in which their weights are added.
#[test]
fn equal_sums_of_weights_are_equal_probabilities() {
    let edge = |from, to| Dag::from_edges(3, [(from, to)]).unwrap();
    let both = Dag::from_edges(3, [(0, 1), (1, 2)]).unwrap();
    let dags = [vec![edge(0, 1); 7], vec![both; 1], vec![edge(1, 2); 2]].concat();
    let draws: Vec<Scm> = dags.into_iter().map(|dag| model(dag, 0.0)).collect();
    let p = Ensemble::uniform(draws.clone()).unwrap().edge_probabilities();
    assert_eq!((p[0][1], p[1][2]), (0.8, 0.3));
    let got = scores(&Ensemble::uniform(draws).unwrap(), &edge(0, 1));
    assert_close(got.ece, (0.2 + 0.3) / 6.0);
    let tied =
        vec![model(edge(0, 1), 0.0), model(edge(0, 1), 0.0), model(edge(1, 2), 0.0), model(edge(2, 0), 0.0)];
    let ensemble = Ensemble::new(tied, vec![0.1, 0.2, 0.3, 0.4]).unwrap();
    let rank = |truth: &Dag| scores(&ensemble, truth).auroc;
    assert_eq!(rank(&edge(0, 1)), rank(&edge(1, 2)));
}

#[test]
fn sortability_looks_at_observations_only_and_at_any_scale() {
    let truth = Dag::from_edges(3, [(0, 1), (1, 2)]).unwrap();
    let scm = model(truth.clone(), 0.0);
    let stream = Seed::new(8).stream(Purpose::Noise);
    let mut data = scm.experiment(&Intervention::none(), 100, stream).unwrap();
    let expected = sortability(&data, &truth).unwrap();
    for scale in [1e200, 1e-200] {
        let columns = data.columns().iter().map(|x| x.iter().map(|x| x * scale).collect()).collect();
        let scaled = Dataset::with_regime(names(3), columns, NodeSet::empty(3)).unwrap();
        assert_eq!(sortability(&scaled, &truth).unwrap(), expected);
    }
    data.append(&scm.experiment(&Intervention::new([(0, 99.0)]).unwrap(), 50, stream).unwrap()).unwrap();
    data.append(&scm.experiment(&Intervention::new([(0, -99.0)]).unwrap(), 50, stream).unwrap()).unwrap();
    assert_eq!(sortability(&data, &truth).unwrap(), expected);
}

/// Many draws of unequal weight and many rows, so that another order of additions would show in the last bits.
#[test]
fn scores_are_the_same_bits_on_any_number_of_threads() {
    let mut random = Seed::new(3).stream(Purpose::Graph).draws();
    let d = 8;
    let mut random_dag = || {
        let pairs = (0..d).flat_map(|i| (i + 1..d).map(move |j| (i, j)));
        Dag::from_edges(d, pairs.filter(|_| random.uniform() < 0.3).collect::<Vec<_>>()).unwrap()
    };
    let truth = random_dag();
    let draws: Vec<Scm> = (0..60).map(|k| model(random_dag(), 0.01 * f64::from(k))).collect();
    let weights = (0..60).map(|k| 1.0 / (1.0 + f64::from(k))).collect();
    let ensemble = Ensemble::new(draws, weights).unwrap();
    let data = model(truth.clone(), 0.0)
        .experiment(&Intervention::none(), 1000, Seed::new(4).stream(Purpose::Noise))
        .unwrap();
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (scores(&ensemble, &truth), held_out_log_likelihood(&ensemble, &data).to_bits()))
    };
    let one = in_pool(1);
    assert!((0..5).all(|_| in_pool(4) == one));
}

/// One variable, two draws with means 0 and 2: the density of a row is the mean of two normal densities, and a row
/// in which the variable was set says nothing.
#[test]
fn held_out_log_likelihood_is_the_log_of_a_mean_of_densities() {
    let draws = vec![model(Dag::empty(2), 0.0), model(Dag::empty(2), 2.0)];
    let ensemble = Ensemble::new(draws, vec![0.25, 0.75]).unwrap();
    let normal = |x: f64, mean: f64| (-0.5 * (x - mean).powi(2)).exp() / std::f64::consts::TAU.sqrt();
    let data = Dataset::new(
        names(2),
        vec![vec![0.5, -1.0], vec![1.0, 7.0]],
        vec![NodeSet::empty(2), NodeSet::of(2, [1])],
    )
    .unwrap();
    let mixture = |row: &dyn Fn(f64) -> f64| (0.25 * row(0.0) + 0.75 * row(2.0)).ln();
    let expected = (mixture(&|m| normal(0.5, m) * normal(1.0, m)) + mixture(&|m| normal(-1.0, m))) / 2.0;
    assert_close(held_out_log_likelihood(&ensemble, &data), expected);
    let at_once = |_: &Progress<'_>| false;
    assert!(held_out_log_likelihood_observed(&ensemble, &data, &at_once).is_err(), "it hears a wish to stop");
}

/// The truth predicts new interventional outcomes better than a model without edges.
#[test]
fn the_true_model_predicts_better_than_an_empty_one() {
    let truth = model(Dag::from_edges(3, [(0, 1), (1, 2)]).unwrap(), 0.0);
    let stream = Seed::new(1).stream(Purpose::Noise);
    let outcome = truth.experiment(&Intervention::new([(0, 5.0)]).unwrap(), 200, stream).unwrap();
    let score = |scm: Scm| held_out_log_likelihood(&Ensemble::uniform(vec![scm]).unwrap(), &outcome);
    assert!(score(truth.clone()) > score(model(Dag::empty(3), 0.0)) + 1.0);
}

/// A true graph with a cycle A -> B -> C -> A and a pair that regulates each other has every score but the
/// intervention distance and the weight of the truth.
#[test]
fn a_truth_with_cycles_has_every_score_that_needs_no_order() {
    let mut truth = vec![vec![false; 5]; 5];
    for (from, to) in [(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)] {
        truth[from][to] = true;
    }
    let estimate = Dag::from_edges(5, [(0, 1), (2, 1), (3, 4), (0, 4)]).unwrap();
    let got = scores_with_cycles(&Ensemble::uniform(vec![model(estimate, 0.0)]).unwrap(), &truth);
    // C - B is reversed, C -> A missing, D - E one way only, A -> E too many.
    assert_eq!((got.eshd, got.esid, got.truth_mass), (4.0, None, None));
    assert_eq!(got.ef1, 2.0 * 2.0 / 9.0);
    assert_eq!(got.brier, 5.0 / 20.0);
    // Of 5 true edges 2 are certain, of 15 other pairs 2.
    assert!((got.auroc.unwrap() - (2.0 * 13.0 + 0.5 * (2.0 * 2.0 + 3.0 * 13.0)) / 75.0).abs() < 1e-12);
}
