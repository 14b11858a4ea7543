//! The toy posterior: half of all edges, knowledge, threads and columns, stopped and resumed.

use seabed::data::{Dataset, Names};
use seabed::graph::NodeSet;
use seabed::num::random::{Purpose, Seed};
use seabed::observer::Progress;
use seabed::posterior::toy::Toy;
use seabed::posterior::{Fit, FitError, Knowledge, Posterior, Start, State};

fn data() -> Dataset {
    let names: Names = ["A", "B", "C", "D"].map(String::from).into();
    let mut draws = Seed::new(1).stream(Purpose::Noise).draws();
    let columns = (0..4).map(|_| (0..30).map(|_| draws.normal()).collect()).collect();
    let targets = (0..30).map(|row| NodeSet::of(4, (row % 5 == 4).then_some(row % 4))).collect();
    Dataset::new(names, columns, targets).unwrap()
}

fn fit(data: &Dataset, knowledge: &Knowledge, draws: usize) -> Fit {
    let posterior = Posterior::Toy(Toy { draws });
    posterior.fit(data, knowledge, Start::fresh(Seed::new(3)), &()).unwrap()
}

#[test]
fn all_graphs_in_the_order_of_the_names_are_equally_likely() {
    let fit = fit(&data(), &Knowledge::none(4), 6400);
    // 6 edges can be there or not: 64 graphs, 100 times each on average.
    assert_eq!(fit.ensemble.draws().len(), 64);
    let chi_square: f64 =
        fit.ensemble.weights().iter().map(|weight| (6400.0 * weight - 100.0).powi(2) / 100.0).sum();
    // 63 degrees of freedom: a false alarm in 1000 seeds.
    assert!(chi_square < 103.4, "{chi_square}");
}

#[test]
fn knowledge_holds_even_against_the_order_of_the_names() {
    let data = data();
    let knowledge = Knowledge::new(data.names(), &[(0, 1)], &[(3, 0), (1, 2)], &[]).unwrap();
    let probabilities = fit(&data, &knowledge, 200).ensemble.edge_probabilities();
    assert_eq!((probabilities[0][1], probabilities[0][3]), (0.0, 0.0));
    assert_eq!((probabilities[3][0], probabilities[1][2]), (1.0, 1.0));
}

#[test]
fn threads_and_the_order_of_the_columns_do_not_matter() {
    let data = data();
    let none = Knowledge::none(4);
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&data, &none, 50).ensemble.to_json())
    };
    assert_eq!(in_pool(1), in_pool(4));
    let shuffled: Names = ["C", "A", "D", "B"].map(String::from).into();
    let other = fit(&data.reordered(&shuffled).unwrap(), &none, 50).ensemble.edge_probabilities();
    let first = fit(&data, &none, 50).ensemble.edge_probabilities();
    assert_eq!((first[0][1], first[1][2], first[2][3]), (other[1][3], other[3][0], other[0][2]));
}

#[test]
fn a_resumed_fit_equals_an_uninterrupted_one() {
    let data = data();
    let knowledge = Knowledge::none(4);
    let posterior = Posterior::Toy(Toy { draws: 40 });
    let whole = fit(&data, &knowledge, 40);
    let stopped = posterior.fit(&data, &knowledge, Start::fresh(Seed::new(3)), &|_: &Progress<'_>| false);
    let Err(FitError::Stopped(state)) = stopped else { panic!("asked to stop") };
    let saved = State::from_json(&state.to_json()).unwrap();
    assert_eq!(saved, *state);
    let resumed = posterior.fit(&data, &knowledge, Start::Resumed(Box::new(saved)), &()).unwrap();
    assert_eq!(resumed.ensemble, whole.ensemble);
}
