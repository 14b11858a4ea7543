//! The checks after a fit: each fires on data made to break its assumption, all together stay quiet on clean data.

use seabed::checks::{Finding, Kind, check};
use seabed::data::Dataset;
use seabed::graph::NodeSet;
use seabed::num::random::{Draws, Purpose, Seed};
use seabed::posterior::Knowledge;
use seabed::posterior::bootstrap::Bootstrap;
use seabed::posterior::mcmc::{Family, Mcmc};
use seabed::scm::{Ensemble, Intervention};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};

fn draws(seed: u64) -> Draws {
    Seed::new(seed).stream(Purpose::Noise).named("checks").draws()
}

/// A world and its data: observations, then `set` rows with single interventions.
fn world(linear: bool, nodes: usize, observed: usize, set: usize, seed: u64) -> Dataset {
    let mechanism =
        if linear { MechanismKind::Linear(LinearWeights::UNIFORM) } else { MechanismKind::Mlp { hidden: 5 } };
    let world = Synthetic {
        graph: GraphKind::Er,
        nodes,
        edges_per_node: 1.0,
        mechanism,
        noise: NoiseLevels::Equal(0.5),
        standardised: false,
    };
    let scm = world.draw(Seed::new(seed)).unwrap();
    let stream = Seed::new(seed).stream(Purpose::Noise);
    let mut data = scm.experiment(&Intervention::none(), observed, stream).unwrap();
    let columns = data.columns().to_vec();
    let mut random = draws(seed);
    for row in 0..set {
        // Two targets only, so that each is set often enough to be compared.
        let target = random.below(2);
        let spread = columns[target].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let value = spread * (2.0 * random.uniform() - 1.0);
        let intervention = Intervention::new([(target, value)]).unwrap();
        data.append(&scm.experiment(&intervention, 1, stream.at(row as u64)).unwrap()).unwrap();
    }
    data
}

fn table(columns: Vec<Vec<f64>>, targets: Vec<Option<usize>>) -> Dataset {
    let d = columns.len();
    let names = ["A", "B", "C", "D", "E"][..d].iter().map(ToString::to_string).collect();
    let sets = targets.into_iter().map(|target| NodeSet::of(d, target)).collect();
    Dataset::new(names, columns, sets).unwrap()
}

fn observed(columns: Vec<Vec<f64>>) -> Dataset {
    let rows = columns[0].len();
    table(columns, vec![None; rows])
}

fn resampled(data: &Dataset) -> Ensemble {
    let bootstrap = Bootstrap { draws: 16, ..Bootstrap::default() };
    bootstrap.fit(data, &Knowledge::none(data.variables()), Seed::new(1), &()).unwrap().ensemble
}

fn chains(family: Family, data: &Dataset) -> Ensemble {
    Mcmc::of(family).fit(data, &Knowledge::none(data.variables()), Seed::new(1), &()).unwrap().ensemble
}

fn found(data: &Dataset, ensemble: &Ensemble) -> Vec<Finding> {
    check(data, ensemble, &()).unwrap()
}

#[track_caller]
fn expect(data: &Dataset, ensemble: &Ensemble, kind: Kind, variables: &[&str]) -> Finding {
    let all = found(data, ensemble);
    let one = all.iter().find(|finding| finding.kind == kind && finding.variables == variables);
    one.unwrap_or_else(|| panic!("no {kind:?} of {variables:?} in {all:#?}")).clone()
}

/// Data sets with any finding, and the findings, for the message.
fn alarms(seeds: std::ops::Range<u64>, find: impl Fn(u64) -> Vec<Finding>) -> (usize, Vec<String>) {
    let told: Vec<Vec<Finding>> = seeds.map(find).filter(|findings| !findings.is_empty()).collect();
    (told.len(), told.into_iter().flatten().map(|finding| finding.text).collect())
}

/// 5 % of 300 is 15.
#[test]
fn clean_linear_data_raise_few_alarms() {
    let of_world = |seed: u64| {
        let data = world(true, 5, 100, if seed.is_multiple_of(2) { 0 } else { 40 }, seed);
        found(&data, &resampled(&data))
    };
    let (count, texts) = alarms(1000..1300, of_world);
    println!("{count} of 300");
    assert!(count <= 15, "{count} of 300: {texts:#?}");
}

/// 5 % of 60 is 3.
#[test]
fn clean_data_raise_few_alarms_about_chains() {
    let of_world = |seed: u64| {
        let data = world(true, 4, 80, 30, seed);
        found(&data, &chains(Family::Linear, &data))
    };
    let (count, texts) = alarms(1000..1060, of_world);
    println!("{count} of 60");
    assert!(count <= 3, "{count} of 60: {texts:#?}");
}

#[test]
fn heavy_tails_and_lopsided_noise_are_found() {
    let mut random = draws(1);
    let n = 300;
    let a: Vec<f64> = (0..n).map(|_| random.normal()).collect();
    let student = |random: &mut Draws| {
        let chi: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
        random.normal() / (chi / 3.0).sqrt()
    };
    let b: Vec<f64> = a.iter().map(|x| 2.0 * x + student(&mut random)).collect();
    let c: Vec<f64> = a.iter().map(|x| x + random.normal().exp()).collect();
    let data = observed(vec![a, b, c]);
    let ensemble = resampled(&data);
    let finding = expect(&data, &ensemble, Kind::Tails, &["B"]);
    assert!(finding.text.contains("heavy tails"), "{}", finding.text);
    expect(&data, &ensemble, Kind::Tails, &["C"]);
    assert!(found(&data, &ensemble).iter().all(|finding| finding.variables != ["A"]));
}

#[test]
fn noise_that_grows_is_found() {
    let mut random = draws(2);
    let a: Vec<f64> = (0..300).map(|_| random.normal()).collect();
    let b: Vec<f64> = a.iter().map(|x| 3.0 * x + (0.8 * x).exp() * random.normal()).collect();
    let data = observed(vec![a, b]);
    let all = found(&data, &resampled(&data));
    assert!(all.iter().any(|finding| finding.kind == Kind::Spread), "{all:#?}");
}

#[test]
fn noise_that_is_larger_where_a_variable_was_set_is_found() {
    let mut random = draws(3);
    let targets: Vec<Option<usize>> = (0..200).map(|row| (row >= 100).then_some(0)).collect();
    let a: Vec<f64> = (0..200).map(|_| random.normal()).collect();
    let b = (0..200).map(|row| a[row] + if row < 100 { 0.3 } else { 1.2 } * random.normal()).collect();
    let data = table(vec![a, b], targets);
    expect(&data, &resampled(&data), Kind::Spread, &["A", "B"]);
}

#[test]
fn a_curved_effect_is_found_in_linear_models_only() {
    let mut random = draws(4);
    let a: Vec<f64> = (0..120).map(|_| random.normal()).collect();
    let b: Vec<f64> = a.iter().map(|x| x + 0.6 * x * x + 0.5 * random.normal()).collect();
    let targets = (0..120).map(|row| (row >= 80).then_some(0)).collect();
    let data = table(vec![a, b], targets);
    expect(&data, &chains(Family::Linear, &data), Kind::Curvature, &["A", "B"]);
    let curved = found(&data, &chains(Family::GaussianProcess, &data));
    assert!(curved.is_empty(), "{curved:#?}");
}

/// Linear models see nothing in a symmetric effect; and an edge that is forbidden is missing.
#[test]
fn residuals_that_depend_on_each_other_are_found() {
    let mut random = draws(5);
    let a: Vec<f64> = (0..200).map(|_| random.normal()).collect();
    let b: Vec<f64> = a.iter().map(|x| x * x + random.normal()).collect();
    let c: Vec<f64> = b.iter().map(|x| x + random.normal()).collect();
    let data = observed(vec![a.clone(), b, c]);
    expect(&data, &resampled(&data), Kind::Dependence, &["A", "B"]);

    let b: Vec<f64> = a.iter().map(|x| x + random.normal()).collect();
    let data = observed(vec![a, b]);
    let apart = Knowledge::from_toml("forbidden = [[\"A\", \"B\"], [\"B\", \"A\"]]", data.names()).unwrap();
    let fit = Bootstrap { draws: 4, ..Bootstrap::default() }.fit(&data, &apart, Seed::new(1), &()).unwrap();
    assert!(expect(&data, &fit.ensemble, Kind::Dependence, &["A", "B"]).text.contains("an edge is missing"));
}

#[test]
fn drift_is_found() {
    let mut random = draws(6);
    let walk = |random: &mut Draws| {
        let mut at = 0.0;
        let step = |_| {
            at += random.normal();
            at
        };
        (0..200).map(step).collect::<Vec<f64>>()
    };
    let data = observed((0..4).map(|_| walk(&mut random)).collect());
    for family in [Family::Linear, Family::GaussianProcess] {
        let all = found(&data, &chains(family, &data));
        let drifting = all.iter().filter(|finding| finding.kind == Kind::Drift).count();
        assert!(drifting >= 4, "{all:#?}");
    }
    let slow = (0..200).map(|row| f64::from(row) / 80.0 + random.normal()).collect();
    let still: Vec<f64> = (0..200).map(|_| random.normal()).collect();
    let data = observed(vec![slow, still]);
    let ensemble = resampled(&data);
    expect(&data, &ensemble, Kind::Drift, &["A"]);
    assert!(found(&data, &ensemble).iter().all(|finding| finding.variables == ["A"]));
}

/// A common cause that was not measured, and experiments that show no effect: the chains are certain of A -> B or B -> A.
#[test]
fn a_hidden_common_cause_is_found_by_experiments_without_effect() {
    let mut random = draws(7);
    let rows = 160;
    let targets: Vec<Option<usize>> = (0..rows).map(|row| [None, None, Some(0), Some(1)][row / 40]).collect();
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    for target in &targets {
        let hidden = 1.5 * random.normal();
        let value = |node: usize, random: &mut Draws| match target {
            Some(target) if *target == node => 2.0 * random.normal(),
            _ => hidden + 0.5 * random.normal(),
        };
        a.push(value(0, &mut random));
        b.push(value(1, &mut random));
        c.push(random.normal());
    }
    let data = table(vec![a, b, c], targets);
    for family in [Family::Linear, Family::GaussianProcess] {
        let ensemble = chains(family, &data);
        let p = ensemble.edge_probabilities();
        assert!(p[0][1] + p[1][0] > 0.99, "the premise: {p:?}");
        let all = found(&data, &ensemble);
        let told =
            |finding: &&Finding| finding.kind == Kind::Effect && !finding.variables.contains(&"C".into());
        assert!(all.iter().find(told).is_some(), "{family:?}: {all:#?}");
    }
}

/// 1e7 for 2: the row decides alone, and every posterior says B -> A.
#[test]
fn a_mistyped_value_is_found() {
    let mut random = draws(8);
    let rows = 60;
    let targets: Vec<Option<usize>> = (0..rows).map(|row| (row >= 40).then_some(0)).collect();
    let mut a: Vec<f64> = (0..rows).map(|_| 2.0 * random.normal()).collect();
    let b: Vec<f64> = a.iter().map(|x| x + random.normal()).collect();
    let clean = table(vec![a.clone(), b.clone()], targets.clone());
    assert_eq!(found(&clean, &chains(Family::Linear, &clean)), []);
    a[50] = 1e7;
    let data = table(vec![a, b.clone()], targets.clone());
    for family in [Family::Linear, Family::GaussianProcess] {
        let finding = expect(&data, &chains(family, &data), Kind::Row, &["A"]);
        assert_eq!(finding.row, Some(51));
        assert!(finding.text.contains("row 51 sets A to 1e7"), "{}", finding.text);
    }
    // A measurement that is off is found by its residual.
    let mut b = b;
    b[10] += 12.0;
    let data = table(vec![clean.column(0).to_vec(), b], targets);
    assert_eq!(expect(&data, &resampled(&data), Kind::Row, &["B"]).row, Some(11));
}

/// Columns in another order or other units, rows that are few, constant, or determined by others: the same findings, or none.
#[test]
fn order_and_units_do_not_matter_and_nothing_panics() {
    let mut random = draws(9);
    let a: Vec<f64> = (0..150).map(|_| random.normal()).collect();
    let b: Vec<f64> = a.iter().map(|x| x + 0.6 * x * x + 0.5 * random.normal()).collect();
    let c: Vec<f64> = b.iter().map(|x| x - random.normal().exp()).collect();
    let data = observed(vec![a, b, c]);
    let ensemble = resampled(&data);
    let first = found(&data, &ensemble);
    assert!(!first.is_empty());
    let turned = data.reordered(&["C", "A", "B"].map(String::from)).unwrap();
    assert_eq!(found(&turned, &ensemble), first);
    assert_eq!(found(&turned, &resampled(&turned)), first);
    let scaled: Vec<Vec<f64>> = [1e90, 1e-90, 1e-3]
        .iter()
        .zip(data.columns())
        .map(|(unit, column)| column.iter().map(|x| unit * x).collect())
        .collect();
    let scaled = observed(scaled);
    let kinds = |findings: &[Finding]| -> Vec<(Kind, Vec<String>)> {
        findings.iter().map(|finding| (finding.kind, finding.variables.clone())).collect()
    };
    let in_units = kinds(&found(&scaled, &ensemble));
    assert_eq!(in_units, kinds(&first));

    let few = observed(vec![vec![1.0, 2.0, 4.0, 3.0], vec![2.0, 1.0, 5.0, 1.0]]);
    assert_eq!(found(&few, &resampled(&few)), []);
    let column: Vec<f64> = (0..40).map(|_| random.normal()).collect();
    let constant = observed(vec![vec![3.0; 40], column.clone(), column]);
    found(&constant, &resampled(&constant));
    assert!(check(&few, &ensemble, &()).unwrap_err().to_string().contains("variables"));
}
