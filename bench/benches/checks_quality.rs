//! How often the checks after a fit raise a false alarm, and what they cost beside the fit.
//!
//!     cargo bench -p seabed-bench --bench checks_quality -- mcmc-linear 10 100 1000    100 worlds of d = 10, seeds from 1000 on
//!
//! Random ER worlds that the models are right for: linear ones for `mcmc-linear` and `bootstrap`, networks for `mcmc-gp`; 100
//! observations, and 100 with 50 single interventions at random targets.

use std::collections::BTreeMap;

use seabed::checks::{Kind, check};
use seabed::data::Dataset;
use seabed::num::random::Seed;
use seabed::posterior::Knowledge;
use seabed::posterior::bootstrap::Bootstrap;
use seabed::posterior::mcmc::{Family, Mcmc};
use seabed::scm::Ensemble;
use seabed_bench::{cpu_time_of, random_data};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let who = words.first().map_or("mcmc-linear", String::as_str);
    let number = |k: usize, usual: usize| words.get(k).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let (variables, worlds, first) = (number(1, 10), number(2, 100), number(3, 0) as u64);
    for set in [0, 50] {
        let (mut fit_time, mut check_time, mut alarms) = (0.0, 0.0, 0);
        let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
        for seed in first..first + worlds as u64 {
            let (_, data) = random_data(who != "mcmc-gp", variables, 100, set, seed);
            let (time, ensemble) = cpu_time_of(|| posterior(who, &data, seed));
            fit_time += time.as_secs_f64();
            let (time, found) = cpu_time_of(|| check(&data, &ensemble, &()).expect("the same variables"));
            check_time += time.as_secs_f64();
            alarms += usize::from(!found.is_empty());
            for finding in &found {
                *kinds.entry(finding.kind).or_default() += 1;
                println!("    seed {seed}: p = {:.1e}: {}", finding.p_value, finding.text);
            }
        }
        let n = worlds as f64;
        println!(
            "{who}, {variables} variables, 100 observations, {set} interventions: {alarms} of {worlds} worlds with any finding \
             ({kinds:?}); CPU {:.4} s a check, {:.3} s a fit",
            check_time / n,
            fit_time / n
        );
    }
}

fn posterior(name: &str, data: &Dataset, seed: u64) -> Ensemble {
    let (knowledge, seed) = (Knowledge::none(data.variables()), Seed::new(seed));
    let by_chains = |family| Mcmc::of(family).fit(data, &knowledge, seed, &()).expect("enough rows").ensemble;
    match name {
        "mcmc-linear" => by_chains(Family::Linear),
        "mcmc-gp" => by_chains(Family::GaussianProcess),
        _ => Bootstrap::default().fit(data, &knowledge, seed, &()).expect("enough rows").ensemble,
    }
}
