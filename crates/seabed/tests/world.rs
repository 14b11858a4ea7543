//! Synthetic worlds: what is drawn has the paper's distribution, and is a function of the seed.

use seabed::num::random::{Purpose, Seed};
use seabed::observer::Progress;
use seabed::scm::{Intervention, Mechanism, Scm};
use seabed::world::grn::{Generated, Grn, Measurement, Organism};
use seabed::world::{
    GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, SyntheticError, World, WorldError,
};

fn linear(weights: LinearWeights) -> Synthetic {
    Synthetic {
        graph: GraphKind::Er,
        nodes: 10,
        edges_per_node: 1.0,
        mechanism: MechanismKind::Linear(weights),
        noise: NoiseLevels::Equal(0.1),
        standardised: false,
    }
}

fn weights(kind: LinearWeights) -> Vec<f64> {
    let of_world = |seed| {
        let scm = linear(kind).draw(Seed::new(seed)).unwrap();
        let parameters = |node| scm.mechanism(node).parameters().collect::<Vec<_>>();
        // The last parameter is the intercept, which synthetic worlds do not have.
        (0..10)
            .flat_map(|node| parameters(node).split_last().map(|(_, w)| w.to_vec()).unwrap())
            .collect::<Vec<_>>()
    };
    (0..400).flat_map(of_world).collect()
}

#[test]
fn linear_weights_have_their_distribution() {
    let normal = weights(LinearWeights::Normal);
    let n = normal.len() as f64;
    let mean = normal.iter().sum::<f64>() / n;
    let variance = normal.iter().map(|w| (w - 2.0).powi(2)).sum::<f64>() / n;
    // Two z-scores below 4: a false alarm in 8000 seeds.
    assert!(((mean - 2.0) * n.sqrt()).abs() < 4.0, "{mean}");
    assert!(((variance - 1.0) * (n / 2.0).sqrt()).abs() < 4.0, "{variance}");
    let uniform = weights(LinearWeights::UNIFORM);
    assert!(uniform.iter().all(|w| (0.5..=2.0).contains(&w.abs())));
    // |w| is uniform on [0.5, 2]: mean 1.25, variance 1.5²/12.
    let n = uniform.len() as f64;
    let mean = uniform.iter().map(|w| w.abs()).sum::<f64>() / n;
    assert!(((mean - 1.25) / (1.5 * 1.5 / 12.0 / n).sqrt()).abs() < 4.0, "{mean}");
    let positive = uniform.iter().filter(|w| **w > 0.0).count() as f64;
    assert!(((positive - 0.5 * uniform.len() as f64) / (0.25 * uniform.len() as f64).sqrt()).abs() < 4.0);
}

#[test]
fn weights_stay_within_their_range() {
    let signed = weights(LinearWeights::Uniform { least: 0.25, most: 1.0, signed: true });
    assert!(signed.iter().all(|w| (0.25..=1.0).contains(&w.abs())));
    assert!(signed.iter().any(|w| *w < 0.0) && signed.iter().any(|w| *w > 0.0));
    let positive = weights(LinearWeights::Uniform { least: 0.5, most: 1.0, signed: false });
    assert!(positive.iter().all(|w| (0.5..=1.0).contains(w)));
    // Signs and sizes from 0.5 to 2 are drawn in turn, as they always were: worlds of a seed stay the same.
    let mut draws = Seed::new(0).stream(Purpose::Parameters).draws();
    let of_first_world = linear(LinearWeights::UNIFORM).draw(Seed::new(0)).unwrap();
    for w in weights(LinearWeights::UNIFORM).iter().take(of_first_world.dag().edge_count()) {
        let sign = if draws.below(2) == 0 { -1.0 } else { 1.0 };
        assert_eq!(*w, sign * (0.5 + 1.5 * draws.uniform()));
    }
    // Uniform on [0.5, 1]: mean 0.75, variance 0.5²/12; a z-score below 4.
    let n = positive.len() as f64;
    let mean = positive.iter().sum::<f64>() / n;
    assert!(((mean - 0.75) / (0.25 / 12.0 / n).sqrt()).abs() < 4.0, "{mean}");
}

#[test]
fn a_nonlinear_root_is_its_network_at_zero_plus_noise() {
    let world = Synthetic { mechanism: MechanismKind::Mlp { hidden: 5 }, ..linear(LinearWeights::Normal) };
    let scm = world.draw(Seed::new(3)).unwrap();
    let n = 2000;
    let data = scm.experiment(&Intervention::none(), n, Seed::new(3).stream(Purpose::Noise)).unwrap();
    for node in (0..10).filter(|&node| scm.dag().parents(node).is_empty()) {
        let Mechanism::Mlp(mlp) = scm.mechanism(node) else { panic!("a network") };
        let at_zero = mlp.b2 + mlp.b1.iter().zip(&mlp.w2).map(|(b, w)| w * b.max(0.0)).sum::<f64>();
        let mean = data.column(node).iter().sum::<f64>() / n as f64;
        assert!((mean - at_zero).abs() < 4.5 * 0.1 / (n as f64).sqrt(), "{mean} {at_zero}");
    }
}

#[test]
fn parameters_of_networks_are_standard_normal() {
    let world = Synthetic { mechanism: MechanismKind::Mlp { hidden: 5 }, ..linear(LinearWeights::Normal) };
    let (mut inner, mut last) = (Vec::new(), Vec::new());
    for seed in 0..60 {
        let scm = world.draw(Seed::new(seed)).unwrap();
        for node in 0..10 {
            let mut parameters: Vec<f64> = scm.mechanism(node).parameters().collect();
            last.push(parameters.pop().unwrap());
            inner.extend(parameters);
        }
    }
    // Mean and variance of both, four z-scores below 4.5: a false alarm in 36 000 seeds.
    for x in [inner, last] {
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let variance = x.iter().map(|x| x * x).sum::<f64>() / n;
        assert!((mean * n.sqrt()).abs() < 4.5, "{mean}");
        assert!(((variance - 1.0) * (n / 2.0).sqrt()).abs() < 4.5, "{variance}");
    }
}

#[test]
fn noise_levels_are_equal_or_spread_tenfold() {
    let levels = |noise| Synthetic { noise, ..linear(LinearWeights::Normal) }.draw(Seed::new(1)).unwrap();
    assert_eq!(levels(NoiseLevels::Equal(0.3)).noise_sd(), [0.3; 10]);
    let unequal = levels(NoiseLevels::Unequal(0.1));
    for (node, sd) in unequal.noise_sd().iter().enumerate() {
        assert!((sd - 0.1 * (node as f64 + 1.0)).abs() < 1e-12);
    }
}

#[test]
fn noise_can_differ_at_the_roots_or_at_random() {
    let of =
        |noise, seed| Synthetic { noise, ..linear(LinearWeights::Normal) }.draw(Seed::new(seed)).unwrap();
    let (roots, equal) = (of(NoiseLevels::Roots(0.3), 1), of(NoiseLevels::Equal(0.3), 1));
    for node in 0..10 {
        let expected = if roots.dag().parents(node).is_empty() { 1.0 } else { 0.3 };
        assert_eq!(roots.noise_sd()[node], expected);
        assert_eq!(roots.mechanism(node), equal.mechanism(node), "noise does not change the mechanisms");
    }
    let variances: Vec<f64> = (0..200)
        .flat_map(|seed| of(NoiseLevels::Random(2.0), seed).noise_sd().to_vec())
        .map(|sd| sd * sd)
        .collect();
    assert!(variances.iter().all(|variance| *variance > 0.0 && *variance < 4.0));
    // Uniform on [0, 4]: mean 2, variance 16 / 12, fourth central moment 4⁴ / 80; two z-scores below 4.
    let n = variances.len() as f64;
    let mean = variances.iter().sum::<f64>() / n;
    let spread = variances.iter().map(|v| (v - 2.0).powi(2)).sum::<f64>() / n;
    let (variance, fourth) = (16.0 / 12.0, 256.0 / 80.0);
    assert!(((mean - 2.0) / (variance / n).sqrt()).abs() < 4.0, "{mean}");
    assert!(((spread - variance) / ((fourth - variance * variance) / n).sqrt()).abs() < 4.0, "{spread}");
    assert_eq!(of(NoiseLevels::Random(2.0), 3), of(NoiseLevels::Random(2.0), 3));
}

#[test]
fn a_standardised_world_has_mean_0_and_standard_deviation_1() {
    for (seed, mechanism) in
        [(1, MechanismKind::Linear(LinearWeights::Normal)), (2, MechanismKind::Mlp { hidden: 5 })]
    {
        let world = Synthetic { mechanism, standardised: true, ..linear(LinearWeights::Normal) };
        let scm = world.draw(Seed::new(seed)).unwrap();
        let n = 20_000;
        let data = scm.experiment(&Intervention::none(), n, Seed::new(9).stream(Purpose::Noise)).unwrap();
        for column in data.columns() {
            let mean = column.iter().sum::<f64>() / n as f64;
            let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
            assert!(mean.abs() < 0.03 && (variance.sqrt() - 1.0).abs() < 0.03, "{mean} {variance}");
        }
    }
}

#[test]
fn the_seed_is_all_that_matters() {
    for graph in [GraphKind::Er, GraphKind::Sf, GraphKind::Tree, GraphKind::Chain] {
        let draw = |seed| Synthetic { graph, ..linear(LinearWeights::Normal) }.draw(Seed::new(seed)).unwrap();
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
        let read_back = Scm::from_json(draw(5).to_json().as_bytes(), "test").unwrap();
        assert_eq!(read_back, draw(5));
    }
}

#[test]
fn experiments_stop_when_asked_to() {
    let network = Generated { organism: Organism::EcoliLike, genes: 5 }.draw(Seed::new(1)).unwrap();
    let genes = Grn::new(network, Measurement::default());
    let model = linear(LinearWeights::Normal).draw(Seed::new(1)).unwrap();
    let worlds: [&dyn World; 2] = [&model, &genes];
    for world in worlds {
        let stream = Seed::new(2).stream(Purpose::Noise);
        let run = |go_on: bool| {
            let observer = move |_: &Progress<'_>| go_on;
            world.experiment_observed(&Intervention::none(), 40, stream, &observer)
        };
        assert!(matches!(run(false), Err(WorldError::Stopped(_))));
        assert_eq!(run(true).unwrap(), world.experiment(&Intervention::none(), 40, stream).unwrap());
    }
}

#[test]
fn impossible_worlds_are_refused() {
    let error = |world: Synthetic| world.draw(Seed::new(1)).unwrap_err();
    let base = linear(LinearWeights::Normal);
    let sf = Synthetic { graph: GraphKind::Sf, edges_per_node: 1.5, ..base };
    assert_eq!(error(sf), SyntheticError::EdgesNotWhole(1.5));
    assert!(matches!(error(Synthetic { nodes: 1, ..base }), SyntheticError::Graph(_)));
    assert!(matches!(error(Synthetic { edges_per_node: f64::NAN, ..base }), SyntheticError::Graph(_)));
    assert!(matches!(error(Synthetic { noise: NoiseLevels::Equal(-1.0), ..base }), SyntheticError::Model(_)));
}
