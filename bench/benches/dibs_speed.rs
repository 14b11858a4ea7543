//! CPU time of DiBS; with the Python package `dibs-lib` (JAX on the CPU) beside it if it is installed.
//!
//!     cargo bench -p seabed-bench --bench dibs_speed          our own times
//!     bench/dibs_speed                                        also the ratio to the Python package
//!
//! Numbers after `--` are the numbers of variables to measure, without whole fits.
//! Worlds are nonlinear on sparse ER graphs, noise 0.1, 100 observations, 20 particles. The first steps are the
//! slowest, because edges are still undecided: ours is measured over steps 20 to 60 and over whole fits, the Python
//! package, whose steps all cost the same, over steps 10 to 20.

use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use seabed::data::{Dataset, write_csv};
use seabed::num::random::{Purpose, Seed};
use seabed::observer::Progress;
use seabed::posterior::dibs::{Dibs, Estimator, Noise};
use seabed::posterior::{FitError, Knowledge};
use seabed::scm::Intervention;
use seabed::world::{GraphKind, MechanismKind, NoiseLevels, Synthetic, World};
use seabed_bench::{cpu_time, cpu_time_of, status_kb};

/// Steps that are left out at the beginning, and steps that are measured.
const SKIPPED: u64 = 20;
const MEASURED: u64 = 40;

fn main() {
    let asked: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![10, 20, 50] } else { asked.clone() };
    let same_work = Dibs {
        estimator: Estimator::Joint,
        samples: 128,
        acyclicity_samples: 32,
        noise: Noise::Known(0.1),
        standardise: false,
        ..Dibs::default()
    };
    let ours = Dibs { noise: Noise::Known(0.1), standardise: false, ..Dibs::default() };
    let python = std::env::var_os("SEABED_PYTHON");
    if python.is_none() {
        println!("no comparison with the Python package: see bench/dibs_speed");
    }
    println!("CPU ms a step, N = 100, 20 particles, steps {SKIPPED} to {}:", SKIPPED + MEASURED);
    for variables in sizes {
        let data = draw(variables, 100, 1);
        let (joint, columns) = (per_step(&same_work, &data), per_step(&ours, &data));
        // The penalty's cost is in proportion to its samples: sixteen against one, the least of three each.
        let with = |acyclicity_samples: usize| {
            let settings = Dibs { acyclicity_samples, ..ours.clone() };
            (0..3).map(|_| per_step(&settings, &data)).fold(f64::INFINITY, f64::min)
        };
        let of_penalty = 100.0 * ours.acyclicity_samples as f64 * (with(16) - with(1)) / 15.0 / columns;
        print!(
            "d = {variables:>2}: joint, M = 128: {joint:>8.2}; columns, M = 16: {columns:>7.2}, of it {of_penalty:.0} % \
             for acyclicity"
        );
        match python.as_deref().and_then(|python| theirs(python, &data)) {
            None => println!(),
            Some((ms, mb)) => println!(
                "; Python package {ms:.0} ({mb:.0} MB), ratios {:.0} and {:.0}",
                ms / joint,
                ms / columns
            ),
        }
    }
    println!("peak memory so far, joint estimator and all: {} MB", peak_mb());
    for variables in if asked.is_empty() { vec![20, 50] } else { vec![] } {
        let data = draw(variables, 100, 1);
        for stop_early in [false, true] {
            let settings = Dibs { stop_early, ..Dibs::default() };
            let start = Instant::now();
            let (cpu, fit) = cpu_time_of(|| {
                settings.fit(&data, &Knowledge::none(variables), Seed::new(1), &()).expect("enough rows")
            });
            let last = fit.state.history.last().expect("measured at the end");
            println!(
                "whole fit, d = {variables}: {:.1} s, CPU {:.1} s, {} steps ({:?}), {} repaired, log joint {:.0}, peak memory {} MB",
                start.elapsed().as_secs_f64(),
                cpu.as_secs_f64(),
                last.step,
                fit.end,
                fit.repaired,
                last.log_joint,
                peak_mb()
            );
        }
    }
    if asked.is_empty() {
        let data = draw(20, 100, 1);
        let many = per_step(&Dibs { particles: 200, ..ours }, &data);
        println!("d = 20, 200 particles: {many:.1} CPU ms a step; peak memory {} MB", peak_mb());
    }
}

fn peak_mb() -> u64 {
    status_kb("VmHWM:") >> 10
}

fn per_step(settings: &Dibs, data: &Dataset) -> f64 {
    let start = Mutex::new(cpu_time());
    let watch = |progress: &Progress<'_>| {
        if progress.done == SKIPPED {
            *start.lock().expect("one thread tells") = cpu_time();
        }
        progress.done < SKIPPED + MEASURED
    };
    let knowledge = Knowledge::none(data.variables());
    let stopped = settings.fit(data, &knowledge, Seed::new(1), &watch);
    assert!(matches!(stopped, Err(FitError::Stopped(_))), "there are more steps than are measured");
    (cpu_time() - start.into_inner().expect("one thread tells")).as_secs_f64() * 1e3 / MEASURED as f64
}

/// Observations of a random nonlinear world.
fn draw(variables: usize, rows: usize, seed: u64) -> Dataset {
    let world = Synthetic {
        graph: GraphKind::Er,
        nodes: variables,
        edges_per_node: 1.0,
        mechanism: MechanismKind::Mlp { hidden: 5 },
        noise: NoiseLevels::Equal(0.1),
        standardised: false,
    };
    let scm = world.draw(Seed::new(seed)).expect("a sparse graph");
    scm.experiment(&Intervention::none(), rows, Seed::new(seed).stream(Purpose::Noise)).expect("finite")
}

/// CPU ms per step and peak memory in MB of the Python package on the same data, in a separate process.
fn theirs(python: &std::ffi::OsStr, data: &Dataset) -> Option<(f64, f64)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/dibs_python.py");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("data.csv");
    write_csv(std::fs::File::create(&path).expect("a file"), data).expect("written");
    let output = Command::new(python).arg(script).arg(&path).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    if figures.len() != 2 {
        println!("the Python package failed: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some((figures[0], figures[1]))
}
