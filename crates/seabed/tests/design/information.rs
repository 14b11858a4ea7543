//! What a design teaches: the estimators against known numbers, closed forms and brute force.

use proptest::prelude::*;
use seabed::design::{
    Allowed, Constraints, Designer, Estimator, Information, Levels, Strategy, discrepancy, information_of,
};
use seabed::graph::{Dag, Node};
use seabed::num::log_sum_exp;
use seabed::num::random::{Purpose, Seed};
use seabed::scm::{Ensemble, Intervention, Linear, Mechanism, Scm};
use serde_json::Value;

use crate::{golden, names, numbers, precise, random_ensemble, single, two_questions};

#[test]
fn estimators_agree_with_the_reference_numbers() {
    for case in golden()["h1"].as_array().unwrap() {
        let draws = case["n_models"].as_u64().unwrap() as usize;
        let tensor = |value: &Value| -> Vec<Vec<Vec<f64>>> {
            let rows = |of_l: &Value| of_l.as_array().unwrap().iter().map(numbers).collect();
            value.as_array().unwrap().iter().map(rows).collect()
        };
        let before = tensor(&case["prev_batch_logpdf"]);
        for (k, design) in case["logpdf"].as_array().unwrap().iter().enumerate() {
            let alone = tensor(design);
            let mut joint = alone.clone();
            for l in 0..draws {
                for i in 0..draws {
                    for s in 0..joint[l][i].len() {
                        joint[l][i][s] += before[l][i][s];
                    }
                }
            }
            let weights = vec![1.0 / draws as f64; draws];
            for (densities, estimator, field) in [
                (&alone, Estimator::Nested, "MI_correct"),
                (&joint, Estimator::Nested, "MI_greedy_correct"),
                (&alone, Estimator::Entropy, "ABCD_score"),
                (&joint, Estimator::Entropy, "ABCD_score_with_prev"),
            ] {
                let got = information_of(densities, &weights, estimator).nats;
                let expected = case[field][k].as_f64().unwrap();
                assert!((got - expected).abs() < 1e-10, "{field}: {got} is not {expected}");
            }
        }
    }
}

/// A density that is not a number is no small one: whoever asks learns that nothing is known.
#[test]
fn a_density_that_is_not_a_number_makes_no_information() {
    for estimator in [Estimator::Nested, Estimator::Bound, Estimator::Entropy] {
        for (l, i) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut densities = vec![vec![vec![-1.0, -2.0]; 2]; 2];
            densities[l][i][1] = f64::NAN;
            let found = information_of(&densities, &[0.5, 0.5], estimator);
            assert!(found.nats.is_nan(), "{estimator:?}, draw {l} of an outcome of {i}: {found:?}");
        }
    }
}

#[test]
fn discrepancies_agree_with_the_reference_numbers() {
    for case in golden()["h2"].as_array().unwrap() {
        // [model][design][sample][node]
        let points = case["datapoints"].as_array().unwrap();
        for (design, expected) in numbers(&case["scores"]).into_iter().enumerate() {
            let moments: Vec<Vec<(f64, f64)>> = points
                .iter()
                .map(|model| {
                    let rows: Vec<Vec<f64>> = model[design].as_array().unwrap().iter().map(numbers).collect();
                    let of_node = |n: usize| {
                        let mean = rows.iter().map(|row| row[n]).sum::<f64>() / rows.len() as f64;
                        (mean, rows.iter().map(|row| (row[n] - mean).powi(2)).sum())
                    };
                    (0..rows[0].len()).map(of_node).collect()
                })
                .collect();
            let weights = vec![1.0 / moments.len() as f64; moments.len()];
            assert!((discrepancy(&moments, &weights) - expected).abs() < 1e-10);
        }
    }
}

fn linear_models(models: &Value, variance: Option<f64>) -> Ensemble {
    let model = |model: &Value| {
        let w: Vec<Vec<f64>> = model["W"].as_array().unwrap().iter().map(numbers).collect();
        let d = w.len();
        let edges = (0..d * d).filter(|k| w[k / d][k % d] != 0.0).map(|k| (k / d, k % d));
        let dag = Dag::from_edges(d, edges).unwrap();
        let weights = |node: Node| dag.parents(node).iter().map(|parent| w[parent][node]).collect();
        let mechanisms =
            (0..d).map(|node| Mechanism::Linear(Linear { weights: weights(node), intercept: 0.0 })).collect();
        let variances = variance.map_or_else(|| numbers(&model["var"]), |variance| vec![variance; d]);
        Scm::new(names(d), dag.clone(), mechanisms, variances.iter().map(|v| v.sqrt()).collect()).unwrap()
    };
    Ensemble::uniform(models.as_array().unwrap().iter().map(model).collect()).unwrap()
}

/// 24 designs at three standard errors of both sides: chance alone exceeds one in 15 runs, so the seed is fixed.
#[test]
fn information_agrees_with_brute_force() {
    let golden = &golden()["h3"];
    let check = |got: Information, expected: &Value, field: &str| {
        let (mi, se) = (expected[field].as_f64().unwrap(), expected["se"].as_f64().unwrap());
        let tolerance = 3.0 * (got.standard_error.powi(2) + se * se).sqrt() + 1e-9;
        assert!(
            (got.nats - mi).abs() < tolerance,
            "{} ± {} is not {mi} ± {se}",
            got.nats,
            got.standard_error
        );
    };
    let designer = precise();
    let design =
        |value: &Value| single(value["target"].as_f64().unwrap() as Node, value["value"].as_f64().unwrap());
    let ensemble = linear_models(&golden["models"], None);
    for expected in golden["designs"].as_array().unwrap() {
        let got = designer.score(&ensemble, &[design(expected)], Seed::new(2), &()).unwrap()[0];
        check(got, expected, "MI");
    }
    for expected in golden["shared_noise_variance_designs"].as_array().unwrap() {
        let ensemble = linear_models(&golden["models"], expected["noise_var"].as_f64());
        let got = designer.score(&ensemble, &[design(expected)], Seed::new(3), &()).unwrap()[0];
        check(got, expected, "MI");
    }
    // Batches of two, constrained to the two designs.
    for expected in golden["batches_of_two"].as_array().unwrap() {
        let pair = [numbers(&expected["first"]), numbers(&expected["second"])];
        let mut constraints = Constraints::range(3, 0.0, 0.0);
        constraints.variables = vec![None; 3];
        for setting in &pair {
            constraints.variables[setting[0] as Node] =
                Some(Allowed { levels: Levels::List(vec![setting[1]]), cost: 1.0 });
        }
        constraints.max_repeats = Some(if pair[0][0] == pair[1][0] { 2 } else { 1 });
        let designer = Designer { strategy: Strategy::GreedyCbed, batch: 2, ..precise() };
        let batch = designer.design(&ensemble, &constraints, Seed::new(4), &()).unwrap();
        check(batch.information, expected, "joint_MI");
    }
}

/// Two models of one effect that differ in its mean only: the information is that of a two-point mixture of normals.
#[test]
fn two_models_have_the_closed_form() {
    let model = |weight: f64| {
        let dag = Dag::from_edges(2, [(0, 1)]).unwrap();
        let root = Mechanism::Linear(Linear { weights: vec![], intercept: 0.0 });
        let effect = Mechanism::Linear(Linear { weights: vec![weight], intercept: 0.0 });
        Scm::new(names(2), dag, vec![root, effect], vec![1.0, 1.0]).unwrap()
    };
    let ensemble = Ensemble::uniform(vec![model(1.0), model(-1.0)]).unwrap();
    for value in [0.0, 0.5, 1.0, 3.0] {
        let got = precise().score(&ensemble, &[single(0, value)], Seed::new(1), &()).unwrap()[0];
        // I = ln 2 - E[ln(1 + exp(-2 v y))], y ~ N(v, 1), by the trapezoid rule.
        let (steps, width) = (4000, 16.0);
        let h = width / f64::from(steps);
        let lost: f64 = (0..=steps)
            .map(|k| {
                let z = -0.5 * width + h * f64::from(k);
                let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
                h * density * (-2.0 * value * (value + z)).exp().ln_1p()
            })
            .sum();
        let expected = 2f64.ln() - lost;
        assert!(
            (got.nats - expected).abs() < 4.0 * got.standard_error + 1e-9,
            "{value}: {} {expected}",
            got.nats
        );
    }
}

/// log p(y | l) of outcomes y of draw i under the design, with nothing shared and nothing cached.
fn plain_information(
    ensemble: &Ensemble,
    design: &Intervention,
    samples: usize,
    seed: Seed,
    round: u64,
) -> f64 {
    let d = ensemble.names().len();
    let stream = seed.stream(Purpose::Design).named("outcomes").at(round).at(0);
    let targets = design.targets(d);
    let mut total = 0.0;
    for (i, draw) in ensemble.draws().iter().enumerate() {
        let outcome = draw.sample(samples, design, stream.at(i as u64));
        let densities: Vec<Vec<f64>> =
            ensemble.draws().iter().map(|l| l.log_density(&outcome, &targets)).collect();
        let value = |k: usize| {
            let all: Vec<f64> =
                densities.iter().zip(ensemble.weights()).map(|(x, w)| x[k] + w.ln()).collect();
            densities[i][k] - log_sum_exp(&all)
        };
        total += ensemble.weights()[i] * (0..samples).map(value).sum::<f64>() / samples as f64;
    }
    total
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_cached_evaluation_equals_the_plain_one(d in 2usize..8, c in 1usize..6, seed: u64, a: prop::sample::Index, b: prop::sample::Index, value in -5.0..5.0f64) {
        let ensemble = random_ensemble(d, c, false, seed);
        // Draws that share mechanisms: the first one again, with one node changed.
        let twin = random_ensemble(d, 1, false, seed ^ 1).draws()[0].clone();
        let draws: Vec<Scm> = ensemble.draws().iter().cloned().chain([ensemble.draws()[0].clone(), twin]).collect();
        let ensemble = Ensemble::uniform(draws).unwrap();
        let designer = Designer { samples: 37, ..Designer::default() };
        let both = Intervention::new([(a.index(d), value)].into_iter().chain((b.index(d) != a.index(d)).then_some((b.index(d), 1.0)))).unwrap();
        for design in [single(a.index(d), value), both] {
            let got = designer.score(&ensemble, std::slice::from_ref(&design), Seed::new(seed), &()).unwrap()[0].nats;
            let expected = plain_information(&ensemble, &design, 37, Seed::new(seed), 0);
            prop_assert!((got - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{got} {expected}");
            // The finished batch is evaluated on its own noise and in another way.
            let got = designer.score_batch(&ensemble, std::slice::from_ref(&design), Seed::new(seed), &()).unwrap().nats;
            let expected = plain_information(&ensemble, &design, 37, Seed::new(seed), 1 << 32);
            prop_assert!((got - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{got} {expected}");
        }
    }

    /// Bounded by 0 and the entropy of the draws, within error; the bound of the appendix is never below; ABCD's form
    /// and the nested estimate agree in expectation.
    #[test]
    fn information_is_bounded(d in 2usize..6, c in 2usize..6, seed: u64, value in -4.0..4.0f64) {
        let ensemble = random_ensemble(d, c, false, seed);
        let with = |estimator| {
            let designer = Designer { samples: 400, estimator, ..Designer::default() };
            designer.score(&ensemble, &[single(0, value)], Seed::new(seed), &()).unwrap()[0]
        };
        let entropy: f64 = -ensemble.weights().iter().map(|w| w * w.ln()).sum::<f64>();
        let nested = with(Estimator::Nested);
        let error = 6.0 * nested.standard_error + 1e-9;
        prop_assert!(nested.nats > -error && nested.nats < entropy + error);
        prop_assert!(with(Estimator::Bound).nats >= nested.nats - 1e-9);
        let abcd = with(Estimator::Entropy);
        prop_assert!(abcd.nats >= -1e-9 && abcd.nats <= entropy + 1e-9);
        prop_assert!((abcd.nats - nested.nats).abs() < 6.0 * (nested.standard_error + abcd.standard_error) + 1e-6);
    }
}

/// The theorem of the paper: the importance-weighted estimate with weights p(y | φ) is the nested one, term by term.
#[test]
fn importance_weights_give_the_nested_estimate() {
    let case = &golden()["h1"][0];
    let draws = case["n_models"].as_u64().unwrap() as usize;
    let densities: Vec<Vec<Vec<f64>>> = case["logpdf"][0]
        .as_array()
        .unwrap()
        .iter()
        .map(|of_l| of_l.as_array().unwrap().iter().map(numbers).collect())
        .collect();
    let samples = densities[0][0].len();
    let prior = 1.0 / draws as f64;
    let mut wis = 0.0;
    for i in 0..draws {
        for s in 0..samples {
            // H(Φ) - H(Φ | y) with p(φ | y) = w(φ) p(φ) / E[w], at the draw that generated y.
            let mean: f64 = (0..draws).map(|l| prior * densities[l][i][s].exp()).sum();
            let posterior = densities[i][i][s].exp() * prior / mean;
            wis += (-prior.ln() + posterior.ln()) / (draws * samples) as f64;
        }
    }
    let nested = information_of(&densities, &vec![prior; draws], Estimator::Nested).nats;
    assert!((wis - nested).abs() < 1e-12, "{wis} {nested}");
}

/// Over 300 seeds the estimates scatter as their standard errors say: the ratio of variances is within 40 %, five
/// standard deviations of a chi-square with 300 degrees of freedom.
#[test]
fn standard_errors_are_calibrated() {
    let draws = random_ensemble(3, 4, true, 6).draws().to_vec();
    let ensemble = Ensemble::new(draws, vec![0.8, 0.1, 0.05, 0.05]).unwrap();
    for samples in [5, 50] {
        let designer = Designer { samples, ..Designer::default() };
        let scores: Vec<Information> = (0..300)
            .map(|seed| designer.score(&ensemble, &[single(0, 1.0)], Seed::new(seed), &()).unwrap()[0])
            .collect();
        let mean = scores.iter().map(|s| s.nats).sum::<f64>() / 300.0;
        let variance = scores.iter().map(|s| (s.nats - mean).powi(2)).sum::<f64>() / 299.0;
        let reported = scores.iter().map(|s| s.standard_error.powi(2)).sum::<f64>() / 300.0;
        assert!((variance / reported - 1.0).abs() < 0.4, "{samples}: {variance} {reported}");
    }
}

/// Nothing can be learned when everything is set, or when there is only one draw.
#[test]
fn designs_without_outcomes_and_certain_beliefs_give_no_information() {
    let ensemble = random_ensemble(3, 5, false, 2);
    let all = Intervention::new((0..3).map(|node| (node, 1.0))).unwrap();
    let got = Designer::default().score(&ensemble, &[all], Seed::new(1), &()).unwrap()[0];
    assert!(got.nats.abs() < 1e-12 && got.standard_error < 1e-12, "{got:?}");
    let certain = Ensemble::uniform(vec![ensemble.draws()[0].clone()]).unwrap();
    let batch =
        Designer::default().design(&certain, &Constraints::range(3, -1.0, 1.0), Seed::new(1), &()).unwrap();
    assert!(batch.information.nats.abs() < 1e-9 && batch.entropy == 0.0);
}

#[test]
fn a_given_batch_is_scored_jointly_and_an_empty_one_is_worth_nothing() {
    let worth = |designs: &[Intervention]| {
        Designer::default().score_batch(&two_questions(), designs, Seed::new(1), &()).unwrap().nats
    };
    assert_eq!(worth(&[]), 0.0);
    assert!((worth(&[single(2, 2.0)]) - 4f64.ln()).abs() < 1e-6);
    assert!((worth(&[single(2, 2.0), single(2, 2.0)]) - 4f64.ln()).abs() < 1e-6);
    assert!((worth(&[single(2, 2.0), single(0, 2.0)]) - 8f64.ln()).abs() < 1e-6);
}
