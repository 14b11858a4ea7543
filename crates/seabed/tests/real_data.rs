//! Posteriors on data as they come: any unit and offset, rows in any order, tails, doses, constants, drift.

use seabed::data::{Dataset, traps};
use seabed::design::{Belief, Constraints, Designer, Strategy, Values};
use seabed::evaluate::scores;
use seabed::graph::NodeSet;
use seabed::num::random::{Draws, Purpose, Seed};
use seabed::posterior::bootstrap::Bootstrap;
use seabed::posterior::dibs::{self, Dibs};
use seabed::posterior::mcmc::{Family, Mcmc};
use seabed::posterior::{Fit, Knowledge, Posterior, Start};
use seabed::scm::{Intervention, Mechanism, Scm};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};

fn world(nodes: usize, linear: bool, noise: f64, seed: u64) -> Scm {
    let mechanism =
        if linear { MechanismKind::Linear(LinearWeights::UNIFORM) } else { MechanismKind::Mlp { hidden: 5 } };
    let (graph, noise) = (GraphKind::Er, NoiseLevels::Equal(noise));
    let synthetic = Synthetic { graph, nodes, edges_per_node: 1.0, mechanism, noise, standardised: false };
    synthetic.draw(Seed::new(seed)).unwrap()
}

/// Observations, and rows in which one variable after the other is set.
fn toy(scm: &Scm, observed: usize, set: usize, value: f64, seed: u64) -> Dataset {
    let stream = Seed::new(seed).stream(Purpose::Noise);
    let mut data = scm.experiment(&Intervention::none(), observed, stream).unwrap();
    for row in 0..set {
        let value = if row % 2 == 0 { value } else { -value };
        let one = Intervention::new([(row % data.variables(), value)]).unwrap();
        data.append(&scm.experiment(&one, 1, stream.at(row as u64)).unwrap()).unwrap();
    }
    data
}

fn quick(family: Family) -> Posterior {
    Posterior::Mcmc(Mcmc { draws: 40, least_sweeps: 100, most_sweeps: 200, ..Mcmc::of(family) })
}

fn fit(posterior: &Posterior, data: &Dataset) -> Fit {
    posterior.fit(data, &Knowledge::none(data.variables()), Start::fresh(Seed::new(5)), &()).unwrap()
}

/// The largest difference between the probabilities of an edge.
fn apart(a: &Fit, b: &Fit) -> f64 {
    let (a, b) = (a.ensemble.edge_probabilities(), b.ensemble.edge_probabilities());
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The rows with every value changed, and in another order.
fn changed(data: &Dataset, order: &[usize], value: impl Fn(usize, f64) -> f64) -> Dataset {
    let column = |k: usize| order.iter().map(|&row| value(k, data.column(k)[row])).collect();
    let targets: Vec<NodeSet> = order.iter().map(|&row| data.targets(row).clone()).collect();
    Dataset::new(data.names().clone(), (0..data.variables()).map(column).collect(), targets).unwrap()
}

fn shuffled(rows: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    Seed::new(seed).stream(Purpose::Noise).draws().shuffle(&mut order);
    order
}

fn all_posteriors() -> [Posterior; 4] {
    let dibs =
        Dibs { steps: 60, particles: 6, family: dibs::Family::Linear { intercept: true }, ..Dibs::default() };
    [
        quick(Family::Linear),
        quick(Family::GaussianProcess),
        Posterior::Bootstrap(Bootstrap { draws: 20, ..Bootstrap::default() }),
        Posterior::Dibs(Dibs { standardise: true, ..dibs }),
    ]
}

/// Every column in a unit of its own, from 1e-100 to 1e100 of the first one.
#[test]
fn units_never_matter() {
    let raw = toy(&world(4, false, 0.3, 3), 40, 12, 1.5, 3);
    let order: Vec<usize> = (0..raw.rows()).collect();
    // All values below 1, so that 1e100 of them can be carried.
    let data = changed(&raw, &order, |_, x| x / 100.0);
    for posterior in all_posteriors() {
        let plain = fit(&posterior, &data);
        for powers in [[-12; 4], [-100, 100, 3, -7], [100; 4], [-100; 4]] {
            let unit = |k: usize| 10f64.powi(powers[k]);
            let other = fit(&posterior, &changed(&data, &order, |k, x| x * unit(k)));
            assert!(apart(&plain, &other) < 1e-6, "{posterior:?} {powers:?}");
            for (a, b) in plain.ensemble.draws().iter().zip(other.ensemble.draws()) {
                for node in 0..4 {
                    let ratio = b.noise_sd()[node] / a.noise_sd()[node] / unit(node);
                    assert!((ratio - 1.0).abs() < 1e-3, "{posterior:?} {powers:?}: noise of {node} {ratio}");
                }
            }
        }
    }
}

/// Columns a million spreads away from 0: one digit in 1e10 of the spread is rounded away.
#[test]
fn offsets_never_matter() {
    for (observed, set) in [(40, 12), (320, 12)] {
        let data = toy(&world(4, false, 0.3, 4), observed, set, 1.5, 4);
        let order: Vec<usize> = (0..data.rows()).collect();
        for posterior in all_posteriors() {
            let plain = fit(&posterior, &data);
            for (offset, unit) in [(1e6, 1.0), (-3e7, 1.0), (1e6, 1e-100), (1e6, 1e90)] {
                let other = fit(&posterior, &changed(&data, &order, |_, x| (x + offset) * unit));
                assert!(apart(&plain, &other) < 1e-6, "{posterior:?} {observed} {offset} {unit}");
            }
        }
    }
}

#[test]
fn designs_scale_with_the_units() {
    let data = toy(&world(3, false, 0.3, 6), 30, 6, 1.5, 6);
    let order: Vec<usize> = (0..data.rows()).collect();
    let units = [1e-30, 1e12, 1e30];
    let scaled = changed(&data, &order, |k, x| x * units[k]);
    for (strategy, values) in
        [(Strategy::GreedyEdges, Values::Refined), (Strategy::GreedyCbed, Values::gp_ucb())]
    {
        let designer = Designer { strategy, values, batch: 2, samples: 40, ..Designer::default() };
        let batch = |data: &Dataset| {
            let fit = fit(&quick(Family::GaussianProcess), data);
            let belief = Belief { models: &fit.ensemble, graphs: fit.graphs.as_ref() };
            designer.design(belief, &Constraints::observed(data), Seed::new(2), &()).unwrap()
        };
        let (a, b) = (batch(&data), batch(&scaled));
        for (a, b) in a.chosen.iter().zip(&b.chosen) {
            let (x, y) = (a.design.settings(), b.design.settings());
            assert_eq!(x.len(), y.len());
            for (&(i, x), &(j, y)) in x.iter().zip(y) {
                assert!(i == j && (y / units[i] - x).abs() < 1e-6 * (1.0 + x.abs()), "{x} {y}");
            }
            assert!((a.gain - b.gain).abs() < 1e-6, "{} {}", a.gain, b.gain);
        }
    }
}

#[test]
fn values_that_cannot_be_carried_are_named() {
    let data = toy(&world(3, false, 0.3, 6), 30, 0, 0.0, 6);
    let order: Vec<usize> = (0..data.rows()).collect();
    let huge = changed(&data, &order, |k, x| if k == 1 { x * 1e160 } else { x });
    for posterior in [
        quick(Family::Linear),
        quick(Family::GaussianProcess),
        Posterior::Bootstrap(Bootstrap::default()),
        Posterior::Dibs(Dibs::default()),
    ] {
        let start = Start::fresh(Seed::new(1));
        let error = posterior.fit(&huge, &Knowledge::none(3), start, &()).unwrap_err().to_string();
        assert!(error.contains("is too large to compute with"), "{error}");
    }
    let tiny = changed(&data, &order, |k, x| if k == 1 { x * 1e-160 } else { x });
    let remarks = quick(Family::GaussianProcess).remarks(&tiny);
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(remarks[0].contains("does not vary measurably"), "{remarks:?}");
}

/// Also with more rows than are looked at pair by pair.
#[test]
fn the_order_of_the_rows_never_matters() {
    for (observed, set) in [(40, 12), (360, 40)] {
        let data = toy(&world(3, false, 0.3, 8), observed, set, 1.5, 8);
        let order = shuffled(data.rows(), 1);
        for posterior in all_posteriors() {
            let [a, b] = [&data, &changed(&data, &order, |_, x| x)].map(|data| fit(&posterior, data));
            // DiBS adds up the rows as they come, which rounding shows.
            if matches!(posterior, Posterior::Dibs(_)) {
                assert!(apart(&a, &b) < 1e-6);
            } else {
                assert_eq!(a.ensemble, b.ensemble);
            }
        }
    }
}

/// A causes B, C is independent, and rows without an experiment alternate with rows in which A is set: C has no part in it.
#[test]
fn regimes_that_alternate_are_all_seen() {
    for seed in 0..3 {
        let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
        let mut columns = vec![Vec::new(); 3];
        let mut targets = Vec::new();
        for row in 0..600 {
            let set = row % 2 == 1;
            let a = if set { 4.0 * draws.uniform() - 2.0 } else { draws.normal() };
            let (b, c) = ((1.5 * a).sin() + 0.3 * draws.normal(), draws.normal());
            columns.iter_mut().zip([a, b, c]).for_each(|(column, x)| column.push(x));
            targets.push(NodeSet::of(3, set.then_some(0)));
        }
        let names = ["A", "B", "C"].map(String::from).to_vec().into();
        let data = Dataset::new(names, columns, targets).unwrap();
        let p = fit(&quick(Family::GaussianProcess), &data).ensemble.edge_probabilities();
        assert!(p[0][1] > 0.95, "{p:?}");
        assert!(p[2][1] < 0.3 && p[2][0] < 0.3 && p[0][2] < 0.3 && p[1][2] < 0.3, "{p:?}");
    }
}

/// Columns of 200 independent rows.
fn independent(columns: usize, seed: u64, value: impl Fn(&mut Draws) -> f64) -> Dataset {
    let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
    let column = |_| (0..200).map(|_| value(&mut draws)).collect();
    let names = (0..columns).map(|k| format!("X{k}")).collect();
    let columns: Vec<Vec<f64>> = (0..columns).map(column).collect();
    let none = NodeSet::empty(columns.len());
    Dataset::with_regime(names, columns, none).unwrap()
}

type Shape = (&'static str, fn(&mut Draws) -> f64);

/// What the bench `real_data -- independent` measures on a hundred sets each, on two.
#[test]
fn nothing_is_certain_about_independent_columns_with_tails() {
    let shapes: [Shape; 3] = [
        ("lognormal", |draws| (1.5 * draws.normal()).exp()),
        ("t3", |draws| {
            let squares: f64 = (0..3).map(|_| draws.normal().powi(2)).sum();
            draws.normal() / (squares / 3.0).sqrt()
        }),
        ("counts", |draws| (2.0 * draws.normal().exp()).floor()),
    ];
    for (name, shape) in shapes {
        for seed in 1000..1002 {
            let data = independent(5, seed, shape);
            let p = fit(&quick(Family::GaussianProcess), &data).ensemble.edge_probabilities();
            let most = p.iter().flatten().copied().fold(0.0, f64::max);
            assert!(most < 0.9, "{name} {seed}: {most}");
        }
    }
}

#[test]
fn random_walks_are_told_from_causes() {
    let mut draws = Seed::new(1).stream(Purpose::Noise).draws();
    let mut walk = || -> Vec<f64> {
        let mut at = 0.0;
        (0..200)
            .map(|_| {
                at += draws.normal();
                at
            })
            .collect()
    };
    let names = ["a", "b", "c", "d"].map(String::from).to_vec().into();
    let data = Dataset::with_regime(names, (0..4).map(|_| walk()).collect(), NodeSet::empty(4)).unwrap();
    let warnings = traps(&data);
    assert!(
        warnings.iter().any(|line| line.contains("neighbouring rows resemble each other")),
        "{warnings:?}"
    );
}

/// A dose that is set in every row is a cause and has none; a constant has no edges at all.
#[test]
fn doses_are_causes_and_constants_are_nothing() {
    let mut draws = Seed::new(3).stream(Purpose::Noise).draws();
    let mut columns = vec![Vec::new(); 4];
    for row in 0..60 {
        let dose = f64::from(row % 5);
        let response = 0.6 * dose + 0.2 * draws.normal();
        let later = 0.9 * response + 0.2 * draws.normal();
        columns.iter_mut().zip([dose, response, later, 7.0]).for_each(|(column, x)| column.push(x));
    }
    let names = ["dose", "response", "later", "constant"].map(String::from).to_vec().into();
    let data = Dataset::with_regime(names, columns, NodeSet::of(4, [0])).unwrap();
    for family in [Family::Linear, Family::GaussianProcess] {
        let posterior = quick(family);
        let fit = fit(&posterior, &data);
        let p = fit.ensemble.edge_probabilities();
        assert!(p[0][1] > 0.9, "{p:?}");
        assert!((0..4).all(|k| p[k][0] == 0.0 && p[k][3] == 0.0 && p[3][k] == 0.0), "{p:?}");
        for draw in fit.ensemble.draws() {
            let Mechanism::Linear(linear) = draw.mechanism(0) else { panic!("a dose has no function") };
            assert!((linear.intercept - 2.0).abs() < 1e-9 && (draw.noise_sd()[0] - 2f64.sqrt()).abs() < 1e-9);
        }
        let graphs = fit.graphs.expect("laws of all nodes");
        assert!(graphs.weights().iter().sum::<f64>() > 0.999);
        assert_eq!(
            posterior.remarks(&data),
            [
                "\"dose\" was set in every row: it may be a cause, and gets no causes itself",
                "\"constant\" does not vary measurably: it gets no edges"
            ]
        );
    }
}

/// Linear worlds with noise 0.1 in which single variables are set to up to ±10, or to ten million times that: `mcmc-gp` is no
/// further from the truth than the bootstrap, up to half an edge.
#[test]
fn strong_signals_are_no_harder_than_weak_ones() {
    for (seed, size) in [(1000, 10.0), (1001, 1e7)] {
        let scm = world(4, true, 0.1, seed);
        let data = toy(&scm, 40, 24, size, seed);
        let bootstrap = Posterior::Bootstrap(Bootstrap { draws: 20, ..Bootstrap::default() });
        let [ours, theirs] = [quick(Family::GaussianProcess), bootstrap]
            .map(|posterior| scores(&fit(&posterior, &data).ensemble, scm.dag()).eshd);
        assert!(ours < theirs + 0.5, "{seed}: {ours} {theirs}");
    }
}
