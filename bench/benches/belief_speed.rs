//! CPU time of the density of new rows with parameters integrated out, and of reading a belief.
//!
//!     cargo bench -p seabed-bench --bench belief_speed                  densities
//!     cargo bench -p seabed-bench --bench belief_speed -- read 20       beliefs of so many variables: their size and file
//!
//! A variable with 1, 2 and 3 required parents, 200 rows; a million outcomes, 160 at a time, with 0, 1 and 4 rows of the
//! batch before them.

use seabed::belief::{Given, GraphBelief, Scratch};
use seabed::data::Dataset;
use seabed::graph::NodeSet;
use seabed::num::random::{Purpose, Seed};
use seabed::posterior::Knowledge;
use seabed::posterior::mcmc::{Family, Mcmc};
use seabed_bench::{cpu_time_of, random_data};

/// Outcomes of one call, as many as there are candidate experiments.
const AT_ONCE: usize = 160;
const ROWS: usize = 200;
const FAMILIES: [Family; 2] = [Family::Linear, Family::GaussianProcess];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if words.first().is_some_and(|word| word == "read") {
        let variables = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(10);
        return FAMILIES.into_iter().for_each(|family| read(family, variables));
    }
    println!(
        "{:<18} {:>7} {:>9} {:>10} {:>10} {:>12} {:>12}",
        "kind", "parents", "no row", "1 row", "4 rows", "1 more row", "noise"
    );
    println!("{:<26} {:>31} {:>12} {:>12}", "", "CPU s for a million densities", "CPU µs", "CPU µs");
    for family in FAMILIES {
        for parents in 1..=3 {
            line(family, parents);
        }
    }
}

/// Parents are normal, the value a sum of sines of them with noise 0.3.
fn data(parents: usize) -> Dataset {
    let mut draws = Seed::new(1).stream(Purpose::Noise).draws();
    let mut columns = vec![Vec::with_capacity(ROWS); parents + 1];
    for _ in 0..ROWS {
        let x: Vec<f64> = (0..parents).map(|_| draws.normal()).collect();
        let y = x.iter().map(|x| (1.5 * x).sin()).sum::<f64>() + 0.3 * draws.normal();
        columns.iter_mut().zip(x.into_iter().chain([y])).for_each(|(column, x)| column.push(x));
    }
    let names = (0..=parents).map(|k| format!("X{k}")).collect();
    Dataset::with_regime(names, columns, NodeSet::empty(parents + 1)).expect("finite numbers")
}

fn line(family: Family, parents: usize) {
    let data = data(parents);
    let required: Vec<(usize, usize)> = (0..parents).map(|k| (k, parents)).collect();
    let knowledge = Knowledge::new(data.names(), &[], &required, &[]).expect("a DAG");
    let settings = Mcmc { least_sweeps: 10, most_sweeps: 10, ..Mcmc::of(family) };
    let fit = settings.fit(&data, &knowledge, Seed::new(1), &()).expect("enough rows");
    let law = &fit.graphs.as_ref().expect("finite laws").families(parents)[0].conditional;
    let row = |k: usize| -> Vec<f64> { (0..parents).map(|p| data.column(p)[k]).collect() };
    let with_rows = |count: usize| {
        (0..count).fold(law.given(), |given, k| given.with_row(data.column(parents)[k], &row(k + 20)))
    };
    let times = [0, 1, 4].map(|count| seconds_for_a_million(&with_rows(count), &data, parents));
    let given = with_rows(1);
    let (more, ()) = cpu_time_of(|| {
        (0..10_000).for_each(|k| drop(std::hint::black_box(given.with_row(0.3, &row(k % ROWS)))));
    });
    let (noise, _) = cpu_time_of(|| (0..10_000).map(|k| given.noise(f64::from(k) * 3e-4)).sum::<f64>());
    println!(
        "{:<18} {parents:>7} {:>9.4} {:>10.4} {:>10.4} {:>12.3} {:>12.3}",
        format!("{family:?}"),
        times[0],
        times[1],
        times[2],
        more.as_secs_f64() * 100.0,
        noise.as_secs_f64() * 100.0
    );
}

fn seconds_for_a_million(given: &Given, data: &Dataset, parents: usize) -> f64 {
    let take = |k: usize| &data.column(k)[..AT_ONCE];
    let columns: Vec<&[f64]> = (0..parents).map(take).collect();
    let (mut scratch, mut out) = (Scratch::default(), vec![0.0; AT_ONCE]);
    let calls = 1_000_000 / AT_ONCE;
    let (time, ()) = cpu_time_of(|| {
        (0..calls).for_each(|_| given.add_log_predictives(take(parents), &columns, &mut scratch, &mut out));
    });
    assert!(out.iter().all(|x| x.is_finite()));
    time.as_secs_f64()
}

/// Laws are made anew when a belief is read, as they are at the end of a fit.
fn read(family: Family, variables: usize) {
    let data = random_data(family == Family::Linear, variables, ROWS / 2, ROWS / 2, 1).1;
    let fit = Mcmc::of(family).fit(&data, &Knowledge::none(variables), Seed::new(1), &());
    let belief = fit.expect("enough rows").graphs.expect("finite laws");
    let sizes = (0..variables).flat_map(|node| belief.families(node)).map(|family| family.parents.len());
    let mut counts = [0; 9];
    sizes.for_each(|size| counts[size.min(8)] += 1);
    let text = belief.to_json();
    let (time, _) = cpu_time_of(|| GraphBelief::from_json(text.as_bytes(), "belief").expect("as written"));
    let rows = [0, 1].map(|rows| nanoseconds(&belief, &data, rows));
    println!(
        "{family:?}, {variables} variables: {} graphs, worth {:.0}, entropy {:.2}; families by parents {counts:?}; {} kB, read in \
         {:.2} CPU s; a density takes {:.0} CPU ns, {:.0} after one row of the batch",
        belief.graphs().len(),
        belief.effective_graphs(),
        belief.entropy(),
        text.len() >> 10,
        time.as_secs_f64(),
        rows[0],
        rows[1]
    );
}

/// CPU time of a density, over all families.
fn nanoseconds(belief: &GraphBelief, data: &Dataset, rows: usize) -> f64 {
    let (mut scratch, mut out) = (Scratch::default(), vec![0.0; AT_ONCE]);
    let (mut total, mut count) = (0.0, 0);
    for node in 0..data.variables() {
        for family in belief.families(node) {
            let columns: Vec<&[f64]> = family.parents.iter().map(|&k| &data.column(k)[..AT_ONCE]).collect();
            let row = |k: usize| -> Vec<f64> { columns.iter().map(|column| column[k]).collect() };
            let values = &data.column(node)[..AT_ONCE];
            let given =
                (0..rows).fold(family.conditional.given(), |given, k| given.with_row(values[k], &row(k)));
            let (time, ()) = cpu_time_of(|| {
                (0..10).for_each(|_| given.add_log_predictives(values, &columns, &mut scratch, &mut out));
            });
            total += time.as_secs_f64();
            count += 10 * AT_ONCE;
        }
    }
    total * 1e9 / count as f64
}
