//! The simulation against numbers of GeneNetWeaver, for the networks in `shared/dream4` beside the project; and against
//! numbers for a network of our own, from a second program that reproduces GeneNetWeaver's to the last bits.

use std::fs;
use std::path::PathBuf;

use seabed_testkit::shared;
use serde_json::Value;

use super::super::dynamics::Dynamics;
use super::super::langevin::Langevin;
use super::super::*;
use crate::num::random::Purpose;

/// The reference files whose names begin so, with their networks.
fn references(prefix: &str) -> Vec<(Network, Value)> {
    let (Some(networks), Some(golden)) = (shared("dream4"), shared("golden/gnw")) else { return vec![] };
    let mut paths: Vec<PathBuf> = fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix));
    let read = |path: &PathBuf| {
        let golden: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let network = networks.join(format!("{}.xml", golden["network"].as_str().unwrap()));
        (Network::read(&network).unwrap(), golden)
    };
    let found: Vec<_> = paths.iter().map(read).collect();
    assert!(found.len() >= 2, "only {} references {prefix}", found.len());
    found
}

fn ours() -> (Network, Value) {
    let network = Network::from_sbml(include_bytes!("../../../../tests/golden/grn.xml")).unwrap();
    (network, serde_json::from_str(include_str!("../../../../tests/golden/grn.json")).unwrap())
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

#[track_caller]
fn close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (v, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!((g - e).abs() <= tolerance, "variable {v}: {g} and not {e}");
    }
}

fn knocked_out(network: &Network, gene: Option<usize>) -> Dynamics {
    let mut dynamics = Dynamics::new(network);
    gene.iter().for_each(|&gene| dynamics.transcription[gene] = 0.0);
    dynamics
}

/// Right-hand sides, and a run on recorded normal numbers, in every lane.
fn check_trace(network: &Network, golden: &Value) {
    const L: usize = 4;
    let genes = network.genes().len();
    let intact = Dynamics::new(network);
    for (state, rate) in [("xy0", "rate_at_xy0"), ("probe_state", "probe_rate")] {
        let state: Vec<[f64; 1]> = numbers(&golden[state]).into_iter().map(|z| [z]).collect();
        let mut rates = vec![[0.0]; 2 * genes];
        intact.rates(&state, &mut intact.scratch(), &mut rates);
        close(rates.as_flattened(), &numbers(&golden[rate]), 1e-12);
    }
    let knockout = usize::try_from(golden["knockout_index"].as_i64().unwrap()).ok();
    let dynamics = knocked_out(network, knockout);
    let all: Vec<usize> = (0..genes).collect();
    let mut runs = Langevin::<L>::new(&dynamics, &all, &numbers(&golden["xy0"]));
    let (states, reported) = (rows(&golden["state"]), rows(&golden["reported"]));
    let lane =
        |levels: &[[f64; L]], lane: usize| -> Vec<f64> { levels.iter().map(|row| row[lane]).collect() };
    let normals = numbers(&golden["normals"]);
    assert_eq!(normals.len(), states.len() * 50 * 2 * genes);
    for (minute, normals) in normals.chunks(2 * genes).enumerate() {
        let after = (minute + 1).is_multiple_of(50).then_some(minute / 50);
        if let Some(k) = after {
            close(&lane(runs.support(), L - 1), &reported[k], 1e-12);
        }
        runs.step(&normals.iter().map(|&normal| [normal; L]).collect::<Vec<_>>());
        if let Some(k) = after {
            (0..L).for_each(|l| close(&lane(runs.state(), l), &states[k], 1e-12));
        }
    }
}

/// Noise-free wild type and knock-outs, mRNA and proteins, and when they become steady.
fn check_steady_states(network: &Network, golden: &Value) {
    let genes = network.genes().len();
    let check = |rest: &SteadyState, mrna: Vec<f64>, proteins: Vec<f64>, minutes: &Value| {
        close(&rest.reported, &[mrna, proteins].concat(), 1e-9);
        assert_eq!(rest.minutes as u64, minutes.as_u64().unwrap());
    };
    let of = |key: &str| numbers(&golden[key]);
    let world = Grn::new(network.clone(), Measurement::default());
    check(&world.wild_type, of("ode_wildtype"), of("ode_wildtype_proteins"), &golden["ode_wildtype_t"][0]);
    let (mrna, proteins) = (rows(&golden["ode_knockouts"]), rows(&golden["ode_knockouts_proteins"]));
    assert_eq!(mrna.len(), genes);
    for gene in 0..genes {
        let (_, rest) = world.disturbed(&Intervention::new([(gene, 0.0)]).unwrap()).unwrap();
        check(&rest, mrna[gene].clone(), proteins[gene].clone(), &golden["ode_knockouts_t"][gene]);
    }
}

#[test]
fn a_network_of_our_own_agrees_with_the_second_program() {
    let (network, golden) = ours();
    check_trace(&network, &golden["trace"]);
    check_steady_states(&network, &golden);
}

#[test]
fn runs_on_recorded_numbers_are_those_of_genenetweaver() {
    for (network, golden) in references("trace_") {
        check_trace(&network, &golden);
    }
}

#[test]
fn steady_states_and_stop_times_are_those_of_genenetweaver() {
    for (network, golden) in references("InSilico") {
        check_steady_states(&network, &golden);
    }
}

/// Below this a gene is off for most of the time, and the distribution of its level is far from normal.
const LOW: f64 = 0.02;

/// z-scores of the differences of means and of the logarithms of standard deviations.
fn z_scores(data: &Dataset, mean: &[f64], sd: &[f64], n: f64) -> Vec<(f64, f64)> {
    let rows = data.rows() as f64;
    let mut all = Vec::new();
    for (gene, column) in data.columns().iter().enumerate() {
        let our_mean = column.iter().sum::<f64>() / rows;
        let moment = |k: i32| column.iter().map(|x| (x - our_mean).powi(k)).sum::<f64>() / rows;
        if mean[gene] < LOW {
            assert!((our_mean - mean[gene]).abs() < 0.1 * LOW, "{}: {our_mean}", data.names()[gene]);
            continue;
        }
        let our_sd = moment(2).sqrt();
        let of_mean = (our_mean - mean[gene]) / (our_sd.powi(2) / rows + sd[gene].powi(2) / n).sqrt();
        let kurtosis = moment(4) / moment(2).powi(2);
        let of_sd = (our_sd / sd[gene]).ln() / ((kurtosis - 1.0) / 4.0 * (1.0 / rows + 1.0 / n)).sqrt();
        all.push((of_mean, of_sd));
    }
    all
}

/// Means and standard deviations of noisy levels. Some 800 z-scores of each kind, none beyond 5: a false alarm in 1000
/// seeds if they are normal. A shift of all means that no single one shows would raise the mean square.
#[test]
fn noisy_levels_have_the_means_and_deviations_of_genenetweaver() {
    let (mut means, mut deviations) = (Vec::new(), Vec::new());
    for (network, golden) in references("InSilico") {
        let genes = network.genes().len();
        let name = network.name().to_string();
        let world = Grn::new(network, Measurement::default());
        let stream = Seed::new(8).stream(Purpose::Noise).named(&name);
        let wild = world
            .experiment(&Intervention::none(), if genes > 10 { 1008 } else { 4000 }, stream.at(0))
            .unwrap();
        let of = |key: &str| numbers(&golden[key]);
        let count = |key: &str| golden[key].as_f64().unwrap();
        let mut scores =
            z_scores(&wild, &of("sde_wildtype_mean"), &of("sde_wildtype_sd"), count("sde_wildtype_n"));
        let (mean, sd) = (rows(&golden["sde_knockout_mean"]), rows(&golden["sde_knockout_sd"]));
        // Of the large networks a few knock-outs are enough.
        for gene in (0..genes).step_by(if genes > 10 { 17 } else { 1 }) {
            let knockout = Intervention::new([(gene, 0.0)]).unwrap();
            // Enough of them to see tails: some genes are off except for rare bursts, with a kurtosis of 30.
            let samples = if genes > 10 { 800 } else { 400 };
            let data = world.experiment(&knockout, samples, stream.at(1 + gene as u64)).unwrap();
            scores.extend(z_scores(&data, &mean[gene], &sd[gene], count("sde_knockout_n")));
        }
        for (of_mean, of_sd) in scores {
            assert!(of_mean.abs() < 5.0 && of_sd.abs() < 5.0, "{name}: {of_mean} {of_sd}");
            means.push(of_mean);
            deviations.push(of_sd);
        }
    }
    if means.is_empty() {
        return;
    }
    assert!(means.len() > 600, "only {} comparisons", means.len());
    for scores in [means, deviations] {
        let mean_square = scores.iter().map(|z| z * z).sum::<f64>() / scores.len() as f64;
        assert!((0.8..1.25).contains(&mean_square), "{mean_square} of {}", scores.len());
    }
}

/// What GeneNetWeaver reports is a quarter of a standard deviation above the state; the comparison would see it.
#[test]
fn the_state_differs_from_what_is_reported() {
    for (network, golden) in references("InSilicoSize10-Ecoli") {
        let world = Grn::new(network, Measurement { faithful: false, ..Measurement::default() });
        let data =
            world.experiment(&Intervention::none(), 4000, Seed::new(8).stream(Purpose::Noise)).unwrap();
        let (mean, sd) = (numbers(&golden["sde_wildtype_mean"]), numbers(&golden["sde_wildtype_sd"]));
        let scores = z_scores(&data, &mean, &sd, golden["sde_wildtype_n"].as_f64().unwrap());
        assert!(scores.iter().any(|(of_mean, _)| of_mean.abs() > 8.0), "{scores:?}");
    }
}
