//! `seabed fit`: a posterior from data.

mod dibs;
mod mcmc;
mod shared;

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use seabed::data::{Dataset, ReadOptions, read_graph, read_table, write_atomically};
use seabed::graph::Dag;
use seabed::num::random::Seed;
use seabed::posterior::Knowledge;
use seabed::posterior::bootstrap::{Bootstrap, Degenerate, GiesOptions, GiesResult, degenerate};
use seabed::scm::{Ensemble, Scm};
use serde_json::{Value, json};

use shared::Shared;

use crate::clock::cpu_time;
use crate::failure::Failure;
use crate::progress::Progress;

/// Learn a posterior over causal models from data.
///
/// Prints the most probable edges. --out saves the ensemble of models, which `seabed evaluate` reads (.npz opens in
/// numpy, .json is for small ones). The same command gives the same result on any number of threads, whatever the
/// order of the columns.
#[derive(Args)]
#[command(after_help = "Example: seabed fit data.csv --knowledge knowledge.toml --out belief.npz\n\n\
knowledge.toml:\n  forbidden = [[\"A\", \"B\"]]          # no edge A -> B\n  required = [[\"A\", \"C\"]]\n  \
tiers = [[\"A\"], [\"B\", \"C\"]]      # no edge from a later tier to an earlier one")]
pub struct Arguments {
    /// The data: .csv or .parquet.
    data: PathBuf,
    /// How to learn.
    #[arg(long, value_enum, default_value_t = PosteriorName::McmcGp)]
    posterior: PosteriorName,
    /// Number of draws from the posterior: 200 (mcmc) or 100 (bootstrap) without it; DiBS has --particles.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    draws: Option<u32>,
    /// One search of the data as they are, without resampling (bootstrap).
    #[arg(long)]
    single: bool,
    /// Price of a parameter in the score; half the logarithm of the number of rows (BIC) without it (bootstrap).
    #[arg(long, value_name = "LAMBDA", allow_negative_numbers = true)]
    penalty: Option<f64>,
    /// No variable gets more edges than this (bootstrap).
    #[arg(long, value_name = "COUNT")]
    max_degree: Option<usize>,
    /// A graph to start the search from (.csv; bootstrap).
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
    /// Forbidden and required edges and tiers (.toml).
    #[arg(long, value_name = "FILE")]
    knowledge: Option<PathBuf>,
    /// A column of the data to leave out; repeat it for several.
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Save the ensemble: .npz or .json.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON for programs.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    mcmc: mcmc::Options,
    #[command(flatten)]
    shared: Shared,
    #[command(flatten)]
    dibs: dibs::Options,
}

#[derive(Clone, Copy, ValueEnum)]
enum PosteriorName {
    /// Markov chains over graphs of smooth functions with noise of unknown size (Gaussian processes).
    McmcGp,
    /// Markov chains over graphs of linear models: seconds where mcmc-gp takes minutes.
    McmcLinear,
    /// DAG bootstrap over linear models: searches resampled data (GIES). For hundreds of variables.
    Bootstrap,
    /// DiBS over networks: particles climb the posterior of graphs and mechanisms.
    DibsNonlinear,
    /// DiBS over linear models.
    DibsLinear,
    /// DiBS over graphs of linear models; parameters are drawn from their posterior given the graph.
    DibsBge,
}

/// What was learned, whichever way.
struct Learned {
    ensemble: Ensemble,
    draws: usize,
    /// Draws from which edges had to be removed because of a cycle.
    repaired: usize,
    diagnostics: Value,
    /// Of a single search.
    single: Option<GiesResult>,
    /// What people should know about how far to trust it.
    notes: Vec<String>,
}

const BOOTSTRAP_DRAWS: u32 = 100;

/// Edges that are less probable are not listed for people.
const LEAST_SHOWN: f64 = 0.05;
const MOST_SHOWN: usize = 40;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (clock, cpu) = (Instant::now(), cpu_time());
    let form = arguments.out.as_deref().map(ensemble_form).transpose()?;
    let loaded = read_table(&arguments.data, &ReadOptions { ignore: arguments.ignore.clone() })?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}");
    }
    let data = loaded.dataset;
    let knowledge = read_knowledge(arguments.knowledge.as_deref(), &data)?;
    let bootstrap = Bootstrap {
        draws: arguments.draws.unwrap_or(BOOTSTRAP_DRAWS) as usize,
        penalty: arguments.penalty,
        search: GiesOptions {
            start: arguments.start.as_deref().map(|path| read_start(path, &data)).transpose()?,
            max_degree: arguments.max_degree,
        },
    };
    check_options(arguments)?;
    let learned = match arguments.posterior {
        PosteriorName::Bootstrap => {
            note_degenerate(&data);
            if arguments.single {
                single(&bootstrap, &data, &knowledge)?
            } else {
                resampled(&bootstrap, &data, &knowledge, arguments.seed)?
            }
        }
        PosteriorName::McmcLinear | PosteriorName::McmcGp => mcmc::learn(arguments, &data, &knowledge)?,
        name => dibs::learn(name, arguments, &data, &knowledge)?,
    };
    if let (Some(path), Some(form)) = (&arguments.out, form) {
        write_atomically(path, |out| out.write_all(&form.bytes(&learned.ensemble)))
            .map_err(|error| Failure::writing(Some(path), error))?;
    }
    let seconds = clock.elapsed().as_secs_f64();
    let cpu_seconds = (cpu_time() - cpu).as_secs_f64();
    let written = if arguments.json {
        writeln!(io::stdout().lock(), "{}", as_json(&learned, seconds, cpu_seconds))
    } else {
        print_for_people(&learned, &data, seconds)
    };
    written.map_err(|error| Failure::writing(None, error))
}

/// What a posterior does not understand is not ignored.
fn check_options(arguments: &Arguments) -> Result<(), Failure> {
    let (shared, mcmc) = (&arguments.shared, &arguments.mcmc);
    let (bootstrap, chains, dibs) = match arguments.posterior {
        PosteriorName::Bootstrap => (true, false, false),
        PosteriorName::McmcGp | PosteriorName::McmcLinear => (false, true, false),
        _ => (false, false, true),
    };
    let given = [
        (arguments.single, "--single", bootstrap),
        (arguments.penalty.is_some(), "--penalty", bootstrap),
        (arguments.max_degree.is_some(), "--max-degree", bootstrap),
        (arguments.start.is_some(), "--start", bootstrap),
        (mcmc.sweeps.is_some(), "--sweeps", chains),
        (mcmc.max_parents.is_some(), "--max-parents", chains),
        (mcmc.edge_probabilities.is_some(), "--edge-probabilities", chains),
        (shared.state.is_some(), "--state", chains || dibs),
        (shared.resume.is_some(), "--resume", chains || dibs),
        (shared.warm_start.is_some(), "--warm-start", chains || dibs),
    ];
    match given.iter().find(|(given, _, understood)| *given && !understood) {
        Some((_, option, _)) => {
            Err(Failure::Input(anyhow::anyhow!("{option} does not go with this --posterior; see --help")))
        }
        None => Ok(()),
    }
}

/// Says which edges the search leaves out because the data leave it no choice.
fn note_degenerate(data: &Dataset) {
    let name = |node: usize| &data.names()[node];
    for (reason, with) in degenerate(data) {
        match (reason, with) {
            (Degenerate::Determined(node), Some(other)) => eprintln!(
                "note: {:?} determines {:?} without noise: an edge in this direction is not considered",
                name(other),
                name(node)
            ),
            (Degenerate::Constant(node), _) => eprintln!(
                "note: {:?} does not vary measurably where it was not set: it gets no edge",
                name(node)
            ),
            _ => {}
        }
    }
}

fn single(bootstrap: &Bootstrap, data: &Dataset, knowledge: &Knowledge) -> Result<Learned, Failure> {
    let (found, scm) = bootstrap.single(data, knowledge)?;
    let name = |node: usize| &data.names()[node];
    let step = |step: &seabed::posterior::bootstrap::Step| json!({"kind": step.kind, "from": name(step.from), "to": name(step.to), "gain": step.gain});
    let diagnostics = json!({"steps": found.steps.iter().map(step).collect::<Vec<_>>()});
    let ensemble = Ensemble::uniform(vec![scm]).expect("one model is an ensemble");
    Ok(Learned { ensemble, draws: 1, repaired: 0, diagnostics, single: Some(found), notes: Vec::new() })
}

fn resampled(
    bootstrap: &Bootstrap,
    data: &Dataset,
    knowledge: &Knowledge,
    seed: u64,
) -> Result<Learned, Failure> {
    let progress = Progress::new(bootstrap.draws as u64, "draws");
    let fit = bootstrap.fit(data, knowledge, Seed::new(seed), &|| progress.advance())?;
    progress.finish();
    let diagnostics = json!({
        "scores": fit.scores,
        "steps": fit.steps,
        "distinct_graphs": fit.ensemble.draws().len(),
    });
    let draws = bootstrap.draws;
    Ok(Learned { ensemble: fit.ensemble, draws, repaired: 0, diagnostics, single: None, notes: Vec::new() })
}

/// The file forms of an ensemble.
enum EnsembleForm {
    Json,
    Npz,
}

impl EnsembleForm {
    fn bytes(&self, ensemble: &Ensemble) -> Vec<u8> {
        match self {
            Self::Json => ensemble.to_json().into_bytes(),
            Self::Npz => ensemble.to_npz(),
        }
    }
}

fn ensemble_form(path: &Path) -> Result<EnsembleForm, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(EnsembleForm::Json),
        Some("npz") => Ok(EnsembleForm::Npz),
        _ => Err(Failure::Input(anyhow::anyhow!(
            "{}: ensembles are written as .npz or .json; the name must end in one of them",
            path.display()
        ))),
    }
}

/// The knowledge of a file, or none.
pub fn read_knowledge(path: Option<&Path>, data: &Dataset) -> Result<Knowledge, Failure> {
    let Some(path) = path else { return Ok(Knowledge::none(data.variables())) };
    let in_file = |problem: String| Failure::Input(anyhow::anyhow!("{}: {problem}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| in_file(error.to_string()))?;
    Knowledge::from_toml(&text, data.names()).map_err(|error| in_file(error.to_string()))
}

fn read_start(path: &Path, data: &Dataset) -> Result<Dag, Failure> {
    let dag = read_graph(path)?.aligned(data.names()).and_then(|graph| graph.to_dag());
    dag.map_err(|error| Failure::Input(anyhow::anyhow!("{}: {error}", path.display())))
}

fn as_json(learned: &Learned, seconds: f64, cpu_seconds: f64) -> Value {
    let probabilities = learned.ensemble.edge_probabilities();
    let mut value = json!({
        "names": &learned.ensemble.names()[..],
        "edge_probabilities": probabilities,
        "expected_edges": probabilities.iter().flatten().sum::<f64>(),
        "draws": learned.draws,
        "repaired_cyclic": learned.repaired,
        "diagnostics": learned.diagnostics,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
    });
    if let Some(found) = &learned.single {
        let numbers = |rows: Vec<Vec<bool>>| -> Vec<Vec<u8>> {
            rows.into_iter().map(|row| row.into_iter().map(u8::from).collect()).collect()
        };
        value["essential_graph"] = json!(numbers(class_of(found)));
        value["representative"] = json!(numbers(found.dag.to_rows_to_columns()));
        value["score"] = json!(found.score);
    }
    value
}

/// The estimated class, refined by what is known beforehand.
fn class_of(found: &GiesResult) -> Vec<Vec<bool>> {
    found
        .refined
        .as_ref()
        .map_or_else(|| found.class.to_rows_to_columns(), |refined| refined.to_rows_to_columns())
}

fn print_for_people(learned: &Learned, data: &Dataset, seconds: f64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let names = learned.ensemble.names();
    let set = (0..data.rows()).filter(|&row| !data.targets(row).is_empty()).count();
    writeln!(
        out,
        "{} variables, {} rows ({} observed, {set} with interventions), {seconds:.1} s",
        names.len(),
        data.rows(),
        data.rows() - set
    )?;
    if let Some(found) = &learned.single {
        return print_single(&mut out, found, names);
    }
    let probabilities = learned.ensemble.edge_probabilities();
    let mut edges: Vec<(f64, usize, usize)> = (0..names.len())
        .flat_map(|i| (0..names.len()).map(move |j| (i, j)))
        .map(|(i, j)| (probabilities[i][j], i, j))
        .filter(|edge| edge.0 >= LEAST_SHOWN)
        .collect();
    edges.sort_by(|a, b| b.0.total_cmp(&a.0));
    let expected: f64 = probabilities.iter().flatten().sum();
    if learned.repaired > 0 {
        writeln!(
            out,
            "({} draws had cycles; their least probable edges on cycles are left out)",
            learned.repaired
        )?;
    }
    for note in &learned.notes {
        writeln!(out, "{note}")?;
    }
    writeln!(
        out,
        "{} draws, {} different graphs, {expected:.1} edges expected; the most probable:",
        learned.draws,
        learned.ensemble.draws().iter().map(Scm::dag).collect::<HashSet<_>>().len()
    )?;
    let width = edges.iter().map(|edge| names[edge.1].chars().count()).max().unwrap_or(0);
    for (p, i, j) in edges.iter().take(MOST_SHOWN) {
        writeln!(out, "  {p:.2}  {:>width$} -> {}", names[*i], names[*j])?;
    }
    if edges.len() > MOST_SHOWN {
        writeln!(out, "  and {} more above {LEAST_SHOWN}; --json has all", edges.len() - MOST_SHOWN)?;
    }
    Ok(())
}

fn print_single(out: &mut impl Write, found: &GiesResult, names: &[String]) -> io::Result<()> {
    writeln!(
        out,
        "score {:.4} after {} steps; the class (--- = direction unknown):",
        found.score,
        found.steps.len()
    )?;
    let class = class_of(found);
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (i, row) in class.iter().enumerate() {
        for (j, _) in row.iter().enumerate().filter(|(_, edge)| **edge) {
            if !class[j][i] {
                writeln!(out, "  {:>width$} --> {}", names[i], names[j])?;
            } else if i < j {
                writeln!(out, "  {:>width$} --- {}", names[i], names[j])?;
            }
        }
    }
    Ok(())
}
