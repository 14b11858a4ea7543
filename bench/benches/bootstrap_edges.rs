//! How many edges the bootstrap expects, against how many there are, by the price of a parameter.
//!
//!     cargo bench -p seabed-bench --bench bootstrap_edges -- 100 10 1000    10 worlds of 100 variables, seeds from 1000 on
//!
//! Linear ER worlds with one edge a variable, weights ±[0.5, 2] and noise 0.5; 200 observations, or 100 and 100 single
//! interventions at random targets. Means over worlds.

use seabed::data::Dataset;
use seabed::evaluate::{Scores, scores};
use seabed::num::random::Seed;
use seabed::posterior::Knowledge;
use seabed::posterior::bootstrap::Bootstrap;
use seabed_bench::{cpu_time_of, random_data};

/// A name and λ from the numbers of rows and variables.
type Price = (&'static str, fn(f64, f64) -> f64);

const PRICES: [Price; 5] = [
    ("½ ln N (BIC)", |n, _| 0.5 * n.ln()),
    ("ln N", |n, _| n.ln()),
    ("ln N + ½ ln p", |n, p| n.ln() + 0.5 * p.ln()),
    ("ln N + ln p", |n, p| n.ln() + p.ln()),
    ("ln N + 2 ln p", |n, p| n.ln() + 2.0 * p.ln()),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let number = |k: usize, usual: usize| words.get(k).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let (variables, worlds, first) = (number(0, 20), number(1, 10), number(2, 0));
    println!("{variables} variables, 200 rows, {worlds} worlds from seed {first} on");
    println!(
        "{:>13} {:<15} {:>6} {:>9} {:>8} {:>8} {:>7} {:>7} {:>7} {:>7}",
        "interventions", "λ", "edges", "expected", "E-SHD", "E-SID", "AUROC", "AUPRC", "Brier", "CPU s"
    );
    for set in [0, 100] {
        for (name, price) in PRICES {
            let (mut sums, mut cpu) = ([0.0; 7], 0.0);
            for seed in first..first + worlds {
                let (truth, data) = random_data(true, variables, 200 - set, set, seed as u64);
                let penalty = price(data.rows() as f64, variables as f64);
                let (time, (found, expected)) =
                    cpu_time_of(|| fitted(&data, penalty, seed as u64, truth.dag()));
                cpu += time.as_secs_f64();
                let figures = [
                    truth.dag().edge_count() as f64,
                    expected,
                    found.eshd,
                    found.esid.unwrap_or(f64::NAN),
                    found.auroc.unwrap_or(f64::NAN),
                    found.auprc.unwrap_or(f64::NAN),
                    found.brier,
                ];
                sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
            }
            let [edges, expected, eshd, esid, auroc, auprc, brier] = sums.map(|sum| sum / worlds as f64);
            println!(
                "{set:>13} {name:<15} {edges:>6.1} {expected:>9.1} {eshd:>8.2} {esid:>8.1} {auroc:>7.4} {auprc:>7.4} \
                 {brier:>7.4} {:>7.2}",
                cpu / worlds as f64
            );
        }
    }
}

/// The figures of a fit, and how many edges it expects.
fn fitted(data: &Dataset, penalty: f64, seed: u64, truth: &seabed::Dag) -> (Scores, f64) {
    let bootstrap = Bootstrap { penalty: Some(penalty), ..Bootstrap::default() };
    let fit = bootstrap.fit(data, &Knowledge::none(data.variables()), Seed::new(seed), &());
    let ensemble = fit.expect("enough rows").ensemble;
    let expected = ensemble.edge_probabilities().iter().flatten().sum();
    (scores(&ensemble, truth), expected)
}
