//! Which designs together: every strategy on problems whose best batch is known.

use seabed::data::Names;
use seabed::design::{
    Allowed, Batch, Constraints, Designer, Levels, Replicates, Strategy, Temperature, Values,
};
use seabed::graph::{Dag, Node};
use seabed::num::random::Seed;
use seabed::scm::{Ensemble, Linear, Mechanism, Scm};
use serde_json::Value;

use crate::{names, random_ensemble, single, strategies_of_models, two_questions};

#[test]
fn greedy_batches_are_near_the_best_and_their_gains_do_not_grow() {
    for seed in 0..8 {
        let ensemble = random_ensemble(4, 6, true, seed);
        let mut constraints = Constraints::range(4, -2.0, 2.0);
        for allowed in constraints.variables.iter_mut().flatten() {
            allowed.levels = Levels::List(vec![-2.0, 0.0, 2.0]);
        }
        let designer = |strategy, batch| Designer {
            strategy,
            batch,
            samples: 500,
            values: Values::Grid(vec![]),
            ..Designer::default()
        };
        let greedy =
            designer(Strategy::GreedyCbed, 2).design(&ensemble, &constraints, Seed::new(seed), &()).unwrap();
        // Every pair of the twelve designs, by a greedy search that may choose nothing else.
        let candidates: Vec<(Node, f64)> =
            (0..4).flat_map(|node| [-2.0, 0.0, 2.0].map(|value| (node, value))).collect();
        let mut best = 0.0f64;
        for (k, a) in candidates.iter().enumerate() {
            for b in &candidates[k..] {
                let mut only = constraints.clone();
                only.variables.fill(None);
                for (node, value) in [a, b] {
                    let allowed = only.variables[*node]
                        .get_or_insert(Allowed { levels: Levels::List(vec![]), cost: 1.0 });
                    let Levels::List(levels) = &mut allowed.levels else { panic!("a list") };
                    levels.push(*value);
                }
                let pair =
                    designer(Strategy::GreedyCbed, 2).design(&ensemble, &only, Seed::new(seed), &()).unwrap();
                best = best.max(pair.information.nats);
            }
        }
        assert!(greedy.information.nats >= (1.0 - (-1.0f64).exp()) * best);
        let longer =
            designer(Strategy::GreedyCbed, 5).design(&ensemble, &constraints, Seed::new(seed), &()).unwrap();
        // Gains are estimated on fresh noise: their errors add up.
        for pair in longer.chosen.windows(2) {
            let error =
                4.0 * (pair[0].information.standard_error + pair[1].information.standard_error) + 0.02;
            assert!(pair[1].gain <= pair[0].gain + error, "{:?}", longer.chosen);
        }
        assert!(longer.information.nats <= longer.entropy + 0.05);
    }
}

#[test]
fn soft_batches_follow_the_temperature() {
    let ensemble = random_ensemble(4, 6, true, 3);
    let constraints = Constraints::range(4, -3.0, 3.0);
    let base = Designer { values: Values::Fixed(2.0), batch: 1, ..Designer::default() };
    let best = Designer { strategy: Strategy::Cbed, ..base.clone() }
        .design(&ensemble, &constraints, Seed::new(1), &())
        .unwrap();
    // Cold: always the best. In proportion to exp(information / temperature) otherwise: chi-square over 4 targets with
    // 400 draws, 3 degrees of freedom: 30.7 is exceeded with probability 1e-6.
    for seed in 0..10 {
        let cold = Designer { temperature: Temperature::Given(1e-4), ..base.clone() };
        let batch = cold.design(&ensemble, &constraints, Seed::new(seed), &()).unwrap();
        assert_eq!(batch.chosen[0].design, best.chosen[0].design);
    }
    for temperature in [Temperature::Given(0.5), Temperature::Relative] {
        let warm = Designer { temperature, samples: 20, ..base.clone() };
        let (mut counts, mut expected) = ([0.0f64; 4], [0.0f64; 4]);
        for seed in 0..400 {
            let batch = warm.design(&ensemble, &constraints, Seed::new(seed), &()).unwrap();
            let worths: Vec<f64> = batch.evaluated.iter().map(|e| e.information.nats).collect();
            let mean = worths.iter().sum::<f64>() / 4.0;
            let divisor = match temperature {
                Temperature::Given(divisor) => divisor,
                Temperature::Relative => {
                    0.5 * (worths.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / 4.0).sqrt()
                }
            };
            let weights: Vec<f64> = worths.iter().map(|worth| ((worth - mean) / divisor).exp()).collect();
            for (k, weight) in weights.iter().enumerate() {
                expected[k] += weight / weights.iter().sum::<f64>();
            }
            counts[batch.chosen[0].design.settings()[0].0] += 1.0;
        }
        let chi_square: f64 = counts.iter().zip(&expected).map(|(c, e)| (c - e).powi(2) / e).sum();
        assert!(chi_square < 30.7, "{temperature}: {counts:?} {expected:?}");
    }
}

/// One more row of an experiment competes with a new experiment: the dearer experiments are, the fewer there are; costs and
/// rows add up, and the batch is worth what its rows are worth one by one.
#[test]
fn automatic_replicates_weigh_rows_against_experiments() {
    let ensemble = random_ensemble(4, 8, true, 3);
    let designer = Designer {
        strategy: Strategy::GreedyCbed,
        replicates: Replicates::Auto,
        values: Values::Refined,
        batch: 6,
        ..Designer::default()
    };
    let batch_at = |experiment_cost: f64, budget: Option<f64>| {
        let constraints = Constraints { experiment_cost, budget, ..Constraints::range(4, -3.0, 3.0) };
        designer.design(&ensemble, &constraints, Seed::new(1), &()).unwrap()
    };
    let rows = |batch: &Batch| batch.chosen.iter().map(|chosen| chosen.rows).sum::<usize>();
    let (free, dear) = (batch_at(0.0, None), batch_at(1000.0, None));
    assert_eq!((rows(&free), rows(&dear), dear.chosen.len()), (6, 6, 1));
    assert!(free.chosen.len() > 1 && free.information.nats > dear.information.nats, "{:?}", free.chosen);
    assert_eq!(dear.chosen[0].cost, 1006.0);
    assert!((dear.chosen[0].information.nats - dear.information.nats).abs() < 1e-12);
    for (k, chosen) in free.chosen.iter().enumerate() {
        assert!(free.chosen[..k].iter().all(|other| other.design != chosen.design), "together");
    }
    // Two experiments at 3 and four rows, or one and seven: never more than the budget.
    for budget in [4.0, 7.5, 10.0] {
        let batch = batch_at(3.0, Some(budget));
        let cost: f64 = batch.chosen.iter().map(|chosen| 3.0 + chosen.rows as f64).sum();
        assert_eq!(cost, batch.chosen.iter().map(|chosen| chosen.cost).sum::<f64>());
        assert!(cost <= budget && rows(&batch) >= 1);
        assert!(cost + 1.0 > budget || rows(&batch) == 6, "{budget}: one more row could be paid");
    }
    let soft = Designer { strategy: Strategy::SoftCbed, ..designer.clone() };
    let error = soft.design(&ensemble, &Constraints::range(4, 0.0, 1.0), Seed::new(1), &()).unwrap_err();
    assert!(error.to_string().contains("needs a greedy strategy"), "{error}");
}

#[test]
fn batches_may_be_larger_than_the_number_of_variables() {
    let ensemble = random_ensemble(3, 4, true, 5);
    for (_, strategy) in strategies_of_models() {
        for values in [Values::Fixed(1.0), Values::Sample, Values::Grid(vec![-1.0, 1.0]), Values::gp_ucb()] {
            let designer = Designer { strategy, values, batch: 8, samples: 20, ..Designer::default() };
            let batch =
                designer.design(&ensemble, &Constraints::range(3, -4.0, 4.0), Seed::new(2), &()).unwrap();
            assert_eq!(batch.chosen.len(), 8, "{strategy:?}");
            assert!(batch.information.nats.is_finite() && batch.information.nats <= batch.entropy + 0.5);
        }
    }
}

/// do(X2 = 2) answers the larger question; repeating it adds nothing, so the second choice must be another target.
#[test]
fn greedy_takes_earlier_choices_into_account() {
    let constraints = Constraints::range(4, -2.0, 2.0);
    let with = |strategy| {
        let designer = Designer { strategy, batch: 2, values: Values::Fixed(2.0), ..Designer::default() };
        designer.design(&two_questions(), &constraints, Seed::new(1), &()).unwrap()
    };
    let target = |batch: &Batch, k: usize| batch.chosen[k].design.settings()[0].0;
    let greedy = with(Strategy::GreedyCbed);
    assert_eq!((target(&greedy, 0), target(&greedy, 1)), (2, 0));
    assert!((greedy.information.nats - 8f64.ln()).abs() < 1e-6, "{:?}", greedy.information);
    let repeated = with(Strategy::Cbed);
    assert_eq!((target(&repeated, 0), target(&repeated, 1)), (2, 2));
    assert!((repeated.information.nats - 4f64.ln()).abs() < 1e-6);
}

/// ln 4 for X2 against ln 2 for X0: X0 wins once it is cheap enough, and only if costs are given.
#[test]
fn information_is_compared_per_cost() {
    let best = |cost: f64, strategy| {
        let mut constraints = Constraints::range(4, -2.0, 2.0);
        constraints.variables[0].as_mut().unwrap().cost = cost;
        let designer = Designer { strategy, batch: 1, values: Values::Fixed(2.0), ..Designer::default() };
        designer.design(&two_questions(), &constraints, Seed::new(1), &()).unwrap().chosen[0]
            .design
            .settings()[0]
            .0
    };
    for strategy in [Strategy::Cbed, Strategy::GreedyCbed] {
        assert_eq!((best(1.0, strategy), best(0.6, strategy), best(0.4, strategy)), (2, 2, 0));
    }
}

/// Without costs a pair that teaches more than any single is the better design; with a budget it must be affordable.
#[test]
fn pairs_are_chosen_where_they_teach_more() {
    let mut constraints = Constraints::range(4, -2.0, 2.0);
    constraints.max_targets = 2;
    let designer =
        Designer { strategy: Strategy::Cbed, batch: 1, values: Values::Fixed(2.0), ..Designer::default() };
    let batch = designer.design(&two_questions(), &constraints, Seed::new(1), &()).unwrap();
    let targets: Vec<Node> = batch.chosen[0].design.settings().iter().map(|s| s.0).collect();
    assert_eq!(targets, [0, 2]);
    constraints.budget = Some(1.0);
    let batch = designer.design(&two_questions(), &constraints, Seed::new(1), &()).unwrap();
    assert_eq!(batch.chosen[0].design.settings().len(), 1);
    constraints.budget = None;
    let random = Designer { strategy: Strategy::Random, batch: 40, ..designer };
    let batch = random.design(&two_questions(), &constraints, Seed::new(1), &()).unwrap();
    assert!(batch.chosen.iter().any(|chosen| chosen.design.settings().len() == 2));
}

/// AIT compares means in units of the noise within all variables; it prefers the larger spread of means.
#[test]
fn ait_follows_the_discrepancy() {
    // X0 moves X1 by ±2, with noise; X2 moves X3 by up to ±4: both scores are known to order.
    let designer =
        Designer { strategy: Strategy::Ait, batch: 1, values: Values::Fixed(2.0), ..Designer::default() };
    let chosen = |ensemble: &Ensemble| {
        let batch = designer.design(ensemble, &Constraints::range(4, -2.0, 2.0), Seed::new(1), &()).unwrap();
        batch.chosen[0].design.settings()[0].0
    };
    assert_eq!(chosen(&two_questions()), 2);
    // Draws that differ in the noise of X1 alone: much information about X1, no difference of means.
    let noisy = |sd: f64, b: f64| {
        let dag = Dag::from_edges(4, [(0, 1), (2, 3)]).unwrap();
        let linear = |weights: Vec<f64>| Mechanism::Linear(Linear { weights, intercept: 0.0 });
        let mechanisms = vec![linear(vec![]), linear(vec![1.0]), linear(vec![]), linear(vec![b])];
        Scm::new(names(4), dag, mechanisms, vec![0.1, sd, 0.1, 0.1]).unwrap()
    };
    let ensemble =
        Ensemble::uniform(vec![noisy(0.001, 1.0), noisy(10.0, 1.0), noisy(0.001, 1.02), noisy(10.0, 1.02)])
            .unwrap();
    // Setting X1 takes its noise away, which makes the rest of the ratio large, but teaches nothing of that noise.
    assert_eq!(chosen(&ensemble), 1);
    let by_information = Designer { strategy: Strategy::Cbed, ..designer.clone() };
    let batch =
        by_information.design(&ensemble, &Constraints::range(4, -2.0, 2.0), Seed::new(1), &()).unwrap();
    assert_ne!(batch.chosen[0].design.settings()[0].0, 1);
}

#[test]
fn replicates_teach_more_and_sets_of_targets_are_found() {
    let ensemble = random_ensemble(4, 6, true, 8);
    let score = |replicates| {
        Designer { replicates: Replicates::Each(replicates), samples: 500, ..Designer::default() }
            .score(&ensemble, &[single(1, 1.5)], Seed::new(1), &())
            .unwrap()[0]
            .nats
    };
    assert!(score(4) > score(1));
    let mut constraints = Constraints::range(4, -3.0, 3.0);
    constraints.max_targets = 2;
    let designer = Designer { strategy: Strategy::Cbed, batch: 1, ..Designer::default() };
    let batch = designer.design(&ensemble, &constraints, Seed::new(1), &()).unwrap();
    assert!(batch.evaluated.iter().any(|e| e.design.settings().len() == 2));
}

#[test]
fn designs_are_the_same_on_any_number_of_threads_and_in_any_order_of_the_variables() {
    let ensemble = random_ensemble(5, 9, false, 4);
    let reversed = {
        let draws = ensemble.draws().iter().map(|draw| {
            let mut form: Value = serde_json::from_str(&draw.to_json()).unwrap();
            form["names"].as_array_mut().unwrap().reverse();
            Scm::from_json(form.to_string().as_bytes(), "reversed").unwrap()
        });
        Ensemble::new(draws.collect(), ensemble.weights().to_vec()).unwrap()
    };
    for (_, strategy) in strategies_of_models() {
        let designer = Designer { strategy, batch: 4, samples: 30, ..Designer::default() };
        let constraints = Constraints::range(5, -4.0, 4.0);
        let in_pool = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| designer.design(&ensemble, &constraints, Seed::new(6), &()).unwrap())
        };
        let batch = in_pool(1);
        assert_eq!(batch, in_pool(4));
        let other = designer.design(&reversed, &constraints, Seed::new(6), &()).unwrap();
        let by_name = |names: &Names, batch: &Batch| -> Vec<(String, f64)> {
            let settings = batch.chosen.iter().flat_map(|chosen| chosen.design.settings().to_vec());
            settings.map(|(node, value)| (names[node].clone(), value)).collect()
        };
        assert_eq!(by_name(ensemble.names(), &batch), by_name(reversed.names(), &other), "{strategy:?}");
    }
}
