//! DiBS as a whole: the same bytes whatever the threads and the columns' order, knowledge, resuming, units, exactness.

use std::sync::atomic::{AtomicU64, Ordering};

use seabed::data::{Dataset, Names};
use seabed::graph::NodeSet;
use seabed::num::random::{Purpose, Seed};
use seabed::observer::Progress;
use seabed::posterior::dibs::{Dibs, DibsFit, End, Estimator, Family, GraphPrior, Noise, State, Weighting};
use seabed::posterior::{self, FitError, Knowledge, StateMismatch, UnusableData};
use seabed::scm::{Intervention, Scm};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};

fn world(nodes: usize, mechanism: MechanismKind, seed: u64) -> Scm {
    let synthetic = Synthetic {
        graph: GraphKind::Er,
        nodes,
        edges_per_node: 1.0,
        mechanism,
        noise: NoiseLevels::Equal(0.3),
        standardised: false,
    };
    synthetic.draw(Seed::new(seed)).unwrap()
}

/// Observations and single interventions of a random nonlinear world.
fn toy(seed: u64) -> Dataset {
    let scm = world(5, MechanismKind::Mlp { hidden: 5 }, seed);
    let stream = Seed::new(seed).stream(Purpose::Noise);
    let mut data = scm.experiment(&Intervention::none(), 40, stream).unwrap();
    for target in 0..3 {
        let set = Intervention::new([(target, 1.5)]).unwrap();
        data.append(&scm.experiment(&set, 5, stream.at(target as u64)).unwrap()).unwrap();
    }
    data
}

fn quick(family: Family) -> Dibs {
    Dibs { family, particles: 5, steps: 120, samples: 8, acyclicity_samples: 2, ..Dibs::default() }
}

const FAMILIES: [Family; 3] =
    [Family::Nonlinear { hidden: 5 }, Family::Linear { intercept: true }, Family::Bge];

fn bytes(settings: &Dibs, data: &Dataset) -> (String, String) {
    let fit = settings.fit(data, &Knowledge::none(5), Seed::new(3), &()).unwrap();
    (fit.ensemble.to_json(), serde_json::to_string(&fit.state).unwrap())
}

#[test]
fn the_same_bytes_on_one_and_on_four_threads() {
    let data = toy(1);
    for family in FAMILIES {
        for estimator in [Estimator::Columns, Estimator::Joint] {
            let settings = Dibs { estimator, ..quick(family) };
            let in_pool = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| bytes(&settings, &data))
            };
            assert_eq!(in_pool(1), in_pool(4));
        }
    }
}

#[test]
fn the_order_of_the_columns_does_not_matter() {
    let data = toy(2);
    let shuffled: Vec<String> = [3, 0, 4, 2, 1].map(|k: usize| data.names()[k].clone()).to_vec();
    let other = data.reordered(&shuffled).unwrap();
    for family in FAMILIES {
        let of = |data: &Dataset| quick(family).fit(data, &Knowledge::none(5), Seed::new(3), &()).unwrap();
        let (a, b) = (of(&data), of(&other));
        assert_eq!(a.state, b.state);
        for (a, b) in a.ensemble.draws().iter().zip(b.ensemble.draws()) {
            let place = |name: &String| shuffled.iter().position(|other| other == name).unwrap();
            let to: Vec<usize> = data.names().iter().map(place).collect();
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
    let truth = world(5, MechanismKind::Mlp { hidden: 5 }, 3);
    let (from, to) = truth.dag().edges().next().unwrap();
    let required = (to + 1..to + 5).map(|k| k % 5).find(|&k| k != from && k != to).unwrap();
    let knowledge = Knowledge::new(&names, &[(from, to)], &[(to, required), (required, from)], &[]).unwrap();
    for family in FAMILIES {
        for steps in [1, 120] {
            let settings = Dibs { steps, ..quick(family) };
            let fit = settings.fit(&data, &knowledge, Seed::new(1), &()).unwrap();
            let p = fit.ensemble.edge_probabilities();
            assert_eq!((p[from][to], p[to][required], p[required][from]), (0.0, 1.0, 1.0));
            assert!(fit.ensemble.draws().iter().all(|draw| knowledge.allows(draw.dag())));
        }
    }
}

/// Where a fit stood when it was asked to stop.
fn stopped_at(fit: Result<DibsFit, FitError>) -> State {
    match fit {
        Err(FitError::Stopped(state)) => match *state {
            posterior::State::Dibs(state) => state,
            other => panic!("a state of particles, not {other:?}"),
        },
        other => panic!("asked to stop: {other:?}"),
    }
}

#[test]
fn a_resumed_fit_equals_an_uninterrupted_one() {
    let data = toy(4);
    for family in FAMILIES {
        let settings = quick(family);
        let whole = settings.fit(&data, &Knowledge::none(5), Seed::new(9), &()).unwrap();
        assert_eq!(whole.end, End::Steps);
        let until = |progress: &Progress<'_>| progress.done < 67;
        let part = stopped_at(settings.fit(&data, &Knowledge::none(5), Seed::new(9), &until));
        assert_eq!(part.steps_left(), 53);
        let saved: State = serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap();
        assert_eq!(saved, part);
        let resumed = Dibs::resume(saved.clone(), &data, &Knowledge::none(5), &()).unwrap();
        assert_eq!(resumed.state, whole.state);
        assert_eq!(resumed.ensemble, whole.ensemble);
        // It cannot be resumed with other data or settings.
        let other = Dibs { particles: 4, ..settings.clone() };
        let error = other.fit_from(saved, &data, &Knowledge::none(5), &()).unwrap_err();
        assert_eq!(error, StateMismatch::Settings("another number of particles").into());
    }
}

#[test]
fn a_warm_start_keeps_the_graph() {
    let data = toy(5);
    let settings = Dibs { steps: 600, ..quick(Family::Linear { intercept: true }) };
    let fit = settings.fit(&data, &Knowledge::none(5), Seed::new(2), &()).unwrap();
    let again = Dibs { steps: 60, ..settings };
    let warm = again.fit_from(fit.state.clone(), &data, &Knowledge::none(5), &()).unwrap();
    let (p, q) = (fit.ensemble.edge_probabilities(), warm.ensemble.edge_probabilities());
    let moved: f64 = p.concat().iter().zip(q.concat()).map(|(p, q)| (p - q).abs()).sum::<f64>() / 20.0;
    assert!(moved < 0.05, "edges moved by {moved} on the same data");
    assert_eq!(warm.state.steps_left(), 0);
}

/// Standardised inside or not, the model is in the data's units: residuals have the size of the noise it claims.
#[test]
fn results_are_in_the_units_of_the_data() {
    let names: Names = ["a", "b"].map(String::from).into();
    let mut noise = Seed::new(1).stream(Purpose::Noise).draws();
    let a: Vec<f64> = (0..200).map(|_| 1000.0 + 50.0 * noise.normal()).collect();
    let b: Vec<f64> = a.iter().map(|a| -3.0 - 0.02 * a + 0.1 * noise.normal()).collect();
    let data = Dataset::new(names.clone(), vec![a, b], vec![NodeSet::empty(2); 200]).unwrap();
    let knowledge = Knowledge::new(&names, &[], &[(0, 1)], &[]).unwrap();
    for family in FAMILIES {
        let settings = Dibs { steps: 1500, particles: 3, family, ..Dibs::default() };
        let fit = settings.fit(&data, &knowledge, Seed::new(1), &()).unwrap();
        for draw in fit.ensemble.draws() {
            let mut means = vec![0.0; 200];
            draw.means(1, data.columns(), &mut means);
            let squares: f64 = means.iter().zip(data.column(1)).map(|(m, x)| (x - m).powi(2)).sum();
            let sd = (squares / 200.0).sqrt();
            // The first mechanism of a root is a constant near 1000, with noise near 50.
            draw.means(0, data.columns(), &mut means);
            assert!((means[0] - 1000.0).abs() < 20.0 && (draw.noise_sd()[0] / 50.0).ln().abs() < 0.3);
            assert!((0.08..0.2).contains(&sd), "{family:?}: residuals {sd}");
            assert!((draw.noise_sd()[1] / sd).ln().abs() < 0.3, "{family:?}: {} {sd}", draw.noise_sd()[1]);
        }
    }
}

#[test]
fn impossible_settings_are_refused() {
    let data = toy(1);
    let refused =
        |settings: Dibs| settings.fit(&data, &Knowledge::none(5), Seed::new(1), &()).unwrap_err().to_string();
    let fine = quick(Family::Bge);
    assert!(refused(Dibs { particles: 0, ..fine.clone() }).contains("particles = 0"));
    assert!(refused(Dibs { steps: 0, ..fine.clone() }).contains("steps = 0"));
    assert!(
        refused(Dibs { acyclicity_samples: 9, ..fine.clone() })
            .contains("acyclicity-samples = 9: choose a number from 1 to 8")
    );
    assert!(refused(Dibs { noise: Noise::Known(0.0), ..fine.clone() }).contains("noise = 0"));
    let prior = GraphPrior::Er { edges_per_node: f64::NAN };
    assert!(refused(Dibs { prior, ..fine.clone() }).contains("NaN"));
    let huge: Vec<Vec<f64>> = data.columns().iter().map(|x| x.iter().map(|x| x * 1e30).collect()).collect();
    let huge = Dataset::new(data.names().clone(), huge, vec![NodeSet::empty(5); data.rows()]).unwrap();
    let raw = Dibs { standardise: false, noise: Noise::Known(0.1), ..quick(Family::Nonlinear { hidden: 5 }) };
    let error = raw.fit(&huge, &Knowledge::none(5), Seed::new(1), &()).unwrap_err();
    assert!(matches!(error, FitError::Data(UnusableData::StepNotFinite { .. })), "{error}");
}

#[test]
fn linear_weights_are_found() {
    let scm = world(4, MechanismKind::Linear(LinearWeights::Normal), 8);
    let data = scm.experiment(&Intervention::none(), 200, Seed::new(1).stream(Purpose::Noise)).unwrap();
    let edges: Vec<_> = scm.dag().edges().collect();
    let knowledge = Knowledge::new(data.names(), &[], &edges, &[]).unwrap();
    let settings = Dibs {
        family: Family::Linear { intercept: true },
        noise: Noise::Known(0.3),
        standardise: false,
        particles: 2,
        weighting: Weighting::LogJoint,
        ..Dibs::default()
    };
    let fit = settings.fit(&data, &knowledge, Seed::new(1), &()).unwrap();
    let weights: f64 = fit.ensemble.weights().iter().sum();
    assert!((weights - 1.0).abs() < 1e-12);
    for draw in fit.ensemble.draws() {
        // The last steps grow shorter, so that parameters settle. At the best ones the log-density is above
        // that of the truth; a draw from their posterior is below them by half a nat for each of six, 0.015 per row.
        let mean = |scm: &Scm| scm.log_density_of_rows(&data).iter().sum::<f64>() / 200.0;
        println!("{} nats a row above the truth", mean(draw) - mean(&scm));
        assert!(mean(draw) > mean(&scm) - 0.015, "{} against {}", mean(draw), mean(&scm));
    }
}

/// A chain of linear mechanisms with clear effects.
fn easy() -> Dataset {
    let mut noise = Seed::new(7).stream(Purpose::Noise).draws();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for j in 0..3 {
        let own: Vec<f64> = (0..100).map(|_| noise.normal()).collect();
        columns.push(match j {
            0 => own,
            _ => columns[j - 1].iter().zip(own).map(|(x, e)| 0.9 * x + e).collect(),
        });
    }
    let names = (0..3).map(|k| format!("X{k}")).collect();
    Dataset::new(names, columns, vec![NodeSet::empty(3); 100]).unwrap()
}

#[test]
fn a_fit_at_rest_stops_by_itself() {
    let (data, none) = (easy(), Knowledge::none(3));
    let settings = Dibs { family: Family::Linear { intercept: true }, particles: 10, ..Dibs::default() };
    let all = Dibs { stop_early: false, ..settings.clone() };
    let stopped = settings.fit(&data, &none, Seed::new(1), &()).unwrap();
    let whole = all.fit(&data, &none, Seed::new(1), &()).unwrap();
    println!("ended after {} steps", stopped.state.steps_taken());
    assert_eq!((stopped.end, whole.end), (End::Quiet, End::Steps));
    // Four windows of 250 steps are compared, and then the steps grow shorter.
    assert!((1300..=2000).contains(&stopped.state.steps_taken()));
    let (p, q) = (stopped.ensemble.edge_probabilities(), whole.ensemble.edge_probabilities());
    let apart = p.concat().iter().zip(q.concat()).map(|(p, q)| (p - q).abs()).sum::<f64>() / 6.0;
    let last = |fit: &DibsFit| fit.state.history.last().unwrap().log_joint;
    println!("edges apart {apart}, log joint {} against {}", last(&stopped), last(&whole));
    assert!(apart < 0.05, "{apart}");
    assert!((last(&stopped) - last(&whole)).abs() < 2.0, "{} against {}", last(&stopped), last(&whole));
    // Interrupted before or after the decision, it ends the same way.
    for at in [777, stopped.state.steps_taken() - 100] {
        let steps = AtomicU64::new(0);
        let until = |_: &Progress<'_>| steps.fetch_add(1, Ordering::Relaxed) + 1 < at;
        let part = stopped_at(settings.fit(&data, &none, Seed::new(1), &until));
        let saved: State = serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap();
        let resumed = Dibs::resume(saved, &data, &none, &()).unwrap();
        assert_eq!((resumed.end, resumed.state), (End::Quiet, stopped.state.clone()));
    }
}

/// In these units parameters have a long way to go: 1000 steps take them some 5 of theirs.
#[test]
fn a_fit_that_still_improves_does_not_stop() {
    let scm = world(4, MechanismKind::Linear(LinearWeights::Normal), 8);
    let data = scm.experiment(&Intervention::none(), 200, Seed::new(1).stream(Purpose::Noise)).unwrap();
    let family = Family::Linear { intercept: true };
    let noise = Noise::Known(0.3);
    let settings = Dibs { family, noise, standardise: false, particles: 2, steps: 1500, ..Dibs::default() };
    let edges: Vec<_> = scm.dag().edges().collect();
    let knowledge = Knowledge::new(data.names(), &[], &edges, &[]).unwrap();
    let fit = settings.fit(&data, &knowledge, Seed::new(1), &()).unwrap();
    assert_eq!(fit.end, End::Steps);
    // No cycles and no open edges: only the log joint shows it.
    let history = &fit.state.history;
    assert!(history[20..].iter().all(|measured| measured.cyclic == 0.0 && measured.undecided < 0.1));
    assert!(history[26].log_joint - history[19].log_joint > 1000.0);
}
