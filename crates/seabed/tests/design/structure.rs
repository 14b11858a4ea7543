//! Utilities about the structure against the obvious way: every graph's density of simulated rows, one law at a time.

use std::sync::Mutex;

use seabed::belief::{self, Given, GraphBelief};
use seabed::data::Dataset;
use seabed::design::{Belief, Constraints, DesignError, Designer, Goal, Replicates, Strategy, Values};
use seabed::graph::Dag;
use seabed::num::random::{Draws, Purpose, Seed};
use seabed::observer::Progress;
use seabed::posterior::Knowledge;
use seabed::posterior::mcmc::{Family, Mcmc, McmcFit};
use seabed::scm::{Ensemble, Intervention, Linear, Mechanism, Scm};

use crate::screening::law;

/// A -> B -> C with few rows, so that many graphs are possible.
fn data() -> Dataset {
    let mut draws = Seed::new(8).stream(Purpose::Noise).draws();
    let mut columns = vec![Vec::new(); 3];
    for _ in 0..12 {
        let a = draws.normal();
        let b = 0.8 * a + 0.6 * draws.normal();
        let c = -0.7 * b + 0.7 * draws.normal();
        [a, b, c].into_iter().zip(&mut columns).for_each(|(x, column)| column.push(x));
    }
    Dataset::from_columns(&["A", "B", "C"], columns, &[]).unwrap()
}

fn fit(family: Family) -> McmcFit {
    let settings = Mcmc { draws: 50, least_sweeps: 400, most_sweeps: 800, ..Mcmc::of(family) };
    settings.fit(&data(), &Knowledge::none(3), Seed::new(5), &()).unwrap()
}

fn set(settings: &[(usize, f64)]) -> Intervention {
    Intervention::new(settings.iter().copied()).unwrap()
}

/// Σ π (1 - π) over pairs that `has` tells of a graph.
fn pair_loss(belief: &GraphBelief, weights: &[f64], has: impl Fn(&Dag, usize, usize) -> bool) -> f64 {
    let pairs = (0..3).flat_map(|i| (0..3).map(move |j| (i, j))).filter(|(i, j)| i != j);
    let probability = |(i, j): (usize, usize)| -> f64 {
        let graphs = belief.graphs().iter().zip(weights);
        graphs.filter(|(graph, _)| has(graph, i, j)).map(|(_, weight)| weight).sum()
    };
    pairs.map(probability).map(|p| p * (1.0 - p)).sum()
}

fn loss(strategy: Strategy, belief: &GraphBelief, weights: &[f64]) -> f64 {
    match strategy {
        Strategy::GreedyEdges => pair_loss(belief, weights, |graph, i, j| graph.has_edge(i, j)),
        Strategy::GreedyAncestors => {
            pair_loss(belief, weights, |graph, i, j| graph.descendants(i).contains(j))
        }
        _ => -weights.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>(),
    }
}

/// One path: rows of the designs from a random graph, and the loss that is left. Nothing is shared or cached.
fn loss_after(strategy: Strategy, belief: &GraphBelief, rows: &[&Intervention], draws: &mut Draws) -> f64 {
    let mut left = draws.uniform();
    let truth = belief.weights().iter().position(|weight| {
        left -= weight;
        left <= 0.0
    });
    let truth = truth.unwrap_or(0);
    let mut laws: Vec<Vec<Given<'_>>> = (0..3)
        .map(|node| belief.families(node).iter().map(|family| family.conditional.given()).collect())
        .collect();
    let mut log_weights: Vec<f64> = belief.weights().iter().map(|weight| weight.ln()).collect();
    for design in rows {
        let mut y = [0.0; 3];
        let inputs = |y: &[f64; 3], node: usize, family: usize| -> Vec<f64> {
            belief.families(node)[family].parents.iter().map(|&parent| y[parent]).collect()
        };
        for node in belief.graphs()[truth].topological_order() {
            let family = belief.family_of(truth)[node] as usize;
            let law = &laws[node][family];
            let drawn = law.draw(&inputs(&y, node, family), law.noise(draws.normal()));
            y[node] = design.value(node).unwrap_or(drawn);
        }
        for (graph, log_weight) in log_weights.iter_mut().enumerate() {
            for node in (0..3).filter(|&node| design.value(node).is_none()) {
                let family = belief.family_of(graph)[node] as usize;
                *log_weight += laws[node][family].log_predictive(y[node], &inputs(&y, node, family));
            }
        }
        for node in (0..3).filter(|&node| design.value(node).is_none()) {
            for (family, law) in laws[node].iter_mut().enumerate() {
                *law = law.with_row(y[node], &inputs(&y, node, family));
            }
        }
    }
    let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = log_weights.iter().map(|x| (x - largest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    loss(strategy, belief, &weights.iter().map(|weight| weight / sum).collect::<Vec<_>>())
}

const STRATEGIES: [Strategy; 3] = [Strategy::GreedyGraph, Strategy::GreedyEdges, Strategy::GreedyAncestors];

/// One row and three rows of one design, and two designs together; single and double targets. 40 comparisons, so |z| < 4.5
/// fails by chance in fewer than one of 3000 runs.
#[test]
fn worths_are_those_of_the_slow_twin() {
    for family in [Family::Linear, Family::GaussianProcess] {
        let fit = fit(family);
        let graphs = fit.graphs.as_ref().unwrap();
        let belief = Belief { models: &fit.ensemble, graphs: Some(graphs) };
        let batches: [(usize, Vec<Intervention>); 4] = [
            (1, vec![set(&[(1, 2.0)])]),
            (3, vec![set(&[(0, 1.5)])]),
            (1, vec![set(&[(0, 1.0), (2, -1.0)])]),
            (1, vec![set(&[(1, 2.0)]), set(&[(1, -2.0)])]),
        ];
        for strategy in STRATEGIES {
            for (replicates, batch) in &batches {
                let designer = Designer {
                    strategy,
                    samples: 4000,
                    replicates: Replicates::Each(*replicates),
                    ..Designer::default()
                };
                let fast = designer.score_batch(belief, batch, Seed::new(3), &()).unwrap();
                let rows: Vec<&Intervention> =
                    batch.iter().flat_map(|design| std::iter::repeat_n(design, *replicates)).collect();
                let mut draws = Seed::new(11).stream(Purpose::Outcomes).draws();
                let losses: Vec<f64> =
                    (0..4000).map(|_| loss_after(strategy, graphs, &rows, &mut draws)).collect();
                let n = losses.len() as f64;
                let mean = losses.iter().sum::<f64>() / n;
                let variance = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (n - 1.0);
                let slow = loss(strategy, graphs, graphs.weights()) - mean;
                let z = (fast.nats - slow) / (variance / n + fast.standard_error.powi(2)).sqrt();
                assert!(z.abs() < 4.5, "{family:?} {strategy:?} {batch:?}: {} and {slow}, z {z}", fast.nats);
            }
        }
    }
}

/// Worths of candidates in the search agree with those of batches, in any number of designs at once.
#[test]
fn a_candidate_is_worth_the_same_among_others() {
    let fit = fit(Family::Linear);
    let belief = Belief { models: &fit.ensemble, graphs: fit.graphs.as_ref() };
    let designs = [set(&[(0, 1.0)]), set(&[(1, 2.0)]), set(&[(2, -1.0)]), set(&[(0, 1.0), (1, 1.0)])];
    for replicates in [1, 2] {
        let designer = Designer {
            strategy: Strategy::GreedyEdges,
            samples: 50,
            replicates: Replicates::Each(replicates),
            ..Designer::default()
        };
        let all = designer.score(belief, &designs, Seed::new(3), &()).unwrap();
        for (design, together) in designs.iter().zip(&all) {
            let alone = designer.score(belief, std::slice::from_ref(design), Seed::new(3), &()).unwrap();
            assert!((alone[0].nats - together.nats).abs() < 1e-10, "{design:?}");
        }
    }
}

/// No batch teaches more than there is to learn; pending outcomes count; the greedy batch is not worse than its first part.
#[test]
fn batches_stay_within_what_there_is_to_learn() {
    let fit = fit(Family::Linear);
    let belief = Belief { models: &fit.ensemble, graphs: fit.graphs.as_ref() };
    let constraints = Constraints::range(3, -3.0, 3.0);
    for strategy in STRATEGIES {
        let designer = Designer { strategy, batch: 3, samples: 200, ..Designer::default() };
        let batch = designer.design(belief, &constraints, Seed::new(1), &()).unwrap();
        let graphs = fit.graphs.as_ref().unwrap();
        let most = loss(strategy, graphs, graphs.weights());
        assert!((batch.entropy - most).abs() < 1e-9);
        assert!(batch.information.nats > 0.0 && batch.information.nats <= most);
        assert_eq!(batch.chosen.len(), 3);
        let pending = [set(&[(1, 3.0)]), set(&[(0, 3.0)])];
        let after = designer.design_after(belief, &pending, &constraints, Seed::new(1), &()).unwrap();
        assert!(after.entropy < batch.entropy, "less is left to learn");
    }
}

/// The same bytes on any number of threads and in any order of the columns; progress only grows, ends at what was announced,
/// and a stop is heard.
#[test]
fn designs_are_reproducible_and_watched() {
    let fit = fit(Family::Linear);
    let designer = Designer { strategy: Strategy::GreedyEdges, batch: 2, samples: 60, ..Designer::default() };
    let constraints = Constraints::range(3, -3.0, 3.0);
    let heard = Mutex::new(Vec::new());
    let watch = |progress: &Progress<'_>| {
        heard.lock().unwrap().push((progress.done, progress.all));
        true
    };
    let belief = Belief { models: &fit.ensemble, graphs: fit.graphs.as_ref() };
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| designer.design(belief, &constraints, Seed::new(6), &watch).unwrap())
    };
    let batch = in_pool(1);
    assert_eq!(batch, in_pool(4));
    let heard = heard.into_inner().unwrap();
    assert!(
        heard.iter().all(|(done, all)| done <= all) && heard.last().is_some_and(|(done, all)| done == all)
    );
    let names: seabed::data::Names = ["C", "A", "B"].map(String::from).into();
    let shuffled = data().reordered(&names).unwrap();
    let settings = Mcmc { draws: 50, least_sweeps: 400, most_sweeps: 800, ..Mcmc::of(Family::Linear) };
    let other = settings.fit(&shuffled, &Knowledge::none(3), Seed::new(5), &()).unwrap();
    let belief = Belief { models: &other.ensemble, graphs: other.graphs.as_ref() };
    let again = designer.design(belief, &constraints, Seed::new(6), &()).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&batch).unwrap());
    let stopped = designer.design(belief, &constraints, Seed::new(6), &|_: &Progress<'_>| false);
    assert!(matches!(stopped, Err(DesignError::Stopped(_))));
}

/// What is announced at the beginning is what there is to do, within a factor of two, although most candidates are looked at
/// only roughly.
#[test]
fn the_work_that_is_announced_is_about_the_work_that_is_done() {
    let fits = [Family::Linear, Family::GaussianProcess].map(fit);
    let constraints = Constraints::range(3, -3.0, 3.0);
    for (family, evaluations, batch, replicates) in
        [(0, 5, 1, 1), (0, 5, 4, 1), (0, 40, 3, 1), (0, 20, 2, 3), (1, 5, 4, 1), (1, 20, 2, 3)]
    {
        let fit: &McmcFit = &fits[family];
        let belief = Belief { models: &fit.ensemble, graphs: fit.graphs.as_ref() };
        let designer = Designer {
            strategy: Strategy::GreedyEdges,
            values: Values::Refined,
            samples: 50,
            replicates: Replicates::Each(replicates),
            evaluations,
            batch,
            ..Designer::default()
        };
        let heard = Mutex::new(Vec::new());
        let watch = |progress: &Progress<'_>| {
            heard.lock().unwrap().push((progress.done, progress.all));
            true
        };
        designer.design(belief, &constraints, Seed::new(6), &watch).unwrap();
        let heard = heard.into_inner().unwrap();
        let (announced, real) = (heard[0].1, heard.last().unwrap().0);
        assert!(announced <= 2 * real && real <= 2 * announced, "{evaluations} values: {announced}, {real}");
    }
}

#[test]
fn models_alone_and_other_variables_are_refused() {
    let fit = fit(Family::Linear);
    let designer = Designer { strategy: Strategy::GreedyEdges, batch: 1, ..Designer::default() };
    let constraints = Constraints::range(3, -3.0, 3.0);
    let refused = designer.design(&fit.ensemble, &constraints, Seed::new(1), &());
    assert_eq!(refused.unwrap_err(), DesignError::NoGraphs);
    // A question narrows what is to be learned.
    let belief = Belief { models: &fit.ensemble, graphs: fit.graphs.as_ref() };
    let asked = Designer { goal: Goal::Parents { of: 2 }, ..designer.clone() };
    let all = designer.design(belief, &constraints, Seed::new(1), &()).unwrap();
    let part = asked.design(belief, &constraints, Seed::new(1), &()).unwrap();
    assert!(part.entropy < all.entropy);
}

/// Paths that would not fit into memory are refused before any of them is made.
#[test]
fn too_many_paths_are_refused() {
    let fit = fit(Family::Linear);
    let belief = Belief { models: &fit.ensemble, graphs: fit.graphs.as_ref() };
    let designer =
        Designer { strategy: Strategy::GreedyEdges, samples: 1_000_000, batch: 100, ..Designer::default() };
    let error = designer.design(belief, &Constraints::range(3, 0.0, 1.0), Seed::new(1), &()).unwrap_err();
    assert!(error.to_string().contains("more than fit in memory; lower samples to"), "{error}");
}

/// Rows and experiments are weighed against each other under graphs too: the dearer experiments are, the fewer there are.
#[test]
fn automatic_replicates_work_under_graphs() {
    let fit = fit(Family::Linear);
    let belief = Belief { models: &fit.ensemble, graphs: fit.graphs.as_ref() };
    let designer = Designer {
        strategy: Strategy::GreedyEdges,
        replicates: Replicates::Auto,
        batch: 5,
        ..Designer::default()
    };
    let experiments = |experiment_cost: f64| {
        let constraints = Constraints { experiment_cost, ..Constraints::range(3, -3.0, 3.0) };
        let batch = designer.design(belief, &constraints, Seed::new(1), &()).unwrap();
        assert_eq!(batch.chosen.iter().map(|chosen| chosen.rows).sum::<usize>(), 5);
        batch.chosen.len()
    };
    assert!(experiments(0.0) > 1);
    assert_eq!(experiments(1000.0), 1);
}

/// A -> B against B -> A, as likely as each other: setting A far away shows which, so one pair is wrong half of the time now, and
/// never afterwards. Setting B shows it as well; observing would not.
#[test]
fn what_an_experiment_decides_is_exact_where_it_is_known() {
    let names: seabed::data::Names = ["A", "B"].map(String::from).into();
    let families = |other: usize| {
        let alone = belief::Family { parents: vec![], conditional: law(&[], 1.0) };
        vec![alone, belief::Family { parents: vec![other], conditional: law(&[0.8], 0.36) }]
    };
    let dag = |edge| Dag::from_edges(2, [edge]).unwrap();
    let weighted = vec![(dag((0, 1)), 1.0), (dag((1, 0)), 1.0)];
    let graphs = GraphBelief::new(names.clone(), weighted, vec![families(1), families(0)], None).unwrap();
    let still = vec![Mechanism::Linear(Linear { weights: vec![], intercept: 0.0 }); 2];
    let models =
        Ensemble::uniform(vec![Scm::new(names, Dag::empty(2), still, vec![1.0; 2]).unwrap()]).unwrap();
    let belief = Belief { models: &models, graphs: Some(&graphs) };
    let values = Values::Fixed(50.0);
    let designer =
        Designer { strategy: Strategy::GreedyEdges, values, batch: 1, samples: 100, ..Designer::default() };
    for target in [0, 1] {
        let mut constraints = Constraints::range(2, 0.0, 50.0);
        constraints.variables[1 - target] = None;
        let batch = designer.design(belief, &constraints, Seed::new(1), &()).unwrap();
        let [decision] = &batch.chosen[0].decides[..] else { panic!("{:?}", batch.chosen[0].decides) };
        assert!((decision.there - 0.5).abs() < 1e-9 && (decision.back - 0.5).abs() < 1e-9);
        assert!((decision.wrong_now - 0.5).abs() < 1e-9 && decision.wrong_after < 1e-3);
        assert_eq!((decision.none, decision.decided), (0.0, 1.0));
        assert!(decision.question().contains("(now 0.50 / 0.50)"), "{}", decision.question());
        let forecast = batch.forecast.unwrap();
        assert!((forecast.wrong_now - 0.5).abs() < 1e-9 && forecast.wrong_after < 1e-3);
        assert_eq!((forecast.undecided_now, forecast.undecided_after), (1.0, 0.0));
        assert!((forecast.effective_graphs - 2.0).abs() < 1e-9);
        // Squared errors: p (1 - p) for both directions.
        assert!((batch.entropy - 0.5).abs() < 1e-9 && (batch.information.nats - 0.5).abs() < 1e-3);
        // Asked about one direction or about the parents of one, it is the same pair that is open.
        for goal in [Goal::Edge { from: 0, to: 1 }, Goal::Edge { from: 1, to: 0 }, Goal::Parents { of: 1 }] {
            let asked = Designer { goal, ..designer.clone() };
            let asked = asked.design(belief, &constraints, Seed::new(1), &()).unwrap();
            let forecast = asked.forecast.unwrap();
            assert!((forecast.wrong_now - 0.5).abs() < 1e-9 && forecast.wrong_after < 1e-3, "{goal:?}");
            assert_eq!((forecast.undecided_now, forecast.undecided_after), (1.0, 0.0), "{goal:?}");
            assert!((asked.entropy - 0.25).abs() < 1e-9, "{goal:?}");
        }
    }
}

/// Ten rows of every experiment do not take ten times as long as one, and what is chosen is about the best that there is.
#[test]
fn replicates_cost_little_and_choose_well() {
    let fit = fit(Family::Linear);
    let belief = Belief { models: &fit.ensemble, graphs: fit.graphs.as_ref() };
    let constraints = Constraints::range(3, -3.0, 3.0);
    let designer = |replicates: usize, samples: usize| Designer {
        strategy: Strategy::GreedyEdges,
        values: Values::Refined,
        batch: 1,
        evaluations: 20,
        replicates: Replicates::Each(replicates),
        samples,
        ..Designer::default()
    };
    // So many values of each target, whatever they are worth.
    let grid: Vec<f64> = (0..40).map(|k| -3.0 + 0.15 * f64::from(k)).collect();
    let work = |replicates: usize| {
        let last = Mutex::new(0);
        let watch = |progress: &Progress<'_>| {
            *last.lock().unwrap() = progress.done;
            true
        };
        let designer = Designer { values: Values::Grid(grid.clone()), ..designer(replicates, 100) };
        designer.design(belief, &constraints, Seed::new(2), &watch).unwrap();
        last.into_inner().unwrap() as f64
    };
    let (one, ten) = (work(1), work(10));
    assert!(ten <= 2.2 * one, "{one} and {ten}");
    let batch = designer(10, 400).design(belief, &constraints, Seed::new(2), &()).unwrap();
    let all: Vec<Intervention> =
        (0..3).flat_map(|node| [-3.0, -1.5, 1.5, 3.0].map(|value| set(&[(node, value)]))).collect();
    let worths = designer(10, 400).score(belief, &all, Seed::new(7), &()).unwrap();
    let best = worths.iter().map(|worth| worth.nats).fold(0.0, f64::max);
    let chosen = designer(10, 400).score_batch(belief, &[batch.chosen[0].design.clone()], Seed::new(7), &());
    assert!(chosen.unwrap().nats > 0.85 * best);
}
