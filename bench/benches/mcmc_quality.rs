//! How close posteriors come to the truth: Markov chains beside DiBS and the bootstrap, on the same worlds and data.
//!
//!     cargo bench -p seabed-bench --bench mcmc_quality -- nonlinear 10 20    20 seeds of d = 10, beside dibs-nonlinear
//!     cargo bench -p seabed-bench --bench mcmc_quality -- linear 20 20 1000  beside the bootstrap, seeds from 1000 on
//!     cargo bench -p seabed-bench --bench mcmc_quality -- nonlinear 10 20 1000 alone   the chains alone
//!     cargo bench -p seabed-bench --bench mcmc_quality -- sachs [FOLDER]     the proteins, against the textbook graph
//!
//! 100 observations and 0, 50 and 100 single interventions at random targets; noise unknown to all. Means over seeds,
//! and the mean difference from the chains with its standard error, paired because the worlds are the same.

use seabed::data::Dataset;
use seabed::evaluate::{Scores, area_under_roc, average_precision, scores};
use seabed::num::random::Seed;
use seabed::posterior::Knowledge;
use seabed::posterior::bootstrap::Bootstrap;
use seabed::posterior::dibs::Dibs;
use seabed::posterior::mcmc::{Family, Mcmc};
use seabed::scm::Ensemble;
use seabed_bench::{cpu_time_of, proteins, random_data};

const FIGURES: [&str; 6] = ["E-SHD", "E-SID", "AUROC", "AUPRC", "Brier", "ECE"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if words.first().is_some_and(|word| word == "sachs") {
        return sachs(words.get(1));
    }
    let linear = words.first().is_some_and(|word| word == "linear");
    let number = |k: usize, usual: usize| words.get(k).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let (variables, seeds, first) = (number(1, 10), number(2, 20), number(3, 0) as u64);
    let who = if linear { ["mcmc-linear", "bootstrap"] } else { ["mcmc-gp", "dibs-nonlinear"] };
    let who = if words.last().is_some_and(|word| word == "alone") { &who[..1] } else { &who };
    println!(
        "{} worlds, d = {variables}, 100 observations, {seeds} seeds from {first} on",
        words.first().map_or("nonlinear", |w| w)
    );
    println!(
        "{:>4} {:<15} {:>15} {:>15} {:>15} {:>15} {:>15} {:>15} {:>7}",
        "set", "posterior", FIGURES[0], FIGURES[1], FIGURES[2], FIGURES[3], FIGURES[4], FIGURES[5], "CPU s"
    );
    for set in [0, 50, 100] {
        let mut found: [Vec<[f64; 6]>; 2] = [Vec::new(), Vec::new()];
        let mut cpu = [0.0; 2];
        let mut disagree = 0;
        for seed in (first..).take(seeds) {
            let (truth, data) = random_data(linear, variables, 100, set, seed);
            for k in 0..who.len() {
                let (time, (ensemble, agree)) = cpu_time_of(|| posterior(who[k], &data, seed));
                found[k].push(figures(&scores(&ensemble, truth.dag())));
                cpu[k] += time.as_secs_f64() / seeds as f64;
                disagree += usize::from(!agree);
            }
        }
        for k in 0..who.len() {
            let cells: Vec<String> =
                (0..6).map(|f| cell(&found[k].iter().map(|x| x[f]).collect::<Vec<_>>())).collect();
            println!("{set:>4} {:<15} {} {:>7.1}", who[k], cells.join(" "), cpu[k]);
        }
        println!("{set:>4} {disagree} fits whose chains disagree");
        if who.len() < 2 {
            continue;
        }
        let differences: Vec<String> = (0..6)
            .map(|f| cell(&found[1].iter().zip(&found[0]).map(|(b, a)| b[f] - a[f]).collect::<Vec<_>>()))
            .collect();
        println!("{set:>4} {:<15} {}", "difference", differences.join(" "));
    }
}

fn figures(scores: &Scores) -> [f64; 6] {
    let none = f64::NAN;
    [
        scores.eshd,
        scores.esid.expect("a truth without cycles"),
        scores.auroc.unwrap_or(none),
        scores.auprc.unwrap_or(none),
        scores.brier,
        scores.ece,
    ]
}

/// Mean ± standard error.
fn cell(values: &[f64]) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    format!("{mean:>8.3} ±{:>5.3}", (variance / n).sqrt())
}

/// The ensemble, and whether chains agree.
fn posterior(name: &str, data: &Dataset, seed: u64) -> (Ensemble, bool) {
    let knowledge = Knowledge::none(data.variables());
    let seed = Seed::new(seed);
    let by_chains = |family: Family| {
        let fit = Mcmc::of(family).fit(data, &knowledge, seed, &()).expect("enough rows");
        (fit.ensemble, fit.diagnostics.agree)
    };
    match name {
        "mcmc-linear" => by_chains(Family::Linear),
        "mcmc-gp" => by_chains(Family::GaussianProcess),
        "bootstrap" => {
            (Bootstrap::default().fit(data, &knowledge, seed, &()).expect("enough rows").ensemble, true)
        }
        _ => (Dibs::default().fit(data, &knowledge, seed, &()).expect("enough rows").ensemble, true),
    }
}

fn sachs(folder: Option<&String>) {
    let Some((data, truth)) = proteins(folder) else { return };
    println!(
        "{} rows; {:<15} {:>8} {:>8} {:>7} {:>7} {:>7} {:>8}",
        data.rows(),
        "posterior",
        "E-SHD",
        "E-SID",
        "AUROC",
        "AUPRC",
        "edges",
        "CPU s"
    );
    for who in ["mcmc-linear", "mcmc-gp", "bootstrap", "dibs-nonlinear"] {
        let (time, (ensemble, agree)) = cpu_time_of(|| posterior(who, &data, 1));
        let found = scores(&ensemble, &truth);
        let p = ensemble.edge_probabilities();
        println!(
            "{who:<15} {:>8.2} {:>8.2} {:>7.3} {:>7.3} {:>7.1} {:>8.1}{}",
            found.eshd,
            found.esid.expect("a truth without cycles"),
            area_under_roc(&p, &truth).unwrap_or(f64::NAN),
            average_precision(&p, &truth).unwrap_or(f64::NAN),
            p.iter().flatten().sum::<f64>(),
            time.as_secs_f64(),
            if agree { "" } else { "  (chains disagree)" }
        );
    }
}
