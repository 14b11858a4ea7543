//! Shared by the benchmarks: the CPU clock, peak memory, a table of medians, and random data.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use seabed::data::{Dataset, ReadOptions, read_graph, read_table};
use seabed::graph::Dag;
use seabed::num::random::{Purpose, Seed};
use seabed::scm::{Intervention, Scm};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};

/// CPU time of this process so far, all threads.
pub fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// CPU time of `work`, all threads.
pub fn cpu_time_of<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let start = cpu_time();
    let result = work();
    (cpu_time() - start, result)
}

/// A figure of /proc/self/status in kB, on Linux; 0 elsewhere. `VmHWM` is the peak memory.
pub fn status_kb(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|figure| figure.parse().ok()).unwrap_or(0)
}

/// Shortest time that is worth dividing by the number of repeats.
const ENOUGH: Duration = Duration::from_millis(80);

/// Prints median and largest CPU time of `work` over the inputs, each repeated until the clock is exact enough.
pub fn measure<T, R>(label: &str, inputs: &[T], work: impl Fn(&T) -> R) -> Duration {
    let mut times: Vec<Duration> = inputs
        .iter()
        .map(|input| {
            let mut repeats = 1;
            loop {
                let (time, ()) = cpu_time_of(|| {
                    for _ in 0..repeats {
                        black_box(work(black_box(input)));
                    }
                });
                if time >= ENOUGH {
                    return time / repeats;
                }
                repeats *= 2;
            }
        })
        .collect();
    times.sort_unstable();
    let (median, largest) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{label:<58} {:>9.4} ms {:>9.4} ms", millis(median), millis(largest));
    median
}

/// Prints the header of the table that [`measure`] fills.
pub fn header() {
    println!("{:<58} {:>12} {:>12}", "CPU time", "median", "largest");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A random ER world with one edge a node, and its data: observations, then single interventions at random targets with
/// values up to twice a standard deviation from the mean. Linear worlds have weights ±[0.5, 2] and noise 0.5, others are
/// networks with noise 0.1.
pub fn random_data(linear: bool, variables: usize, observed: usize, set: usize, seed: u64) -> (Scm, Dataset) {
    let world = Synthetic {
        graph: GraphKind::Er,
        nodes: variables,
        edges_per_node: 1.0,
        mechanism: if linear {
            MechanismKind::Linear(LinearWeights::UNIFORM)
        } else {
            MechanismKind::Mlp { hidden: 5 }
        },
        noise: NoiseLevels::Equal(if linear { 0.5 } else { 0.1 }),
        standardised: false,
    };
    let scm = world.draw(Seed::new(seed)).expect("a sparse graph");
    let stream = Seed::new(seed).stream(Purpose::Noise);
    let mut data = scm.experiment(&Intervention::none(), observed, stream).expect("finite");
    let columns: Vec<Vec<f64>> = data.columns().to_vec();
    let mut draws = stream.named("targets").draws();
    for row in 0..set {
        let target = draws.below(variables);
        let n = observed as f64;
        let mean = columns[target].iter().sum::<f64>() / n;
        let sd = (columns[target].iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        let value = mean + sd * (4.0 * draws.uniform() - 2.0);
        let intervention = Intervention::new([(target, value)]).expect("one target");
        let outcome = scm.experiment(&intervention, 1, stream.at(row as u64)).expect("finite");
        data.append(&outcome).expect("the same variables");
    }
    (scm, data)
}

/// The proteins of Sachs et al. and the textbook's graph, from a folder; by default from `shared/data` beside the clone. None,
/// with a notice, where they are not.
pub fn proteins(folder: Option<&String>) -> Option<(Dataset, Dag)> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = folder.map_or_else(usual, PathBuf::from);
    let (table, graph) = (folder.join("sachs.csv"), folder.join("sachs_truth.csv"));
    if !table.exists() || !graph.exists() {
        println!("skipped: no sachs.csv and sachs_truth.csv in {}", folder.display());
        return None;
    }
    let options = ReadOptions::ignoring(&["condition".into()]);
    let data = read_table(&table, &options).expect("a table of numbers").dataset;
    let truth = read_graph(&graph).and_then(|graph| graph.aligned(data.names()));
    let truth = truth.and_then(|graph| graph.to_dag()).expect("a DAG of the same proteins");
    Some((data, truth))
}
