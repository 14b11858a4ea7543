//! CPU time of the gene networks: `cargo bench -p seabed-bench --bench grn_speed [-- NETWORK.xml …]`.
//!
//! For each network a wild-type sample, a sweep (one sample of every knock-out), and all steady states without noise.
//! Without files, generated networks of 10 and 50 genes. GeneNetWeaver in a warm JVM takes 1.6–2.5 ms per wild-type sample
//! and 0.32–0.71 s per sweep at 50 genes; ours should take a tenth of that or less.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use seabed::num::random::{Purpose, Seed};
use seabed::scm::Intervention;
use seabed::world::World;
use seabed::world::grn::{Generated, Grn, Measurement, Network, Organism};
use seabed_bench::cpu_time_of;

/// Samples of each experiment: a multiple of what is simulated side by side.
const SAMPLES: usize = 128;

/// The shortest of this many runs counts, because others use the machine too.
const RUNS: usize = 5;

fn main() {
    let files: Vec<String> = std::env::args().skip(1).filter(|argument| argument.ends_with(".xml")).collect();
    let mut networks: Vec<Network> =
        files.iter().map(|file| Network::read(Path::new(file)).expect("a network")).collect();
    if networks.is_empty() {
        for (organism, genes) in [
            (Organism::EcoliLike, 10),
            (Organism::YeastLike, 10),
            (Organism::EcoliLike, 50),
            (Organism::YeastLike, 50),
        ] {
            networks.push(Generated { organism, genes }.draw(Seed::new(1)).expect("a network"));
        }
    }
    println!(
        "{:<26} {:>11} {:>14} {:>14} {:>14}",
        "CPU time", "regulations", "wild type", "sweep", "steady states"
    );
    for network in networks {
        let edges: usize = network.genes().iter().map(|gene| gene.inputs().count()).sum();
        let name = network.name().to_string();
        let genes = network.genes().len();
        let noisy = Grn::new(network.clone(), Measurement::default());
        let quiet = Grn::new(network, Measurement { deterministic: true, ..Measurement::default() });
        let knockout = |gene: usize| Intervention::new([(gene, 0.0)]).expect("one target");
        let experiment = |world: &Grn, intervention: &Intervention, samples: usize| {
            let stream = Seed::new(1).stream(Purpose::Noise);
            black_box(world.experiment(intervention, samples, stream).expect("finite levels"));
        };
        let wild = shortest(|| experiment(&noisy, &Intervention::none(), SAMPLES)) / SAMPLES as u32;
        let sweep = shortest(|| (0..genes).for_each(|gene| experiment(&noisy, &knockout(gene), SAMPLES)));
        let steady = shortest(|| (0..genes).for_each(|gene| experiment(&quiet, &knockout(gene), 1)));
        println!(
            "{name:<26} {edges:>11} {:>11.4} ms {:>11.4} s {:>11.4} s",
            wild.as_secs_f64() * 1e3,
            (sweep / SAMPLES as u32).as_secs_f64(),
            steady.as_secs_f64()
        );
    }
}

fn shortest(work: impl Fn()) -> Duration {
    (0..RUNS).map(|_| cpu_time_of(&work).0).min().unwrap_or_default()
}
