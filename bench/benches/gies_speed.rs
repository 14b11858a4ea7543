//! CPU time of GIES and of the bootstrap; with the Python package `gies` beside it if it is installed.
//!
//!     cargo bench -p seabed-bench --bench gies_speed          our own times
//!     bench/gies_speed                                        also the ratio to the Python package
//!
//! Worlds are linear on sparse ER graphs, noise 0.1; half of the rows are observations, half set one variable each.

use std::process::Command;
use std::time::Instant;

use seabed::data::{Dataset, write_csv};
use seabed::num::random::{Purpose, Seed};
use seabed::posterior::Knowledge;
use seabed::posterior::bootstrap::{Bootstrap, GiesResult};
use seabed::scm::{Intervention, Scm};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};
use seabed_bench::{cpu_time_of, header, measure, status_kb};

fn main() {
    header();
    let single = |data: &Dataset| {
        Bootstrap::default().single(data, &Knowledge::none(data.variables()), &()).expect("enough rows")
    };
    for (variables, rows, worlds) in [(20, 40, 5), (50, 100, 5), (50, 200, 5), (200, 400, 3), (500, 1000, 1)]
    {
        let data: Vec<Dataset> = (0..worlds).map(|seed| draw(variables, rows, rows / 2, seed)).collect();
        let edges: usize = data.iter().map(|data| single(data).0.dag.edge_count()).sum();
        let label = format!("GIES, p = {variables}, n = {rows}, {} edges found", edges / worlds as usize);
        measure(&label, &data, single);
    }
    println!("peak memory so far {} MB", status_kb("VmHWM:") >> 10);
    let data = draw(50, 200, 100, 0);
    let start = Instant::now();
    let (cpu, fit) = cpu_time_of(|| {
        Bootstrap::default().fit(&data, &Knowledge::none(50), Seed::new(1), &()).expect("enough rows")
    });
    println!(
        "bootstrap, p = 50, n = 200, 100 draws: {:.3} s, CPU {:.3} s, {} distinct graphs",
        start.elapsed().as_secs_f64(),
        cpu.as_secs_f64(),
        fit.ensemble.draws().len()
    );
    match std::env::var_os("SEABED_PYTHON") {
        None => println!("no comparison with the Python package: see bench/gies_speed"),
        Some(python) => compare(&python, single),
    }
}

/// Rows of a random linear world: observed, then `set` ones with the variables set to 2 in turn.
fn draw(variables: usize, rows: usize, set: usize, seed: u64) -> Dataset {
    let world = Synthetic {
        graph: GraphKind::Er,
        nodes: variables,
        edges_per_node: 1.0,
        mechanism: MechanismKind::Linear(LinearWeights::Normal),
        noise: NoiseLevels::Equal(0.1),
        standardised: false,
    };
    let scm = world.draw(Seed::new(seed)).expect("a sparse graph");
    let stream = Seed::new(seed).stream(Purpose::Noise);
    let mut data = scm.experiment(&Intervention::none(), rows - set, stream).expect("finite");
    for k in 0..set {
        let intervention = Intervention::new([(k % variables, 2.0)]).expect("one target");
        let row = scm.experiment(&intervention, 1, stream.at(k as u64)).expect("finite");
        data.append(&row).expect("the same variables");
    }
    data
}

/// The same data sets by the Python package, in one process each: CPU time of its `fit_bic` alone.
///
/// It centres the data in every regime, so its classes are comparable for observations only.
fn compare(python: &std::ffi::OsStr, single: impl Fn(&Dataset) -> (GiesResult, Scm)) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/gies_python.py");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("data.csv");
    for (variables, rows, set) in [(10, 100, 0), (10, 100, 50), (20, 100, 0), (20, 200, 100)] {
        let data = draw(variables, rows, set, 0);
        write_csv(std::fs::File::create(&path).expect("a file"), &data).expect("written");
        let output = Command::new(python).arg(script).arg(&path).output().expect("the interpreter starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace();
        let (Some(seconds), Some(matrix)) = (words.next(), words.next()) else {
            println!(
                "p = {variables}: the Python package failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            continue;
        };
        let theirs: f64 = seconds.parse().expect("seconds");
        let label = format!("GIES, p = {variables}, n = {rows}, {set} of them set");
        let ours = measure(&label, std::slice::from_ref(&data), &single);
        let class = single(&data).0.class.to_rows_to_columns();
        let same = class.concat().iter().map(|&edge| if edge { '1' } else { '0' }).eq(matrix.chars());
        println!(
            "    the Python package: {theirs:.3} s, ratio {:.0}; the same class: {same}",
            theirs / ours.as_secs_f64()
        );
    }
}
