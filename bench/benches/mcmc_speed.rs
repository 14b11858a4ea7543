//! CPU time of posteriors by Markov chains, over numbers of variables and rows.
//!
//!     cargo bench -p seabed-bench --bench mcmc_speed             the bars: linear d = 50, N = 200; process d = 20 and 50
//!     cargo bench -p seabed-bench --bench mcmc_speed -- table    cost over d and N
//!     cargo bench -p seabed-bench --bench mcmc_speed -- linear 20 100   one case
//!
//! Worlds are ER with one edge per node; linear ones have weights ±[0.5, 2] and noise 0.5, nonlinear ones are networks with
//! noise 0.1. Half of the rows are observations, half single interventions at random targets.

use std::sync::Mutex;
use std::time::Instant;

use seabed::num::random::Seed;
use seabed::observer::Progress;
use seabed::posterior::Knowledge;
use seabed::posterior::mcmc::{Family, Mcmc};
use seabed_bench::{cpu_time_of, random_data, status_kb};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    println!(
        "{:<18} {:>3} {:>5} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>8} {:>6}",
        "family", "d", "N", "sets", "wall s", "CPU s", "scores", "sweeps", "R-hat", "worst", "MB"
    );
    match words.first().map(String::as_str) {
        Some("table") => {
            for family in [Family::Linear, Family::GaussianProcess] {
                for variables in [10, 20, 50] {
                    for rows in [100, 200, 400] {
                        line(family, variables, rows);
                    }
                }
            }
        }
        Some(name) => {
            let number = |k: usize| words.get(k).and_then(|word| word.parse().ok());
            let family = if name == "linear" { Family::Linear } else { Family::GaussianProcess };
            line(family, number(1).unwrap_or(20), number(2).unwrap_or(100));
        }
        None => {
            line(Family::Linear, 50, 200);
            line(Family::GaussianProcess, 20, 200);
            line(Family::GaussianProcess, 50, 200);
        }
    }
}

fn line(family: Family, variables: usize, rows: usize) {
    // Peak memory is reset for every line; where that is impossible, it is the peak so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let data = random_data(family == Family::Linear, variables, rows / 2, rows - rows / 2, 1).1;
    let start = Instant::now();
    let scored = Mutex::new(0.0);
    let (cpu, fit) = cpu_time_of(|| {
        let watch = |progress: &Progress<'_>| {
            if progress.what.to_string().starts_with("scored") {
                *scored.lock().expect("one thread tells") = start.elapsed().as_secs_f64();
            }
            true
        };
        Mcmc::of(family).fit(&data, &Knowledge::none(variables), Seed::new(1), &watch).expect("enough rows")
    });
    let found = &fit.diagnostics;
    let scored = scored.into_inner().expect("one thread tells");
    println!(
        "{:<18} {variables:>3} {rows:>5} {:>8} {:>8.1} {:>8.1} {scored:>7.1} {:>7} {:>7.3} {:>8.3} {:>6}",
        format!("{family:?}"),
        fit.state.sets(),
        start.elapsed().as_secs_f64(),
        cpu.as_secs_f64(),
        found.sweeps,
        found.score.r_hat,
        found.worst_edge,
        status_kb("VmHWM:") >> 10
    );
}
