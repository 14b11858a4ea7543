//! Can the probabilities be trusted where data are not as the model would have them?
//!
//!     cargo bench -p seabed-bench --bench real_data -- independent 100 1000   sets with a false edge above 0.9
//!     cargo bench -p seabed-bench --bench real_data -- signal 6 1000          strong signals, beside the bootstrap
//!     cargo bench -p seabed-bench --bench real_data -- speed 25 1000 1000     CPU seconds of mcmc-gp and mcmc-linear
//!     cargo bench -p seabed-bench --bench real_data -- sachs [FOLDER]         trust and agreement of chains on the proteins
//!
//! Numbers are those of worlds and the first seed: settings were chosen on seeds below 1000.

use seabed::data::Dataset;
use seabed::evaluate::scores;
use seabed::graph::{Dag, NodeSet};
use seabed::num::random::{Draws, Purpose, Seed};
use seabed::posterior::Knowledge;
use seabed::posterior::bootstrap::Bootstrap;
use seabed::posterior::mcmc::{Family, Mcmc, McmcFit, Trust, TrustRule};
use seabed::scm::{Intervention, Scm};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};
use seabed_bench::{cpu_time_of, proteins, random_data};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let number = |k: usize, usual: usize| words.get(k).and_then(|word| word.parse().ok()).unwrap_or(usual);
    match words.first().map_or("", |word| word) {
        "independent" => independent(number(1, 100), number(2, 1000) as u64),
        "signal" => signal(number(1, 6), number(2, 1000) as u64),
        "speed" => speed(number(1, 25), number(2, 1000), number(3, 1000) as u64),
        "sachs" => sachs(words.get(1)),
        _ => println!("choose independent, signal, speed or sachs"),
    }
}

fn fit(settings: &Mcmc, data: &Dataset, seed: u64) -> McmcFit {
    settings.fit(data, &Knowledge::none(data.variables()), Seed::new(seed), &()).expect("enough rows")
}

type Shape = (&'static str, fn(&mut Draws) -> f64);

const SHAPES: [Shape; 8] = [
    ("normal", |draws| draws.normal()),
    ("lognormal 1.0", |draws| draws.normal().exp()),
    ("lognormal 1.5", |draws| (1.5 * draws.normal()).exp()),
    ("Student t3", |draws| {
        let squares: f64 = (0..3).map(|_| draws.normal().powi(2)).sum();
        draws.normal() / (squares / 3.0).sqrt()
    }),
    ("exponential", |draws| -(1.0 - draws.uniform()).ln()),
    ("bimodal", |draws| if draws.uniform() < 0.5 { draws.normal() } else { 6.0 + draws.normal() }),
    ("counts, mean 2", |draws| {
        // A Poisson number: how many exponential waits fit into two units of time.
        let (mut time, mut count) = (0.0, -1.0);
        while time < 2.0 {
            time -= (1.0 - draws.uniform()).ln();
            count += 1.0;
        }
        count
    }),
    ("counts with tails", |draws| (2.0 * draws.normal().exp()).floor()),
];

/// Five independent columns of 200 rows.
fn independent(sets: usize, first: u64) {
    println!("{sets} sets of five independent columns, 200 rows, seeds from {first}; mcmc-gp");
    println!(
        "{:<20} {:>20} {:>15} {:>10} {:>7}",
        "columns", "false edge above 0.9", "mean largest", "E-SHD", "CPU s"
    );
    let empty = Dag::from_edges(5, []).expect("no edges");
    for (name, shape) in SHAPES {
        let (mut above, mut largest, mut eshd, mut cpu) = (0, 0.0, 0.0, 0.0);
        for seed in first..first + sets as u64 {
            let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
            let columns = (0..5).map(|_| (0..200).map(|_| shape(&mut draws)).collect()).collect();
            let names = (0..5).map(|k| format!("X{k}")).collect();
            let data = Dataset::with_regime(names, columns, NodeSet::empty(5)).expect("numbers");
            let (time, fit) = cpu_time_of(|| fit(&Mcmc::of(Family::GaussianProcess), &data, seed));
            let most = fit.edge_probabilities.iter().flatten().copied().fold(0.0, f64::max);
            above += usize::from(most > 0.9);
            largest += most / sets as f64;
            eshd += scores(&fit.ensemble, &empty).eshd / sets as f64;
            cpu += time.as_secs_f64() / sets as f64;
        }
        println!("{name:<20} {above:>20} {largest:>15.3} {eshd:>10.2} {cpu:>7.2}");
    }
}

/// Linear worlds of six variables with noise 0.1, in which single variables are set to values up to ±10, or to ten million
/// times that.
fn signal(worlds: usize, first: u64) {
    println!("{worlds} linear worlds of 6 variables, noise 0.1; seeds from {first}");
    println!("{:>6} {:>9} {:<12} {:>7} {:>7}", "world", "set to", "posterior", "E-SHD", "E-SID");
    for seed in first..first + worlds as u64 {
        for size in [10.0, 1e7] {
            let (truth, data) = strong(seed, size);
            let score = |name: &str, ensemble: &seabed::scm::Ensemble| {
                let found = scores(ensemble, truth.dag());
                let esid = found.esid.expect("a truth without cycles");
                println!("{seed:>6} {size:>9} {name:<12} {:>7.2} {esid:>7.2}", found.eshd);
            };
            let bootstrap = Bootstrap::default().fit(&data, &Knowledge::none(6), Seed::new(seed), &());
            score("bootstrap", &bootstrap.expect("enough rows").ensemble);
            score("mcmc-gp", &fit(&Mcmc::of(Family::GaussianProcess), &data, seed).ensemble);
            score("mcmc-linear", &fit(&Mcmc::of(Family::Linear), &data, seed).ensemble);
        }
    }
}

fn strong(seed: u64, size: f64) -> (Scm, Dataset) {
    let world = Synthetic {
        graph: GraphKind::Er,
        nodes: 6,
        edges_per_node: 1.0,
        mechanism: MechanismKind::Linear(LinearWeights::UNIFORM),
        noise: NoiseLevels::Equal(0.1),
        standardised: false,
    };
    let scm = world.draw(Seed::new(seed)).expect("a sparse graph");
    let stream = Seed::new(seed).stream(Purpose::Noise);
    let mut data = scm.experiment(&Intervention::none(), 60, stream).expect("finite");
    let mut draws = stream.named("values").draws();
    for row in 0..60 {
        let value = size * (2.0 * draws.uniform() - 1.0);
        let set = Intervention::new([(row % 6, value)]).expect("one target");
        let outcome = scm.experiment(&set, 1, stream.at(row as u64)).expect("finite");
        data.append(&outcome).expect("the same variables");
    }
    (scm, data)
}

fn speed(variables: usize, rows: usize, seed: u64) {
    println!("{variables} variables, {rows} rows; seed {seed}");
    let families: &[(&str, Family)] =
        &[("mcmc-linear", Family::Linear), ("mcmc-gp", Family::GaussianProcess)];
    // Processes of hundreds of variables are no measurement but a night's work.
    let count = if variables > 50 { 1 } else { 2 };
    for (name, family) in &families[..count] {
        let (truth, data) = random_data(true, variables, rows, 0, seed);
        let (time, fit) = cpu_time_of(|| fit(&Mcmc::of(*family), &data, seed));
        println!(
            "{name:<12} {:>8.1} CPU s, E-SHD {:.1}, {} sweeps, chains {}",
            time.as_secs_f64(),
            scores(&fit.ensemble, truth.dag()).eshd,
            fit.diagnostics.sweeps,
            if fit.diagnostics.agree { "agree" } else { "disagree" }
        );
    }
}

fn sachs(folder: Option<&String>) {
    let Some((data, truth)) = proteins(folder) else { return };
    println!("{} rows; log score and Brier over ordered pairs", data.rows());
    println!(
        "{:<12} {:>6} {:>7} {:>7} {:>10} {:>8} {:>7} {:>8} {:>7}  mean scores of the chains, below the best",
        "posterior", "trust", "E-SHD", "Brier", "log score", "entropy", "AUROC", "edges", "CPU s"
    );
    for (name, family) in [("mcmc-linear", Family::Linear), ("mcmc-gp", Family::GaussianProcess)] {
        for trust in [Trust::FULL, Trust::Named(TrustRule::Auto)] {
            let settings = Mcmc { trust, chains: 8, ..Mcmc::of(family) };
            let (time, fit) = cpu_time_of(|| fit(&settings, &data, 1));
            let p = &fit.edge_probabilities;
            let (mut log_score, mut edges) = (0.0, 0.0);
            let pairs = (0..p.len()).flat_map(|i| (0..p.len()).filter(move |&j| j != i).map(move |j| (i, j)));
            for (i, j) in pairs.clone() {
                // A probability from so many graphs is known to about half of one.
                let p = p[i][j].clamp(0.0005, 0.9995);
                log_score += if truth.has_edge(i, j) { p.ln() } else { (1.0 - p).ln() };
                edges += p;
            }
            let found = scores(&fit.ensemble, &truth);
            let best = fit.diagnostics.mean_scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let below: Vec<String> =
                fit.diagnostics.mean_scores.iter().map(|score| format!("{:.1}", best - score)).collect();
            println!(
                "{name:<12} {:>6.3} {:>7.1} {:>7.3} {:>10.3} {:>8.2} {:>7.3} {edges:>8.1} {:>7.1}  {} ({} sweeps)",
                fit.trust(),
                found.eshd,
                found.brier,
                log_score / pairs.count() as f64,
                fit.graphs.as_ref().map_or(f64::NAN, seabed::belief::GraphBelief::entropy),
                found.auroc.unwrap_or(f64::NAN),
                time.as_secs_f64(),
                below.join(" "),
                fit.diagnostics.sweeps
            );
        }
    }
}
