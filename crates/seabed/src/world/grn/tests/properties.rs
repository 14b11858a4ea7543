//! What must hold for every network, checked on generated ones.

use proptest::prelude::*;

use super::super::dynamics::Dynamics;
use super::super::langevin::Langevin;
use super::super::*;
use super::slow_twin;
use crate::num::random::Purpose;

fn networks() -> impl Iterator<Item = Network> {
    let draw = |(organism, genes, seed)| Generated { organism, genes }.draw(Seed::new(seed)).unwrap();
    let small = (0..6).flat_map(|seed| [(Organism::EcoliLike, 12, seed), (Organism::YeastLike, 14, seed)]);
    small.chain([(Organism::EcoliLike, 50, 1), (Organism::YeastLike, 50, 1)]).map(draw)
}

/// Levels from 0 to 2, some of them 0.
fn random_state(variables: usize, seed: u64) -> Vec<f64> {
    let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
    (0..variables).map(|_| if draws.below(10) == 0 { 0.0 } else { 2.0 * draws.uniform() }).collect()
}

fn close(got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance, "{got} and not {expected}");
}

#[test]
fn rates_are_those_on_paper() {
    for (k, network) in networks().enumerate() {
        let genes = network.genes().len();
        let mut dynamics = Dynamics::new(&network);
        let factors: Vec<f64> = (0..genes).map(|i| [1.0, 0.0, 0.3, 2.0][i % 4]).collect();
        (0..genes).for_each(|i| dynamics.transcription[i] *= factors[i]);
        let state = random_state(2 * genes, k as u64);
        let lanes: Vec<[f64; 3]> = state.iter().map(|&z| [z, 0.5 * z, z]).collect();
        let mut rates = vec![[0.0; 3]; 2 * genes];
        dynamics.rates(&lanes, &mut dynamics.scratch(), &mut rates);
        for lane in [0, 1, 2] {
            let state: Vec<f64> = lanes.iter().map(|row| row[lane]).collect();
            let expected = slow_twin::production_and_decay(&network, &factors, &state);
            for (got, (made, lost)) in rates.iter().zip(expected) {
                close(got[lane], made - lost, 1e-14);
            }
        }
    }
}

#[test]
fn steps_with_noise_are_those_on_paper() {
    for (k, network) in networks().enumerate() {
        let genes = network.genes().len();
        let dynamics = Dynamics::new(&network);
        let mut expected = random_state(2 * genes, k as u64);
        let all: Vec<usize> = (0..genes).collect();
        let mut runs = Langevin::<LANES>::new(&dynamics, &all, &expected);
        let mut normals = vec![0.0; 2 * genes];
        for minute in 0..60 {
            Seed::new(k as u64).stream(Purpose::Noise).at(minute).fill_normal(&mut normals);
            let support;
            (expected, support) = slow_twin::step(&network, &vec![1.0; genes], &expected, &normals);
            let reported = runs.support().to_vec();
            runs.step(&normals.iter().map(|&w| [w; LANES]).collect::<Vec<_>>());
            for v in 0..2 * genes {
                close(reported[v][3], support[v], 1e-12);
                close(runs.state()[v][LANES - 1], expected[v], 1e-12);
            }
        }
    }
}

#[test]
fn lanes_are_independent() {
    let network = networks().next().unwrap();
    let genes = network.genes().len();
    let dynamics = Dynamics::new(&network);
    let start = dynamics.unregulated();
    let normals: Vec<[f64; LANES]> = (0..2 * genes)
        .map(|v| {
            let mut row = [0.0; LANES];
            Seed::new(1).stream(Purpose::Noise).at(v as u64).fill_normal(&mut row);
            row
        })
        .collect();
    let all: Vec<usize> = (0..genes).collect();
    let mut together = Langevin::<LANES>::new(&dynamics, &all, &start);
    (0..20).for_each(|_| together.step(&normals));
    for lane in 0..LANES {
        let mut alone = Langevin::<1>::new(&dynamics, &all, &start);
        let own: Vec<[f64; 1]> = normals.iter().map(|row| [row[lane]]).collect();
        (0..20).for_each(|_| alone.step(&own));
        for (a, b) in alone.state().iter().zip(together.state()) {
            assert_eq!(a[0].to_bits(), b[lane].to_bits());
        }
    }
}

/// At rest, what is made is lost: up to what the stopping rule lets pass.
#[test]
fn mass_is_balanced_at_rest() {
    for network in networks() {
        let world = Grn::new(network.clone(), Measurement::default());
        let state = &world.wild_type.reached;
        assert!(world.wild_type.minutes < 2000, "{}", network.name());
        let terms = slow_twin::production_and_decay(&network, &vec![1.0; network.genes().len()], state);
        for (z, (made, lost)) in state.iter().zip(terms) {
            close(made, lost, 2.0 * (1e-5 + 1e-3 * z) / BLOCK as f64);
        }
    }
}

/// Without cycles the steady state follows gene by gene, regulators first.
fn in_topological_order(network: &Network, factors: &[f64]) -> Vec<f64> {
    let genes = network.genes().len();
    let (mut mrna, mut proteins) = (vec![0.0; genes], vec![0.0; genes]);
    for i in network.dag().unwrap().topological_order() {
        let gene = &network.genes()[i];
        mrna[i] =
            factors[i] * gene.transcription * slow_twin::activation(network, i, &proteins) / gene.mrna_decay;
        proteins[i] = gene.translation * mrna[i] / gene.protein_decay;
    }
    mrna
}

/// The stopping rule lets a gene pass that hardly moves for 50 minutes: how many of the levels are affected by more than
/// 2e-3 is bounded as well.
#[test]
fn networks_without_cycles_agree_with_topological_evaluation() {
    let (mut levels, mut off) = (0, 0);
    for network in networks() {
        let genes = network.genes().len();
        let world = Grn::new(network.clone(), Measurement::default());
        for (k, factor) in [(0, 1.0), (0, 0.0), (1, 0.0), (2, 0.0), (3, 0.5), (4, 2.0)] {
            let (_, rest) = world.disturbed(&Intervention::new([(k, factor)]).unwrap()).unwrap();
            let mut factors = vec![1.0; genes];
            factors[k] = factor;
            let exact = in_topological_order(&network, &factors);
            levels += genes;
            off += (0..genes).filter(|&i| (rest.reached[i] - exact[i]).abs() > 2e-3).count();
        }
    }
    assert!(levels > 1000 && off * 200 <= levels, "{off} of {levels}");
}

#[test]
fn what_does_not_depend_on_a_knocked_out_gene_does_not_move() {
    let mut moved = 0;
    for network in networks() {
        let world = Grn::new(network.clone(), Measurement::default());
        let dag = network.dag().unwrap();
        for gene in 0..network.genes().len().min(14) {
            let (_, rest) = world.disturbed(&Intervention::new([(gene, 0.0)]).unwrap()).unwrap();
            let descendants = dag.descendants(gene);
            for i in 0..network.genes().len() {
                let change = (rest.reached[i] - world.wild_type.reached[i]).abs();
                if i != gene && !descendants.contains(i) {
                    assert!(change < 1e-3, "{} by {change}", network.names()[i]);
                } else if i != gene && change > 0.05 {
                    moved += 1;
                }
            }
        }
    }
    assert!(moved > 30, "only {moved} effects: the knock-outs do nothing");
}

proptest! {
    #[test]
    fn activation_stays_between_its_extremes(seed in 0u64..500, scale in 0.0f64..1e6, yeast: bool) {
        let organism = if yeast { Organism::YeastLike } else { Organism::EcoliLike };
        let network = Generated { organism, genes: 10 }.draw(Seed::new(seed)).unwrap();
        let dynamics = Dynamics::new(&network);
        let proteins: Vec<[f64; 1]> = random_state(10, seed).into_iter().map(|z| [z * scale]).collect();
        let mut made = vec![[0.0]; 10];
        dynamics.production(&proteins, &mut dynamics.scratch(), &mut made);
        for (made, gene) in made.iter().zip(network.genes()) {
            let activation = made[0] / gene.transcription;
            prop_assert!((-1e-14..=1.0 + 1e-14).contains(&activation), "{}", activation);
        }
    }
}

/// In the corrected mode a run of twice the length changes nothing.
#[test]
fn the_corrected_wild_type_is_stationary() {
    let n = 480;
    for organism in [Organism::EcoliLike, Organism::YeastLike] {
        let network = Generated { organism, genes: 20 }.draw(Seed::new(4)).unwrap();
        let world = Grn::new(network, Measurement { faithful: false, ..Measurement::default() });
        let minutes = world.minutes(&Intervention::none(), world.wild_type.minutes);
        let levels = |minutes: usize, seed: u64| -> Vec<(f64, f64)> {
            let stream = Seed::new(seed).stream(Purpose::Noise);
            let blocks = ordered_map_indices(n / LANES, |b| {
                world.simulate(&world.dynamics, minutes, b, stream, &|| Ok(())).unwrap()
            });
            let of_gene = |gene: usize| {
                let values: Vec<f64> = blocks.iter().flat_map(|block| block[gene]).collect();
                let mean = values.iter().sum::<f64>() / n as f64;
                (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64)
            };
            (0..20).map(of_gene).collect()
        };
        // 40 means, none beyond 4.5 standard errors: a false alarm in 3500 seeds.
        for ((mean, variance), (later, variance_later)) in
            levels(minutes, 1).iter().zip(levels(2 * minutes, 2))
        {
            let z = (later - mean) / ((variance + variance_later) / n as f64).sqrt();
            assert!(z.abs() < 4.5 || (later - mean).abs() < 1e-3, "{mean} {later}: {z}");
        }
    }
}

/// Proteins that regulate nothing are left out of a simulation of mRNA; the numbers are the same as with all of them.
#[test]
fn proteins_without_effect_can_be_left_out() {
    let network = networks().nth(2).unwrap();
    let genes = network.genes().len();
    let dynamics = Dynamics::new(&network);
    let all: Vec<usize> = (0..genes).collect();
    assert!(dynamics.regulators().len() < genes);
    let mut full = Langevin::<2>::new(&dynamics, &all, &dynamics.unregulated());
    let mut lean = Langevin::<2>::new(&dynamics, dynamics.regulators(), &dynamics.unregulated());
    let mut normals = vec![[0.0; 2]; 2 * genes];
    for minute in 0..50 {
        Seed::new(1).stream(Purpose::Noise).at(minute).fill_normal(normals.as_flattened_mut());
        full.step(&normals);
        lean.step(&normals);
    }
    assert_eq!(full.state()[..genes], lean.state()[..genes]);
    assert_eq!(full.support()[..genes], lean.support()[..genes]);
}
