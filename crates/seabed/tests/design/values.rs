//! Where a target is set: the Gaussian process and the values that are tried.

use seabed::design::{Constraints, Designer, GaussianProcess, Strategy, Values};
use seabed::num::random::Seed;
use seabed::scm::Intervention;

use crate::{golden, numbers, random_ensemble, single};

#[test]
fn the_gaussian_process_agrees_with_the_reference() {
    for case in golden()["i"].as_array().unwrap() {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        for (length, expected) in case["lml_at"].as_object().unwrap() {
            let process = GaussianProcess::new(&x, &y, length.parse().unwrap()).unwrap();
            let expected = expected.as_f64().unwrap();
            assert!((process.log_likelihood() - expected).abs() < 1e-6 * (1.0 + expected.abs()));
        }
        let fixed = GaussianProcess::new(&x, &y, 1.0).unwrap();
        let queries = numbers(&case["x_query"]);
        let (means, sds) = (numbers(&case["fixed_ls1"]["mean"]), numbers(&case["fixed_ls1"]["sd"]));
        for ((&query, mean), sd) in queries.iter().zip(means).zip(sds) {
            let got = fixed.predict(query);
            assert!((got.0 - mean).abs() < 1e-7 && (got.1 - sd).abs() < 1e-6, "{got:?} is not {mean}, {sd}");
        }
        // Any length whose likelihood is as good as the reference's optimum will do.
        let fitted = GaussianProcess::fitted(&x, &y, 1e-5, 1e5).unwrap();
        assert!(fitted.log_likelihood() > case["log_marginal_likelihood"].as_f64().unwrap() - 0.01);
    }
}

/// On a curve seen at three points the likelihood may prefer a length near 0; between sane bounds the process still
/// predicts something everywhere.
#[test]
fn a_length_scale_cannot_collapse() {
    for case in golden()["i"].as_array().unwrap() {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let fitted = GaussianProcess::fitted(&x, &y, 2.0, 40.0).unwrap();
        let bounds: Vec<f64> = (0..200)
            .map(|k| fitted.predict(-10.0 + 0.1 * f64::from(k)))
            .map(|(mean, sd)| mean + 2.5 * sd)
            .collect();
        let largest = bounds.iter().copied().fold(f64::MIN, f64::max);
        let flat = bounds.iter().filter(|bound| largest - **bound < 1e-6).count();
        assert!(flat < 20, "{flat} of 200 points are equally good");
    }
}

#[test]
fn gp_ucb_finds_the_best_value() {
    let (mut reached, mut worst) = (0, 1.0f64);
    for seed in 0..50 {
        let ensemble = random_ensemble(5, 8, false, seed);
        let mut constraints = Constraints::range(5, -10.0, 10.0);
        constraints.variables[1..].fill(None);
        let designer = Designer {
            strategy: Strategy::Cbed,
            batch: 1,
            evaluations: 8,
            samples: 50,
            ..Designer::default()
        };
        let batch = designer.design(&ensemble, &constraints, Seed::new(seed), &()).unwrap();
        let best = batch.evaluated.iter().map(|e| e.information.nats).fold(f64::MIN, f64::max);
        assert!(batch.evaluated.len() <= 8);
        let grid: Vec<Intervention> =
            (0..400).map(|k| single(0, -10.0 + 20.0 * f64::from(k) / 399.0)).collect();
        let curve = designer.score(&ensemble, &grid, Seed::new(seed), &()).unwrap();
        let top = curve.iter().map(|information| information.nats).fold(f64::MIN, f64::max);
        let share = if top > 1e-6 { best / top } else { 1.0 };
        worst = worst.min(share);
        reached += usize::from(share >= 0.98);
    }
    println!("within 2 % of the best in {reached} of 50, worst {worst:.3}");
    assert!(reached >= 48 && worst > 0.9, "within 2 % in {reached} of 50, worst {worst:.3}");
}

#[test]
fn values_are_distinct_and_follow_their_strategy() {
    let ensemble = random_ensemble(3, 4, true, 2);
    let values_of = |values: Values, strategy| {
        let designer =
            Designer { strategy, values, batch: 30, evaluations: 30, samples: 20, ..Designer::default() };
        let batch =
            designer.design(&ensemble, &Constraints::range(3, -50.0, 50.0), Seed::new(3), &()).unwrap();
        batch.chosen.iter().map(|chosen| chosen.design.settings()[0].1).collect::<Vec<f64>>()
    };
    // Four distinct designs per target, none twice before all are used.
    let grid = Designer { values: Values::Grid(vec![1.0, 2.0, 1.0, 2.0]), batch: 6, ..Designer::default() };
    let batch = grid.design(&ensemble, &Constraints::range(3, -5.0, 5.0), Seed::new(3), &()).unwrap();
    assert_eq!(batch.evaluated.len(), 6);
    for (k, chosen) in batch.chosen.iter().enumerate() {
        assert!(batch.chosen[..k].iter().all(|other| other.design != chosen.design));
    }
    for strategy in [Strategy::Random, Strategy::SoftCbed] {
        assert!(values_of(Values::Grid(vec![1.0, 2.0]), strategy).iter().all(|v| [1.0, 2.0].contains(v)));
    }
    // Samples lie around what is observed, here around 0.5 for the roots, never near the bounds.
    let sampled = values_of(Values::Sample, Strategy::Random);
    assert!(sampled.iter().all(|v| v.abs() < 30.0));
    let mean = sampled.iter().sum::<f64>() / 30.0;
    assert!(mean.abs() < 3.0, "{mean}");
}
