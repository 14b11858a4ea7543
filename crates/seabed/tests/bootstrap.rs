//! GIES and the bootstrap: scores against plain least squares, local optima, knowledge, degenerate data.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use seabed::data::{Dataset, Names};
use seabed::graph::{Dag, EssentialGraph, Node, NodeSet};
use seabed::num::random::{Draws, Purpose, Seed};
use seabed::observer::Progress;
use seabed::posterior::bootstrap::{Bootstrap, Degenerate, GiesOptions, Moments, Scores, regress};
use seabed::posterior::{
    FitError, Knowledge, Posterior, PosteriorKind, PosteriorSettings, Start, State, UnusableData,
};
use seabed::scm::{Intervention, Linear, Mechanism, Scm};

fn names(d: usize) -> Names {
    (0..d).map(|k| format!("X{k}")).collect()
}

fn draws(seed: u64) -> Draws {
    Seed::new(seed).stream(Purpose::Graph).draws()
}

/// Data of a random linear world in which some rows set one or two variables.
fn random_data(d: usize, rows: usize, seed: u64) -> Dataset {
    let mut draws = draws(seed);
    let pairs: Vec<(Node, Node)> = (0..d).flat_map(|i| (i + 1..d).map(move |j| (i, j))).collect();
    let edges: Vec<(Node, Node)> = pairs.into_iter().filter(|_| draws.uniform() < 0.5).collect();
    let mut order: Vec<Node> = (0..d).collect();
    draws.shuffle(&mut order);
    let dag = Dag::from_edges(d, edges).unwrap().relabelled(&order);
    let mechanisms = (0..d)
        .map(|node| {
            let weights = dag.parents(node).iter().map(|_| 1.5 * draws.normal()).collect();
            Mechanism::Linear(Linear { weights, intercept: draws.normal() })
        })
        .collect();
    let scm = Scm::new(names(d), dag, mechanisms, vec![0.7; d]).unwrap();
    let (mut columns, mut targets) = (vec![Vec::new(); d], Vec::new());
    for row in 0..rows {
        let mut set = NodeSet::empty(d);
        if row % 3 == 2 && d > 2 {
            // One target, or two.
            set = NodeSet::of(d, (0..1 + row % 2).map(|_| draws.below(d)));
        }
        let intervention = Intervention::new(set.iter().map(|node| (node, 2.0 * draws.normal()))).unwrap();
        let stream = Seed::new(seed).stream(Purpose::Noise).at(row as u64);
        for (column, value) in columns.iter_mut().zip(scm.sample(1, &intervention, stream)) {
            column.push(value[0]);
        }
        targets.push(set);
    }
    Dataset::new(names(d), columns, targets).unwrap()
}

fn moments(data: &Dataset) -> Moments {
    Moments::new(data, &vec![1.0; data.rows()])
}

fn scores(data: &Dataset) -> Scores {
    Scores::new(moments(data), None, 1e-8)
}

/// Residual sum of squares by projecting columns out of each other, row by row: no moments, no factorisation.
fn plain_residual(data: &Dataset, node: Node, parents: &[Node], weights: &[f64]) -> (f64, f64) {
    let rows: Vec<usize> = (0..data.rows()).filter(|&row| !data.targets(row).contains(node)).collect();
    let n: f64 = rows.iter().map(|&row| weights[row]).sum();
    let dot = |a: &[f64], b: &[f64]| -> f64 {
        rows.iter().enumerate().map(|(k, &row)| weights[row] * a[k] * b[k]).sum()
    };
    let column = |v: Node| -> Vec<f64> { rows.iter().map(|&row| data.column(v)[row]).collect() };
    let mut basis: Vec<Vec<f64>> = vec![vec![1.0; rows.len()]];
    let project = |mut x: Vec<f64>, basis: &[Vec<f64>]| {
        // Twice, so that rounding of the first pass is projected out too.
        for direction in basis.iter().chain(basis) {
            let share = dot(&x, direction) / dot(direction, direction);
            for (x, b) in x.iter_mut().zip(direction) {
                *x -= share * b;
            }
        }
        x
    };
    for &parent in parents {
        let direction = project(column(parent), &basis);
        basis.push(direction);
    }
    let residual = project(column(node), &basis);
    (dot(&residual, &residual), n)
}

fn plain_score(data: &Dataset, node: Node, parents: &NodeSet, weights: &[f64]) -> f64 {
    let list: Vec<Node> = parents.iter().collect();
    let (rss, n) = plain_residual(data, node, &list, weights);
    let lambda = 0.5 * weights.iter().sum::<f64>().ln();
    -0.5 * n * (1.0 + (rss / n).ln()) - lambda * (1 + list.len()) as f64
}

/// All DAGs of the class of `dag`, by trying every orientation of the lines.
fn members(class: &EssentialGraph, targets: &[NodeSet]) -> Vec<Dag> {
    let d = class.len();
    let lines: Vec<(Node, Node)> = (0..d)
        .flat_map(|a| class.neighbours(a).iter().filter(move |&b| a < b).map(move |b| (a, b)))
        .collect();
    let arrows: Vec<(Node, Node)> =
        (0..d).flat_map(|v| class.parents(v).iter().map(move |u| (u, v))).collect();
    let oriented = |bits: u32| {
        let turned =
            lines.iter().enumerate().map(|(k, &(a, b))| if bits >> k & 1 == 0 { (a, b) } else { (b, a) });
        Dag::from_edges(d, arrows.iter().copied().chain(turned)).ok()
    };
    (0..1u32 << lines.len())
        .filter_map(oriented)
        .filter(|dag| EssentialGraph::of(dag, targets) == *class)
        .collect()
}

fn random_knowledge(d: usize, draws: &mut Draws) -> Knowledge {
    let pairs: Vec<(Node, Node)> =
        (0..d).flat_map(|i| (0..d).map(move |j| (i, j))).filter(|(i, j)| i != j).collect();
    let mut some = |chance: f64| -> Vec<(Node, Node)> {
        pairs.iter().copied().filter(|_| draws.uniform() < chance).collect()
    };
    loop {
        let (forbidden, required) = (some(0.2), some(0.08));
        if let Ok(knowledge) = Knowledge::new(&names(d), &forbidden, &required, &[]) {
            return knowledge;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn local_scores_agree_with_plain_least_squares(d in 2usize..7, seed: u64, mask: u32) {
        let data = random_data(d, 40, seed);
        // Rows count 0 to 3 times, as in a resample; every node keeps enough of them.
        let mut random = draws(seed ^ 1);
        let weights: Vec<f64> = (0..40).map(|k| if k < 12 { 1.0 } else { random.below(4) as f64 }).collect();
        let mut scores = Scores::new(Moments::new(&data, &weights), None, 1e-8);
        for node in 0..d {
            let parents = NodeSet::of(d, (0..d).filter(|&k| k != node && mask >> k & 1 == 1));
            let (got, expected) = (scores.local(node, &parents), plain_score(&data, node, &parents, &weights));
            prop_assert!((got - expected).abs() < 1e-7, "{got} {expected}");
            // What one more parent gains is the difference of two scores, for every candidate at once.
            let gains: Vec<_> = scores.gains(node, &parents).to_vec();
            prop_assert!(gains.windows(2).all(|pair| pair[0].gain >= pair[1].gain));
            for candidate in (0..d).filter(|&k| k != node && !parents.contains(k)) {
                let mut more = parents.clone();
                more.insert(candidate);
                let gain = plain_score(&data, node, &more, &weights) - expected;
                match gains.iter().find(|gain| gain.parent == candidate) {
                    Some(found) => prop_assert!((found.gain - gain).abs() < 1e-7),
                    None => prop_assert!(gain < 1e-6),
                }
            }
        }
    }

    /// Every operator of the search is a change of one edge of some member of the class. None of these gains.
    #[test]
    fn the_search_ends_in_a_local_optimum(d in 2usize..6, seed: u64) {
        let data = random_data(d, 60, seed);
        let (found, _) = Bootstrap::default().single(&data, &Knowledge::none(d), &()).unwrap();
        prop_assert_eq!(&EssentialGraph::of(&found.dag, data.regimes()), &found.class);
        let mut scores = scores(&data);
        let score = scores.total(&found.dag);
        let gained: f64 = found.steps.iter().map(|step| step.gain).sum();
        prop_assert!((scores.total(&Dag::empty(d)) + gained - score).abs() < 1e-6);
        for member in members(&found.class, data.regimes()) {
            prop_assert!((scores.total(&member) - score).abs() < 1e-6, "members score alike");
            for (a, b) in (0..d).flat_map(|a| (0..d).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let mut next = member.clone();
                if member.has_edge(b, a) {
                    next.remove_edge(b, a);
                    prop_assert!(scores.total(&next) < score + 1e-6, "deleting {b} -> {a}");
                }
                if !member.has_edge(a, b) && next.add_edge(a, b).is_ok() {
                    prop_assert!(scores.total(&next) < score + 1e-6, "{a} -> {b}, inserted or turned");
                }
            }
        }
    }

    /// Columns in another order: the same class, relabelled. Rounding could only matter in a tie.
    #[test]
    fn permuting_the_columns_permutes_the_class(d in 2usize..7, seed: u64) {
        let data = random_data(d, 50, seed);
        let mut order: Vec<Node> = (0..d).collect();
        draws(seed ^ 2).shuffle(&mut order);
        let shuffled: Vec<String> = order.iter().map(|&k| data.names()[k].clone()).collect();
        let other = data.reordered(&shuffled).unwrap();
        let class = |data: &Dataset| {
            Bootstrap::default().single(data, &Knowledge::none(d), &()).unwrap().0.class.to_rows_to_columns()
        };
        let (a, b) = (class(&data), class(&other));
        for i in 0..d {
            for j in 0..d {
                prop_assert_eq!(a[order[i]][order[j]], b[i][j]);
            }
        }
    }
}

#[test]
fn forbidden_edges_never_appear_and_required_ones_always_do() {
    for problem in 0..500 {
        let mut random = draws(problem);
        let d = 2 + random.below(6);
        let data = random_data(d, 30, problem);
        let knowledge = random_knowledge(d, &mut random);
        let (found, scm) = Bootstrap::default().single(&data, &knowledge, &()).unwrap();
        assert!(knowledge.allows(&found.dag), "problem {problem}");
        assert_eq!(scm.dag(), &found.dag);
        if let Some(refined) = &found.refined {
            let edges = refined.to_rows_to_columns();
            for to in 0..d {
                assert!(knowledge.forbidden()[to].iter().all(|from| !edges[from][to]), "problem {problem}");
                assert!(knowledge.required().parents(to).iter().all(|from| edges[from][to]));
            }
        }
        if problem % 10 == 0 {
            let bootstrap = Bootstrap { draws: 10, ..Bootstrap::default() };
            let fit = bootstrap.fit(&data, &knowledge, Seed::new(problem), &()).unwrap();
            let p = fit.ensemble.edge_probabilities();
            for to in 0..d {
                assert!(knowledge.forbidden()[to].iter().all(|from| p[from][to] == 0.0));
                assert!(knowledge.required().parents(to).iter().all(|from| p[from][to] == 1.0));
            }
        }
    }
}

#[test]
fn the_bootstrap_is_the_same_on_any_number_of_threads_and_in_any_order_of_the_columns() {
    let data = random_data(6, 60, 3);
    let bootstrap = Bootstrap { draws: 30, ..Bootstrap::default() };
    let fit = |data: &Dataset| bootstrap.fit(data, &Knowledge::none(6), Seed::new(7), &()).unwrap();
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&data).ensemble.to_npz())
    };
    assert_eq!(in_pool(1), in_pool(4));
    let mut shuffled = data.names().to_vec();
    shuffled.rotate_left(2);
    shuffled.swap(0, 1);
    let (a, b) = (fit(&data), fit(&data.reordered(&shuffled).unwrap()));
    assert_eq!(a.scores, b.scores);
    let (p, q) = (a.ensemble.edge_probabilities(), b.ensemble.edge_probabilities());
    let place = |k: Node| shuffled.iter().position(|name| *name == data.names()[k]).unwrap();
    for i in 0..6 {
        for j in 0..6 {
            assert_eq!(p[i][j], q[place(i)][place(j)]);
        }
    }
    for (x, y) in a.ensemble.draws().iter().zip(b.ensemble.draws()) {
        for node in 0..6 {
            assert_eq!(x.noise_sd()[node], y.noise_sd()[place(node)]);
        }
    }
}

/// Parameters come from all rows in which the variable was not a target, whatever the resample was.
#[test]
fn parameters_are_fitted_to_all_the_data() {
    let data = random_data(5, 80, 9);
    let fit = Bootstrap::default().fit(&data, &Knowledge::none(5), Seed::new(1), &()).unwrap();
    let all = moments(&data);
    assert!((fit.ensemble.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    for draw in fit.ensemble.draws() {
        for node in 0..5 {
            let Mechanism::Linear(linear) = draw.mechanism(node) else { panic!("linear") };
            let expected = regress(&all, node, draw.dag().parents(node)).unwrap();
            // The fit adds up the rows in an order of its own.
            let same = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
            assert!(linear.weights.iter().zip(&expected.weights).all(|(a, b)| same(*a, *b)));
            assert!(same(linear.intercept, expected.intercept));
            let parents: Vec<Node> = draw.dag().parents(node).iter().collect();
            let (rss, n) = plain_residual(&data, node, &parents, &vec![1.0; 80]);
            assert!((draw.noise_sd()[node].powi(2) - rss / n).abs() < 1e-9);
        }
    }
    assert!(
        fit.ensemble
            .draws()
            .iter()
            .enumerate()
            .all(|(k, draw)| { fit.ensemble.draws()[..k].iter().all(|other| other.dag() != draw.dag()) })
    );
}

/// Observation cannot tell A -> B from B -> A: both are drawn, about equally often; and knowledge about another variable
/// changes nothing. 400 draws, z-scores below 5.
#[test]
fn undecided_edges_stay_undecided() {
    let mut random = draws(12);
    let (mut a, mut b, mut z) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..200 {
        a.push(random.normal());
        b.push(2.0 * a[a.len() - 1] + random.normal());
        z.push(random.normal());
    }
    let data = Dataset::with_regime(names(3), vec![a, b, z], NodeSet::empty(3)).unwrap();
    let bootstrap = Bootstrap { draws: 400, ..Bootstrap::default() };
    let known = Knowledge::new(&names(3), &[(0, 2)], &[], &[]).unwrap();
    for knowledge in [Knowledge::none(3), known] {
        let p = bootstrap.fit(&data, &knowledge, Seed::new(4), &()).unwrap().ensemble.edge_probabilities();
        assert!((p[0][1] + p[1][0] - 1.0).abs() < 1e-9);
        assert!((p[0][1] - 0.5).abs() < 5.0 * 0.5 / 20.0, "{}", p[0][1]);
    }
}

#[test]
fn required_edges_that_cannot_be_fitted_are_refused() {
    let base = random_data(3, 40, 5);
    let mut columns = base.columns().to_vec();
    columns.push(vec![7.0; 40]);
    let targets = (0..40).map(|row| NodeSet::of(4, base.targets(row).iter())).collect();
    let data = Dataset::new(names(4), columns, targets).unwrap();
    let knowledge = Knowledge::new(&names(4), &[], &[(3, 0)], &[]).unwrap();
    let error = Bootstrap::default().single(&data, &knowledge, &()).unwrap_err();
    assert_eq!(error, UnusableData::RequiredDegenerate { from: "X3".into(), to: "X0".into() }.into());
    let reasons = seabed::posterior::bootstrap::degenerate(&data);
    assert_eq!(reasons, [(Degenerate::Constant(3), None)]);
}

#[test]
fn degenerate_columns_are_never_used_and_say_why() {
    let base = random_data(3, 40, 5);
    let with = |column: Vec<f64>| {
        let mut columns = base.columns().to_vec();
        columns.push(column);
        let targets = (0..40).map(|row| NodeSet::of(4, base.targets(row).iter())).collect();
        Dataset::new(names(4), columns, targets).unwrap()
    };
    let constant = with(vec![0.1; 40]);
    let copy = with(base.column(1).to_vec());
    let sum = with((0..40).map(|r| base.column(0)[r] - 3.0 * base.column(1)[r] + 1.0).collect());
    for data in [&constant, &copy, &sum] {
        let (found, scm) = Bootstrap::default().single(data, &Knowledge::none(4), &()).unwrap();
        assert!(found.score.is_finite());
        assert!(scm.noise_sd().iter().all(|sd| *sd > 0.0));
        let fit = Bootstrap { draws: 20, ..Bootstrap::default() }
            .fit(data, &Knowledge::none(4), Seed::new(1), &())
            .unwrap();
        for draw in fit.ensemble.draws() {
            assert!(draw.dag().edge_count() <= 6);
        }
    }
    let (found, _) = Bootstrap::default().single(&constant, &Knowledge::none(4), &()).unwrap();
    assert!(found.dag.adjacent(3).is_empty());
    let set = |nodes: &[Node]| NodeSet::of(4, nodes.iter().copied());
    assert_eq!(regress(&moments(&constant), 3, &set(&[])), Err(Degenerate::Constant(3)));
    assert_eq!(regress(&moments(&constant), 0, &set(&[3])), Err(Degenerate::CollinearParent(3)));
    assert_eq!(regress(&moments(&copy), 1, &set(&[3])), Err(Degenerate::Determined(1)));
    assert_eq!(regress(&moments(&sum), 2, &set(&[0, 1, 3])), Err(Degenerate::CollinearParent(3)));
    assert_eq!(scores(&copy).local(1, &set(&[3])), f64::NEG_INFINITY);
    assert_eq!(scores(&constant).local(3, &set(&[])), 0.0);
}

#[test]
fn more_candidate_parents_than_rows_are_fine() {
    let d = 12;
    let data = random_data(d, 9, 2);
    let observed = Dataset::with_regime(names(d), data.columns().to_vec(), NodeSet::empty(d)).unwrap();
    let (found, _) = Bootstrap::default().single(&observed, &Knowledge::none(d), &()).unwrap();
    assert!((0..d).all(|node| found.dag.parents(node).len() + 1 < 9));
    assert!(found.score.is_finite());
    let full = NodeSet::of(d, 1..9);
    assert_eq!(regress(&moments(&observed), 0, &full), Err(Degenerate::TooFewRows(0)));
}

#[test]
fn options_are_respected() {
    let data = random_data(8, 100, 4);
    let single = |bootstrap: &Bootstrap| bootstrap.single(&data, &Knowledge::none(8), &()).unwrap().0;
    let free = single(&Bootstrap::default());
    assert!((0..8).any(|node| free.dag.adjacent(node).len() > 2));
    let search = GiesOptions { max_degree: Some(2), ..GiesOptions::default() };
    let limited = single(&Bootstrap { search, ..Bootstrap::default() });
    assert!((0..8).all(|node| limited.dag.adjacent(node).len() <= 2));
    let dear = single(&Bootstrap { penalty: Some(1e6), ..Bootstrap::default() });
    assert_eq!(dear.dag.edge_count(), 0);
    // From its own result the search makes no step.
    let search = GiesOptions { start: Some(free.dag.clone()), ..GiesOptions::default() };
    let again = single(&Bootstrap { search, ..Bootstrap::default() });
    assert!(again.steps.is_empty());
    assert_eq!(again.class, free.class);
}

/// Stopped after any number of resamples, saved, read back and resumed, on any number of threads.
#[test]
fn a_resumed_fit_equals_an_uninterrupted_one() {
    let data = random_data(5, 60, 3);
    let knowledge = Knowledge::new(data.names(), &[(0, 1)], &[(2, 3)], &[]).unwrap();
    let posterior = Posterior::Bootstrap(Bootstrap { draws: 40, ..Bootstrap::default() });
    let fit = |start: Start| posterior.fit(&data, &knowledge, start, &());
    let whole = fit(Start::fresh(Seed::new(4))).unwrap();
    // One resample may be under way on every other thread when the stop is requested.
    for stop in [1, 5] {
        let told = AtomicUsize::new(0);
        let until = |_: &Progress<'_>| told.fetch_add(1, Ordering::Relaxed) + 1 < stop;
        let stopped = posterior.fit(&data, &knowledge, Start::fresh(Seed::new(4)), &until);
        let Err(FitError::Stopped(state)) = stopped else { panic!("asked to stop after {stop}") };
        let saved = State::from_json(&state.to_json()).unwrap();
        assert_eq!(saved, *state);
        let resumed = fit(Start::Resumed(Box::new(saved.clone()))).unwrap();
        assert_eq!(resumed.ensemble, whole.ensemble);
        let other =
            posterior.fit(&random_data(5, 60, 4), &knowledge, Start::Resumed(Box::new(saved.clone())), &());
        assert!(other.unwrap_err().to_string().contains("other data"));
        let other = posterior.fit(&data, &Knowledge::none(5), Start::Resumed(Box::new(saved)), &());
        assert!(other.unwrap_err().to_string().contains("other background knowledge"));
    }
}

#[test]
fn too_little_to_learn_from_is_refused() {
    let columns = vec![vec![1.0, 2.0, 3.0, 5.0], vec![0.0, 1.0, 0.0, 2.0]];
    let targets = (0..4).map(|row| NodeSet::of(2, (row > 1).then_some(1))).collect();
    let data = Dataset::new(names(2), columns, targets).unwrap();
    let fit =
        |bootstrap: Bootstrap| bootstrap.fit(&data, &Knowledge::none(2), Seed::new(1), &()).unwrap_err();
    assert_eq!(
        fit(Bootstrap::default()),
        UnusableData::TooFewRows { name: "X1".into(), rows: 2, least: 3 }.into()
    );
    let none = fit(Bootstrap { draws: 0, ..Bootstrap::default() }).to_string();
    assert!(none.starts_with("draws = 0"), "{none}");
    let negative = Bootstrap { penalty: Some(-1.0), ..Bootstrap::default() };
    assert!(fit(negative).to_string().starts_with("penalty = -1"));
}

#[test]
fn knowledge_is_read_by_name_and_contradictions_are_named() {
    let names: Names = ["A", "B", "C"].map(String::from).into();
    let read = |text: &str| Knowledge::from_toml(text, &names);
    let knowledge =
        read("forbidden = [[\"A\", \"B\"]]\nrequired = [[\"B\", \"C\"]]\ntiers = [[\"B\"], [\"C\", \"A\"]]")
            .unwrap();
    assert!(knowledge.forbids(0, 1) && knowledge.forbids(2, 1) && !knowledge.forbids(1, 2));
    assert!(knowledge.requires_either(2, 1) && !knowledge.is_empty());
    assert!(read("").unwrap().is_empty());
    for (text, expected) in [
        ("forbiden = []", "unknown field `forbiden`"),
        ("forbidden = [[\"A\"]]", "the form is `forbidden = [[\"A\", \"B\"]]`"),
        ("forbidden = [[\"A\", \"Z\"]]", "\"Z\" is not a variable; the variables are A, B, C"),
        ("required = [[\"A\", \"A\"]]", "\"A\" is paired with itself"),
        ("tiers = [[\"A\"], [\"B\", \"A\"]]", "\"A\" is in two tiers"),
        (
            "tiers = [[\"A\"], [\"B\"]]\nrequired = [[\"B\", \"A\"]]",
            "\"B\" -> \"A\" is both required and forbidden",
        ),
        ("required = [[\"A\", \"B\"], [\"B\", \"A\"]]", "the required edges form a cycle: A -> B -> A"),
    ] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}\n  should say {expected}");
    }
}

/// Noise with far more columns than rows: chance fits everything, but the searches end, and answer when they are asked to stop.
#[test]
fn searches_of_wide_tables_end_and_stop() {
    let (rows, count) = (60, 200);
    let mut draws = Seed::new(5).stream(Purpose::Noise).draws();
    let columns = (0..count).map(|_| (0..rows).map(|_| draws.normal()).collect()).collect();
    let data = Dataset::with_regime(names(count), columns, NodeSet::empty(count)).unwrap();
    let none = Knowledge::none(count);
    let bootstrap = Bootstrap { draws: 8, ..Bootstrap::default() };
    let never = |_: &Progress<'_>| false;
    let started = Instant::now();
    let stopped = bootstrap.fit(&data, &none, Seed::new(1), &never);
    assert!(matches!(stopped, Err(FitError::Stopped(_))));
    assert!(matches!(bootstrap.single(&data, &none, &never), Err(FitError::Stopped(_))));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let bootstrap = Bootstrap { draws: 2, ..Bootstrap::default() };
    let fit = bootstrap.fit(&data, &none, Seed::new(1), &()).unwrap();
    for draw in fit.ensemble.draws() {
        assert!((0..count).all(|node| draw.dag().adjacent(node).len() <= rows / 3));
    }
    assert!(started.elapsed() < Duration::from_secs(180), "{:?}", started.elapsed());
}

#[test]
fn too_many_variables_for_chains_name_who_can_and_what_it_costs() {
    let (rows, count) = (20, 2000);
    let columns =
        (0..count).map(|k| (0..rows).map(|row| f64::from((k * 7 + row * row) as u32 % 11)).collect());
    let data = Dataset::with_regime(names(count), columns.collect(), NodeSet::empty(count)).unwrap();
    let chains = PosteriorSettings::for_own_data(PosteriorKind::McmcGp).check(None).unwrap();
    let refused = chains.fit(&data, &Knowledge::none(count), Start::fresh(Seed::new(1)), &()).unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("--posterior bootstrap") && said.contains("about 2 hours of one processor"),
        "{said}"
    );
}
