//! Markov chains as a whole: the same bytes whatever the threads and the columns' order, knowledge, resuming, scores of
//! an earlier round, units, refusals.

use std::sync::atomic::{AtomicUsize, Ordering};

use seabed::data::Dataset;
use seabed::graph::NodeSet;
use seabed::num::random::{Purpose, Seed};
use seabed::observer::Progress;
use seabed::posterior::mcmc::{EdgePrior, Family, Mcmc, McmcFit, State};
use seabed::posterior::{self, FitError, Knowledge};
use seabed::scm::{Intervention, Mechanism, Scm};
use seabed::world::{GraphKind, MechanismKind, NoiseLevels, Synthetic, World};

fn world(seed: u64) -> Scm {
    let synthetic = Synthetic {
        graph: GraphKind::Er,
        nodes: 5,
        edges_per_node: 1.0,
        mechanism: MechanismKind::Mlp { hidden: 5 },
        noise: NoiseLevels::Equal(0.3),
        standardised: false,
    };
    synthetic.draw(Seed::new(seed)).unwrap()
}

/// Observations and single interventions of a random nonlinear world.
fn toy(seed: u64) -> Dataset {
    let scm = world(seed);
    let stream = Seed::new(seed).stream(Purpose::Noise);
    let mut data = scm.experiment(&Intervention::none(), 30, stream).unwrap();
    for target in 0..3 {
        let set = Intervention::new([(target, 1.5)]).unwrap();
        data.append(&scm.experiment(&set, 4, stream.at(target as u64)).unwrap()).unwrap();
    }
    data
}

const FAMILIES: [Family; 2] = [Family::Linear, Family::GaussianProcess];

fn quick(family: Family) -> Mcmc {
    Mcmc { draws: 20, least_sweeps: 120, most_sweeps: 240, ..Mcmc::of(family) }
}

fn fit(settings: &Mcmc, data: &Dataset, knowledge: &Knowledge) -> McmcFit {
    settings.fit(data, knowledge, Seed::new(3), &()).unwrap()
}

fn bytes(fit: &McmcFit) -> (Vec<u8>, String) {
    (fit.ensemble.to_npz(), serde_json::to_string(&fit.state).unwrap())
}

#[test]
fn the_same_bytes_on_one_and_on_four_threads() {
    let data = toy(1);
    for family in FAMILIES {
        let in_pool = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bytes(&fit(&quick(family), &data, &Knowledge::none(5))))
        };
        assert_eq!(in_pool(1), in_pool(4));
    }
}

#[test]
fn the_order_of_the_columns_does_not_matter() {
    let data = toy(2);
    let shuffled: Vec<String> = [3, 0, 4, 2, 1].map(|k: usize| data.names()[k].clone()).to_vec();
    let other = data.reordered(&shuffled).unwrap();
    for family in FAMILIES {
        let of = |data: &Dataset| fit(&quick(family), data, &Knowledge::none(5));
        let (a, b) = (of(&data), of(&other));
        assert_eq!(a.state, b.state);
        let place = |name: &String| shuffled.iter().position(|other| other == name).unwrap();
        let to: Vec<usize> = data.names().iter().map(place).collect();
        for (i, row) in a.edge_probabilities.iter().enumerate() {
            for (j, p) in row.iter().enumerate() {
                assert_eq!(*p, b.edge_probabilities[to[i]][to[j]]);
            }
        }
        for (a, b) in a.ensemble.draws().iter().zip(b.ensemble.draws()) {
            assert_eq!(a.dag().relabelled(&to), *b.dag());
            let (x, y) = (a.log_density_of_rows(&data), b.log_density_of_rows(&other));
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-9 * x.abs().max(1.0)));
        }
    }
}

#[test]
fn knowledge_is_a_guarantee() {
    let data = toy(3);
    let names = data.names().clone();
    // Forbids what the truth has and requires what it does not have.
    let (from, to) = world(3).dag().edges().next().unwrap();
    let required = (to + 1..to + 5).map(|k| k % 5).find(|&k| k != from && k != to).unwrap();
    let knowledge = Knowledge::new(&names, &[(from, to)], &[(to, required), (required, from)], &[]).unwrap();
    for family in FAMILIES {
        for max_parents in [None, Some(1)] {
            let settings = Mcmc { max_parents, candidates: 2, ..quick(family) };
            let fit = fit(&settings, &data, &knowledge);
            for p in [fit.ensemble.edge_probabilities(), fit.edge_probabilities.clone()] {
                assert_eq!((p[from][to], p[to][required], p[required][from]), (0.0, 1.0, 1.0));
            }
            assert!(fit.ensemble.draws().iter().all(|draw| knowledge.allows(draw.dag())));
        }
    }
}

#[test]
fn no_node_has_more_parents_than_allowed() {
    let data = toy(3);
    for family in FAMILIES {
        let fit = fit(&Mcmc { max_parents: Some(1), ..quick(family) }, &data, &Knowledge::none(5));
        assert!(
            fit.ensemble.draws().iter().all(|draw| (0..5).all(|node| draw.dag().parents(node).len() <= 1))
        );
    }
}

/// Interrupted at every place where it can be: while scores are computed, in the pilot, and later.
#[test]
fn a_resumed_fit_equals_an_uninterrupted_one() {
    let data = toy(4);
    for family in FAMILIES {
        // Checks after 40, 80, … sweeps, and stops before the last of them.
        let settings = Mcmc { least_sweeps: 40, most_sweeps: 1280, draws: 10, ..quick(family) };
        let knowledge = Knowledge::none(5);
        let calls = AtomicUsize::new(0);
        let count = |_: &Progress<'_>| {
            calls.fetch_add(1, Ordering::Relaxed);
            true
        };
        let whole = settings.fit(&data, &knowledge, Seed::new(9), &count).unwrap();
        assert!(whole.diagnostics.sweeps < 1280);
        for stop in (1..=calls.into_inner()).step_by(2) {
            let left = AtomicUsize::new(stop);
            let until = |_: &Progress<'_>| left.fetch_sub(1, Ordering::Relaxed) > 1;
            let interrupted = settings.fit(&data, &knowledge, Seed::new(9), &until);
            let Err(FitError::Stopped(state)) = interrupted else { panic!("asked to stop") };
            let posterior::State::Mcmc(state) = *state else { panic!("a state of chains") };
            let saved: State = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            assert_eq!(saved, state);
            let resumed = Mcmc::resume(saved, &data, &knowledge, &()).unwrap();
            assert_eq!(bytes(&resumed), bytes(&whole));
        }
        let (state, whole_probabilities) = (whole.state, whole.edge_probabilities);
        let refused = |state: State, data: &Dataset, knowledge: &Knowledge, expected: &str| {
            let error = Mcmc::resume(state, data, knowledge, &()).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        refused(state.clone(), &toy(5), &knowledge, "the saved state was made with other data");
        let names = data.names();
        let forbidden = Knowledge::new(names, &[(0, 1)], &[], &[]).unwrap();
        refused(state.clone(), &data, &forbidden, "the saved state was made with other background knowledge");
        let required = Knowledge::new(names, &[], &[(0, 1)], &[]).unwrap();
        refused(state.clone(), &data, &required, "the saved state was made with other background knowledge");
        let saved = serde_json::to_value(&state).unwrap();
        let edited = |place: &str, value: serde_json::Value| -> State {
            let mut saved = saved.clone();
            *saved.pointer_mut(place).unwrap() = value;
            serde_json::from_value(saved).unwrap()
        };
        let cycle = serde_json::json!([[2, 0], [1, 0], [0, 0], [0, 0], [0, 0]]);
        for (place, value) in [
            ("/nodes/0/candidates", serde_json::json!([77])),
            ("/chains", serde_json::json!([saved["chains"][0]])),
            ("/chains/1/path", serde_json::json!([])),
            ("/chains/1/now", cycle),
            ("/temperatures", serde_json::json!([0.0])),
            ("/settings/most_sweeps", serde_json::json!(41)),
        ] {
            refused(edited(place, value), &data, &knowledge, "the saved state is incomplete or was edited");
        }
        // Missing scores are computed again.
        for (place, value) in
            [("/nodes/1/scores", serde_json::json!([])), ("/nodes/1/candidates", serde_json::Value::Null)]
        {
            let resumed = Mcmc::resume(edited(place, value), &data, &knowledge, &()).unwrap();
            assert_eq!(resumed.edge_probabilities, whole_probabilities);
        }
    }
}

/// New rows in which a variable was the target change the scores of all variables but this one.
#[test]
fn scores_of_an_earlier_round_are_kept_where_no_rows_are_new() {
    let data = toy(6);
    let scm = world(6);
    let mut more = data.clone();
    let set = Intervention::new([(1, -1.0), (4, 0.5)]).unwrap();
    more.append(&scm.experiment(&set, 3, Seed::new(1).stream(Purpose::Noise)).unwrap()).unwrap();
    for family in FAMILIES {
        let settings = quick(family);
        let knowledge = Knowledge::none(5);
        let first = fit(&settings, &data, &knowledge);
        let fresh = fit(&settings, &more, &knowledge);
        let from = |state: State| settings.fit_from(state, &more, &knowledge, Seed::new(3), &()).unwrap();
        let kept = from(first.state.clone());
        assert_eq!(kept.ensemble, fresh.ensemble);
        assert_eq!(kept.edge_probabilities, fresh.edge_probabilities);
        // Scores that were changed in between are used as they are for the targets, and recomputed for others.
        for node in 0..5 {
            let mut changed = serde_json::to_value(&first.state).unwrap();
            for set in changed["nodes"][node]["scores"].as_array_mut().unwrap() {
                set[1] = serde_json::json!(-1.0);
            }
            let found = from(serde_json::from_value(changed).unwrap());
            let is_target = node == 1 || node == 4;
            assert_eq!(found.edge_probabilities != fresh.edge_probabilities, is_target, "{family:?} {node}");
        }
    }
}

/// In units that are powers of two apart the same graphs are drawn to the bit, and the models are the same in those
/// units.
#[test]
fn units_do_not_matter() {
    let data = toy(7);
    let columns = data.columns().iter().enumerate();
    let scale = |k: usize| 4f64.powi(k as i32 - 2);
    let scaled: Vec<Vec<f64>> =
        columns.map(|(k, column)| column.iter().map(|x| scale(k) * x).collect()).collect();
    let targets: Vec<NodeSet> = (0..data.rows()).map(|row| data.targets(row).clone()).collect();
    let other = Dataset::new(data.names().clone(), scaled, targets).unwrap();
    for family in FAMILIES {
        let of = |data: &Dataset| fit(&quick(family), data, &Knowledge::none(5));
        let (a, b) = (of(&data), of(&other));
        assert_eq!(a.edge_probabilities, b.edge_probabilities);
        for (x, y) in a.ensemble.draws().iter().zip(b.ensemble.draws()) {
            assert_eq!(x.dag(), y.dag());
            for node in 0..5 {
                assert!((y.noise_sd()[node] / scale(node) / x.noise_sd()[node] - 1.0).abs() < 1e-9);
            }
            let (near, far) = (x.log_density_of_rows(&data), y.log_density_of_rows(&other));
            let volume: f64 = (0..5).map(|k| scale(k).ln()).sum();
            for (row, (near, far)) in near.iter().zip(&far).enumerate() {
                let set: f64 = data.targets(row).iter().map(|k| scale(k).ln()).sum();
                assert!((near - far - volume + set).abs() < 1e-6, "{near} {far}");
            }
        }
    }
}

#[test]
fn mechanisms_are_of_the_family() {
    let data = toy(8);
    let linear = fit(&quick(Family::Linear), &data, &Knowledge::none(5));
    let process = fit(&quick(Family::GaussianProcess), &data, &Knowledge::none(5));
    for (fit, waves) in [(linear, false), (process, true)] {
        for draw in fit.ensemble.draws() {
            for node in 0..5 {
                let expected = waves && !draw.dag().parents(node).is_empty();
                assert_eq!(matches!(draw.mechanism(node), Mechanism::Waves(_)), expected);
            }
        }
    }
}

#[test]
fn one_variable_and_constants_are_fine() {
    let names = |count: usize| (0..count).map(|k| format!("v{k}")).collect();
    let column: Vec<f64> = (0..10).map(|k| f64::from(k * k % 7)).collect();
    let one = Dataset::new(names(1), vec![column.clone()], vec![NodeSet::empty(1); 10]).unwrap();
    let constant =
        Dataset::new(names(3), vec![column.clone(), vec![2.0; 10], column], vec![NodeSet::empty(3); 10])
            .unwrap();
    for family in FAMILIES {
        for data in [&one, &constant] {
            let fit = fit(&quick(family), data, &Knowledge::none(data.variables()));
            assert_eq!(fit.ensemble.draws().len(), 20);
        }
    }
}

#[test]
fn impossible_requests_are_refused_with_a_reason() {
    let data = toy(9);
    let usual = quick(Family::Linear);
    let prior = |probabilities: Vec<(&str, &str, f64)>| EdgePrior::Pairs {
        probabilities: probabilities.into_iter().map(|(a, b, p)| (a.into(), b.into(), p)).collect(),
        edges_per_node: 1.0,
    };
    for (settings, expected) in [
        (Mcmc { draws: 0, ..usual.clone() }, "draws = 0: choose a number from 1 to"),
        (Mcmc { chains: 0, ..usual.clone() }, "chains = 0"),
        (Mcmc { candidates: 21, ..usual.clone() }, "candidates = 21: choose a number from 1 to 20"),
        (Mcmc { max_parents: Some(9), ..usual.clone() }, "max-parents = 9"),
        (Mcmc { most_sweeps: 10, ..usual.clone() }, "sweeps = 10: choose a number from 120 to"),
        (Mcmc { prior_rows: 0.0, ..usual.clone() }, "prior-rows = 0"),
        (Mcmc { prior: EdgePrior::Er { edges_per_node: -1.0 }, ..usual.clone() }, "edges-per-node = -1"),
        (Mcmc { prior: prior(vec![("X1", "Z", 0.5)]), ..usual.clone() }, "\"X1\" -> \"Z\""),
        (
            Mcmc { prior: prior(vec![("X1", "X2", 0.5), ("X1", "X2", 0.1)]), ..usual.clone() },
            "two probabilities for the edge \"X1\" -> \"X2\"",
        ),
        (
            Mcmc { prior: prior(vec![("X1", "X2", 1.0)]), ..usual.clone() },
            "put certain edges into background knowledge",
        ),
    ] {
        let error = settings.fit(&data, &Knowledge::none(5), Seed::new(1), &()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let names = (0..257).map(|k| format!("v{k}")).collect();
    let wide = Dataset::new(names, vec![vec![1.0, 2.0, 4.0]; 257], vec![NodeSet::empty(257); 3]).unwrap();
    let error = usual.fit(&wide, &Knowledge::none(257), Seed::new(1), &()).unwrap_err();
    assert!(error.to_string().contains("257 variables: Markov chains take up to 256"), "{error}");
    let names = (0..30).map(|k| format!("v{k}")).collect();
    let wide = Dataset::new(names, vec![vec![1.0, 2.0, 4.0]; 30], vec![NodeSet::empty(30); 3]).unwrap();
    let many = Mcmc { candidates: 20, max_parents: Some(8), ..usual.clone() };
    let error = many.fit(&wide, &Knowledge::none(30), Seed::new(1), &()).unwrap_err();
    assert!(error.to_string().contains("up to 8 parents give 263950 sets per variable"), "{error}");
    // Equal columns in units in which the prior is negligible.
    let column: Vec<f64> = (0..20).map(|k| 1e12 * f64::from(k * k % 11)).collect();
    let names = (0..2).map(|k| format!("v{k}")).collect();
    let equal = Dataset::new(names, vec![column.clone(), column], vec![NodeSet::empty(2); 20]).unwrap();
    let plain = Mcmc { standardise: false, ..usual.clone() };
    let error = plain.fit(&equal, &Knowledge::none(2), Seed::new(1), &()).unwrap_err();
    assert!(error.to_string().contains("is not a finite number; check the units"), "{error}");
    let targets = (0..data.rows()).map(|row| NodeSet::of(5, (row > 1).then_some(0))).collect();
    let set = Dataset::new(data.names().clone(), data.columns().to_vec(), targets).unwrap();
    let error = usual.fit(&set, &Knowledge::none(5), Seed::new(1), &()).unwrap_err();
    assert!(error.to_string().contains("has only 2 rows without an intervention on it"), "{error}");
}
