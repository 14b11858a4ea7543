//! `seabed fit`: a posterior from data.

mod options;
mod print;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use seabed::belief::{self, GraphBelief};
use seabed::data::{DataSummary, Dataset, traps};
use seabed::num::random::Seed;
use seabed::posterior::bootstrap::Bootstrap;
use seabed::posterior::{Fit, FitError, Knowledge, Posterior, PosteriorKind, Start, State};
use seabed::scm::Ensemble;

use crate::checks;
use crate::clock::cpu_time;
use crate::failure::Failure;
use crate::outputs::{Force, Kind, Output, save};
use crate::progress::{Bar, stop_on_interrupt};
use crate::read::{TableOptions, read_data, told, warn};
use crate::wording::{POSTERIOR_HELP, posterior_parser};

/// Learn a posterior over causal models from data.
///
/// Prints the most probable edges, and what in the data the learned models cannot explain (`check: …`). --out saves the
/// models and, of mcmc, the graphs, which `seabed evaluate` and `seabed design` read (.npz opens in numpy, .json is for
/// small ones). The same command gives the same result on any number of threads, whatever the order of the columns.
#[derive(Args)]
#[command(after_help = "Example: seabed fit data.csv --knowledge knowledge.toml --out belief.npz\n\n\
knowledge.toml:\n  forbidden = [[\"A\", \"B\"]]          # no edge A -> B\n  required = [[\"A\", \"C\"]]\n  \
tiers = [[\"A\"], [\"B\", \"C\"]]      # no edge from a later tier to an earlier one")]
pub struct Arguments {
    /// The data: .csv, .tsv, .txt, .xlsx or .parquet, - for standard input; several files are read as one table.
    #[arg(required = true)]
    data: Vec<PathBuf>,
    #[arg(long, default_value = "mcmc-gp", value_name = "NAME", value_parser = posterior_parser(), help = POSTERIOR_HELP)]
    posterior: PosteriorKind,
    /// Forbidden and required edges and tiers (.toml).
    #[arg(long, value_name = "FILE")]
    knowledge: Option<PathBuf>,
    #[command(flatten)]
    table: TableOptions,
    /// Random seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Save what was learned: .npz or .json.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    options: options::Options,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (clock, cpu) = (Instant::now(), cpu_time());
    let format = arguments.out.as_deref().map(belief_format).transpose()?;
    check_outputs(arguments)?;
    let loaded = read_data(&arguments.data, &arguments.table)?;
    let (told, data) = (told(&loaded), loaded.dataset);
    if let [only] = &data.names()[..] {
        return Err(Failure::Input(anyhow::anyhow!(
            "there is only one variable, {only:?}: nothing can cause it or be caused by it; name data with two or more"
        )));
    }
    let knowledge = read_knowledge(arguments.knowledge.as_deref(), &data)?;
    let posterior = arguments.options.posterior(arguments.posterior, &data)?;
    let worked = match &posterior {
        Posterior::Bootstrap(all) if arguments.options.single => {
            &Posterior::Bootstrap(Bootstrap { draws: 1, ..all.clone() })
        }
        posterior => posterior,
    };
    arguments.force.check_effort(worked.effort(data.rows(), data.variables()))?;
    let warnings = traps(&data);
    warn(&warnings);
    for remark in posterior.remarks(&data) {
        tell!("note: {remark}");
    }
    // The disk may be full by then: what was learned is printed all the same.
    let mut saved = Ok(());
    let learned = match &posterior {
        Posterior::Bootstrap(bootstrap) if arguments.options.single => {
            stop_on_interrupt();
            let ended = bootstrap.single(&data, &knowledge, &Bar::new());
            let (found, scm) = ended.map_err(|error| match error {
                FitError::Stopped(_) => Failure::Stopped(anyhow::anyhow!(
                    "interrupted; a single search keeps nothing to continue from"
                )),
                error => error.into(),
            })?;
            let ensemble = Ensemble::uniform(vec![scm]).expect("one model is an ensemble");
            print::Learned::Single(ensemble, Box::new(found))
        }
        _ => {
            let fit = run_fit(arguments, &posterior, &data, &knowledge)?;
            if let (Some(path), Some(state)) = (&arguments.options.state, &fit.state) {
                saved = save(path, state.to_json().as_bytes());
            }
            print::Learned::Fit(Box::new(fit))
        }
    };
    if let (Some(path), Some(format)) = (&arguments.out, format) {
        let (models, graphs) = learned.belief();
        let written = save(path, &format.bytes(models, graphs, &DataSummary::of(&data)));
        // Both are told.
        saved = match (saved, written) {
            (Err(first), Err(second)) => {
                first.report();
                Err(second)
            }
            (first, second) => first.and(second),
        };
    }
    let (findings, checked) = checks::findings(&data, learned.belief().0);
    let cautions = learned.warnings(&findings);
    warn(&cautions);
    let seconds = clock.elapsed().as_secs_f64();
    let cpu_seconds = (cpu_time() - cpu).as_secs_f64();
    let written = if arguments.json {
        let mut value = learned.as_json(&data, &findings, seconds, cpu_seconds);
        value["data_notes"] = told.into();
        value["warnings"] = warnings.into_iter().chain(cautions).collect::<Vec<_>>().into();
        writeln!(io::stdout().lock(), "{value}")
    } else {
        learned.print(&data, &findings, seconds)
    };
    written.map_err(|error| Failure::writing(None, error))?;
    saved.and(checked)
}

fn check_outputs(arguments: &Arguments) -> Result<(), Failure> {
    let options = &arguments.options;
    let mut inputs: Vec<&Path> = arguments.data.iter().map(PathBuf::as_path).collect();
    inputs.extend(arguments.knowledge.as_deref());
    inputs.extend(options.inputs());
    // A state takes the place of the one that it continues.
    let resumed: Vec<&Path> =
        inputs.iter().copied().filter(|path| Some(*path) != options.resume.as_deref()).collect();
    let out = arguments.out.as_deref().map(|path| Output { path, kind: Kind::Belief });
    let state = Output { path: &arguments.state_place(), kind: Kind::State };
    arguments.force.check_replaced(&state, &resumed)?;
    let mut outputs: Vec<Output<'_>> = out.into_iter().collect();
    arguments.force.check(&outputs, &inputs)?;
    // Without the option a state is written only if the fit is interrupted.
    outputs.extend(options.state.is_some().then_some(state));
    arguments.force.check(&outputs, &[])
}

impl Arguments {
    /// Where the state of an interrupted fit goes.
    fn state_place(&self) -> PathBuf {
        // Never in the folder of the data.
        self.options.state.clone().unwrap_or_else(|| state_beside(self.out.as_deref(), &self.data[0]))
    }
}

/// Where the state of an interrupted fit goes: beside the output, or without one into the working directory.
pub fn state_beside(out: Option<&Path>, data: &Path) -> PathBuf {
    let name = out.or(data.file_name().map(Path::new));
    name.unwrap_or(Path::new("fit")).with_extension("state.json")
}

/// Saves the state of an interrupted fit, and says where it is.
pub fn interrupted(path: &Path, state: &State, how: &str) -> Failure {
    if let Err(failure) = save(path, state.to_json().as_bytes()) {
        return failure;
    }
    let (done, path) = (state.describe(), path.display());
    Failure::Stopped(anyhow::anyhow!("interrupted; {done}; saved to {path}: {how} {path}"))
}

/// Fits until the end or until the user interrupts.
fn run_fit(
    arguments: &Arguments,
    posterior: &Posterior,
    data: &Dataset,
    knowledge: &Knowledge,
) -> Result<Fit, Failure> {
    let options = &arguments.options;
    let seed = Seed::new(arguments.seed);
    let start = match (&options.resume, &options.warm_start) {
        (Some(path), _) => {
            let mut state = read_state(path)?;
            options.sweeps.iter().for_each(|&sweeps| state.allow_sweeps(sweeps as usize));
            Start::Resumed(Box::new(state))
        }
        (None, Some(path)) => Start::Warm(Box::new(read_state(path)?), seed),
        (None, None) => Start::fresh(seed),
    };
    stop_on_interrupt();
    let bar = Bar::new();
    let ended = posterior.fit(data, knowledge, start, &bar);
    drop(bar);
    let fit = match ended {
        Err(FitError::Stopped(state)) => {
            let path = arguments.state_place();
            return Err(interrupted(&path, &state, "continue with the same command and --resume"));
        }
        ended => ended?,
    };
    if let Some(warning) = &fit.warning {
        tell!("warning: {warning}. More --sweeps may help; more --chains reveal more of the disagreement");
    }
    Ok(fit)
}

/// The file formats of a belief.
enum BeliefFormat {
    Json,
    Npz,
}

impl BeliefFormat {
    fn bytes(&self, models: &Ensemble, graphs: Option<&GraphBelief>, data: &DataSummary) -> Vec<u8> {
        match self {
            Self::Json => belief::to_json_of(models, graphs, Some(data)).into_bytes(),
            Self::Npz => belief::to_npz_of(models, graphs, Some(data)),
        }
    }
}

fn belief_format(path: &Path) -> Result<BeliefFormat, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(BeliefFormat::Json),
        Some("npz") => Ok(BeliefFormat::Npz),
        _ => Err(Failure::Input(anyhow::anyhow!(
            "{}: ensembles are written as .npz or .json; the name must end in one of them",
            path.display()
        ))),
    }
}

/// The background knowledge in a file, or none without a file.
pub fn read_knowledge(path: Option<&Path>, data: &Dataset) -> Result<Knowledge, Failure> {
    let Some(path) = path else { return Ok(Knowledge::none(data.variables())) };
    let in_file = |problem: String| Failure::Input(anyhow::anyhow!("{}: {problem}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| in_file(error.to_string()))?;
    Knowledge::from_toml(&text, data.names()).map_err(|error| in_file(error.to_string()))
}

fn read_state(path: &Path) -> Result<State, Failure> {
    let problem = |reason: String| {
        Failure::Input(anyhow::anyhow!("{}: {reason}; expected a file written by --state", path.display()))
    };
    let text = fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
    State::from_json(&text).map_err(|error| problem(error.to_string()))
}
