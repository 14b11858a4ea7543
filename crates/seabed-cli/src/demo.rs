//! `seabed demo`: chosen experiments against random ones, to watch.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use seabed::observer::Stage;
use seabed::settings::Keys;
use seabed_report::RunView;
use seabed_study::{Outcome, Sweep};

use crate::failure::Failure;
use crate::outputs::Force;
use crate::progress::{Bar, stop_on_interrupt};
use crate::report::report_study;
use crate::run::print;

/// Compare chosen experiments with random ones on simulated worlds, in about a minute.
///
/// Six worlds of ten variables with nonlinear mechanisms, 50 observations each, then four rounds of two experiments: once
/// chosen so that the fewest edges are expected to be wrong, once at random. All runs and a report are written to the
/// folder seabed-demo. The same command continues a demo that was interrupted.
#[derive(Args)]
pub struct Arguments {
    /// Seed of the first world.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Output folder.
    #[arg(long, value_name = "FOLDER", default_value = "seabed-demo")]
    out: PathBuf,
    #[command(flatten)]
    force: Force,
}

/// The worlds of docs/results/designs/demo.toml, fewer of them, with fewer candidates to be quick.
const DEMO: &str = r#"
seeds = 6
rounds = 4
[world]
nodes = 10
observations = 50
[posterior]
kind = "mcmc-gp"
draws = 60
candidates = 6
[[design]]
strategy = "greedy-edges"
values = "refined"
batch = 2
[[design]]
strategy = "random"
batch = 2
"#;

/// Above this probability an edge counts as found.
const FOUND: f64 = 0.5;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut keys = Keys::parse(DEMO, "demo")?;
    keys.insert("seed", arguments.seed as i64);
    let ours = Sweep::is_study(&arguments.out);
    arguments.force.check_folder(
        &arguments.out,
        ours,
        &[&Sweep::FILES[..], &["report.html"]].concat(),
        &[],
    )?;
    let sweep = Sweep::create(&arguments.out, &keys)?;
    stop_on_interrupt();
    let (rounds, batch) = (sweep.runs()[0].config.rounds, sweep.runs()[0].config.design.batch);
    print(&format!(
        "expected number of wrong edges (E-SHD) before any experiment, and after {} of them\n\
         world  before  chosen  random\n",
        rounds * batch
    ))?;
    let worlds = sweep.runs().len() / 2;
    let mut sums = [0.0; 3];
    for world in 0..worlds {
        let mut line = [0.0; 3];
        for (arm, name) in ["chosen", "random"].into_iter().enumerate() {
            let index = 2 * world + arm;
            let (bar, name) = (Bar::new(), format!("world {} of {worlds}, {name}", world + 1));
            let outcome = sweep.run_one(index, &Stage { observer: &bar, name }, &|_| ());
            if let Outcome::Failed(error) = outcome {
                return Err(error.into());
            }
            let rows = sweep.folder(index).metrics()?;
            let errors = |row: usize| rows.get(row).and_then(|row| row.eshd).unwrap_or(f64::NAN);
            (line[0], line[1 + arm]) = (errors(0), errors(rounds));
        }
        sums.iter_mut().zip(line).for_each(|(sum, x)| *sum += x);
        print(&format!("{:>5}  {:>6.1}  {:>6.1}  {:>6.1}\n", world + 1, line[0], line[1], line[2]))?;
    }
    let [before, chosen, random] = sums.map(|sum| sum / worlds as f64);
    print(&format!(" mean  {before:>6.1}  {chosen:>6.1}  {random:>6.1}\n\n"))?;
    sweep.write_results()?;
    let place = arguments.out.join("report.html");
    let (study, first_world) = report_study(&sweep, &arguments.out, &place, None, &[0, 1], &arguments.force)?;
    print(&seabed_report::study_sentences(&study))?;
    if chosen >= random {
        print("in these worlds choosing did not pay\n")?;
    }
    for (run, name) in first_world.iter().zip(["chosen", "random"]) {
        print(&format!("\n{}", graph(run, name)))?;
    }
    print(&format!("report written to {}\n", place.display()))
}

/// The edges that were found in a world, and those that were missed.
fn graph(run: &RunView, experiments: &str) -> String {
    let mut text = format!("the first world after its {experiments} experiments:\n");
    let there = |from: usize, to: usize| run.truth.as_ref().is_some_and(|truth| truth[from][to]);
    for (from, row) in run.edge_probabilities.iter().enumerate() {
        for (to, &probability) in row.iter().enumerate() {
            let verdict = match (probability > FOUND, there(from, to)) {
                (true, true) => "found",
                (true, false) => "wrong",
                (false, true) => "missed",
                (false, false) => continue,
            };
            let (from, to) = (&run.names[from], &run.names[to]);
            let _ = writeln!(text, "  {from:>4} -> {to:<4} {probability:.2}  {verdict}");
        }
    }
    text
}
