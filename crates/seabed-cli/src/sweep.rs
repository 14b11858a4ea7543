//! `seabed sweep`: a study of many closed loops.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use clap::{Args, Subcommand};
use seabed::settings::Keys;
use seabed_study::{Outcome, PRESETS, Planned, RunEvent, RunState, StudyError, Sweep, expand, preset};
use serde_json::json;

use crate::failure::Failure;
use crate::outputs::{Force, ForceWork};
use crate::progress::{Bar, Silent, stop_on_interrupt};
use crate::report;
use crate::rounds::Live;
use crate::run::{folder, keys, print};

/// Run a study: a grid of closed loops over seeds, worlds, posteriors and strategies.
///
/// A list in the configuration stands for one run per value, `seeds = 10` for ten seeds, and several [[design]] tables
/// for as many strategies. The same seed gives every strategy the same world and the same first data. The folder
/// holds manifest.csv (one line per run), runs/0000 and so on as written by `seabed run`, results.csv and
/// results.parquet. A study can be stopped at any moment, and the same command continues it; several processes may
/// work on one folder; failed runs are listed at the end and retried the next time. `seabed report FOLDER` shows it.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  seabed sweep --preset paper-linear-20 --seeds 5 --out linear\n  \
                  seabed sweep study.toml --set rounds=5 --jobs 2\n  seabed sweep run-one study 17    # one job of a scheduler"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The configuration (.toml), as for `seabed run`, with lists.
    #[arg(required_unless_present = "preset", conflicts_with = "preset")]
    config: Option<PathBuf>,
    /// The settings of the paper: paper-linear-20, paper-linear-50, paper-nonlinear-20, paper-nonlinear-50,
    /// paper-values, paper-batches, paper-dream-10, paper-dream-50.
    #[arg(long, value_name = "NAME", value_parser = known_preset)]
    preset: Option<String>,
    /// A folder with the DREAM3 networks (InSilicoSize10-Ecoli1.xml and so on) for the paper-dream presets
    /// [default: generated networks].
    #[arg(long, value_name = "FOLDER", requires = "preset")]
    networks: Option<PathBuf>,
    /// The folder of the study [default: the name of the configuration or preset].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Number of seeds, overriding the configuration.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,
    /// Set a key in every run, overriding the file (repeatable). A list makes one run per value.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Number of runs at the same time [default: the number of processors].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Write the folder with its manifest, but run nothing.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    force: Force,
}

#[derive(Subcommand)]
enum Command {
    /// Show the progress of a study.
    Status {
        /// Its folder.
        folder: PathBuf,
        /// Print JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Start or continue one run of a study, as a job of a scheduler.
    RunOne {
        /// The study's folder, made by `seabed sweep --plan`.
        folder: PathBuf,
        /// The number of the run, as in manifest.csv.
        index: usize,
        #[command(flatten)]
        force: ForceWork,
    },
}

fn known_preset(name: &str) -> Result<String, String> {
    if preset(name, None).is_some() {
        return Ok(name.to_string());
    }
    let names: Vec<String> = PRESETS.iter().map(|(name, what)| format!("  {name}: {what}")).collect();
    Err(format!("the presets are\n{}", names.join("\n")))
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Some(Command::Status { folder, json }) => status(folder, *json),
        Some(Command::RunOne { folder, index, force }) => run_one(folder, *index, force),
        None => study(arguments),
    }
}

fn study(arguments: &Arguments) -> Result<(), Failure> {
    let (mut settings, place) = match (&arguments.preset, &arguments.config) {
        (Some(name), _) => {
            if let Some(missing) = arguments.networks.as_deref().filter(|folder| !folder.is_dir()) {
                return Err(Failure::Input(anyhow::anyhow!(
                    "--networks {}: there is no such folder",
                    missing.display()
                )));
            }
            let text = preset(name, arguments.networks.as_deref()).expect("checked with the arguments");
            let mut settings = Keys::parse(&text, name)?;
            arguments.settings.iter().try_for_each(|setting| settings.set(setting))?;
            (settings, arguments.out.clone().unwrap_or_else(|| name.into()))
        }
        (None, config) => {
            let path = config.as_deref();
            (keys(path, &arguments.settings)?, folder(arguments.out.as_deref(), path)?)
        }
    };
    if let Some(seeds) = arguments.seeds {
        settings.remove("seed");
        settings.insert("seeds", i64::from(seeds));
    }
    let inputs: Vec<&Path> = arguments.config.as_deref().into_iter().collect();
    arguments.force.check_folder(&place, Sweep::is_study(&place), &Sweep::FILES, &inputs)?;
    // A study may well take days: it can be stopped and continued. A single run should not.
    let begun = if arguments.plan { Vec::new() } else { expand(&settings)? };
    for run in &begun {
        let named = |failure: Failure| failure.in_front(&name(run));
        run.config
            .effort()
            .map_err(Failure::from)
            .and_then(|e| arguments.force.check_effort(e))
            .map_err(named)?;
    }
    let sweep = Sweep::create(&place, &settings)?;
    if arguments.plan {
        return print(&format!("{} runs planned in {}\n", sweep.runs().len(), place.display()));
    }
    stop_on_interrupt();
    run_study(&sweep, arguments.jobs)?;
    // Runs may all be in other processes; then there is nothing to compare yet.
    if !sweep.finished()?.is_empty() {
        print(&seabed_report::study_sentences(&report::study(&sweep, "", None)?))?;
    }
    print(&format!(
        "results.csv and results.parquet are in {}; `seabed report {}` shows them\n",
        place.display(),
        place.display()
    ))
}

fn run_study(sweep: &Sweep, jobs: Option<u16>) -> Result<(), Failure> {
    let jobs = jobs.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from);
    let runs = sweep.runs();
    let progress = Bar::of(runs.iter().map(|run| run.config.rounds as u64 + 1).sum(), "rounds");
    let events = |index: usize, event: RunEvent<'_>| match event {
        RunEvent::Round(_) => {
            crate::panic_if_asked("round");
            progress.advance();
        }
        RunEvent::Note(note) => progress.say(&format!("{}: {note}", name(&runs[index]))),
    };
    let ended = |index: usize, outcome: &Outcome| {
        let run = &runs[index];
        match outcome {
            Outcome::Finished => progress.say(&format!("{} finished", name(run))),
            Outcome::Elsewhere => progress.say(&format!("{} is in progress in another process", name(run))),
            Outcome::Failed(StudyError::Stopped) => {}
            Outcome::Failed(error) => progress.say(&format!("{} failed: {error}", name(run))),
        }
    };
    let outcomes = sweep.run_all(jobs, &Silent, &events, &ended)?;
    drop(progress);
    if outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failed(StudyError::Stopped))) {
        return Err(StudyError::Stopped.into());
    }
    let count = |what: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, outcome)| what(outcome)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let elsewhere = count(|outcome| matches!(outcome, Outcome::Elsewhere));
    if elsewhere > 0 {
        print(&format!(
            "{elsewhere} runs are in progress in other processes; the last to finish writes all results\n"
        ))?;
    }
    if failed > 0 {
        let all = runs.len();
        let told = anyhow::anyhow!(
            "{failed} of {all} runs failed; the results cover the others; the same command retries the failed ones"
        );
        let defects = count(|outcome| matches!(outcome, Outcome::Failed(StudyError::Defect { .. })));
        return Err(if defects > 0 { Failure::Defect(told) } else { Failure::Work(told) });
    }
    Ok(())
}

fn name(run: &Planned) -> String {
    format!("run {:04} ({}; {}; seed {})", run.index, run.setting, run.line, run.config.seed)
}

fn run_one(folder: &Path, index: usize, force: &ForceWork) -> Result<(), Failure> {
    let sweep = Sweep::load(folder)?;
    let Some(planned) = sweep.runs().get(index) else {
        return Err(Failure::Input(anyhow::anyhow!(
            "there is no run {index}: {} has runs 0 to {}",
            folder.display(),
            sweep.runs().len() - 1
        )));
    };
    if sweep.state(index)? != RunState::Finished {
        force.check_effort(planned.config.effort()?)?;
    }
    print(&format!("{}\n", name(planned)))?;
    let live = Live::new(false);
    let outcome = sweep.run_one(index, &live, &|event| live.show(event));
    drop(live);
    match outcome {
        Outcome::Finished => Ok(sweep.write_results()?),
        Outcome::Elsewhere => Err(StudyError::Busy { path: sweep.folder(index).path().to_path_buf() }.into()),
        Outcome::Failed(error) => Err(error.into()),
    }
}

fn status(folder: &Path, as_json: bool) -> Result<(), Failure> {
    let sweep = Sweep::load(folder)?;
    let mut groups: BTreeMap<(&str, &str), [usize; 4]> = BTreeMap::new();
    let mut runs = Vec::new();
    let mut failures = String::new();
    for run in sweep.runs() {
        let state = sweep.state(run.index)?;
        let (kind, word) = match &state {
            RunState::Finished => (0, "finished"),
            RunState::Started(_) => (1, "started"),
            RunState::Waiting => (2, "waiting"),
            RunState::Failed(error) => {
                failures.push_str(&format!("{} failed: {error}\n", name(run)));
                (3, "failed")
            }
        };
        groups.entry((&run.setting, &run.line)).or_default()[kind] += 1;
        let rounds = sweep.folder(run.index).metrics()?.len();
        runs.push(
            json!({"index": run.index, "setting": run.setting, "line": run.line, "seed": run.config.seed,
            "state": word, "rounds": rounds, "of": run.config.rounds + 1}),
        );
    }
    if as_json {
        return print(&format!("{}\n", json!({ "runs": runs })));
    }
    let mut text = String::from("finished  started  waiting  failed  runs\n");
    let mut all = [0; 4];
    for ((setting, line), counts) in &groups {
        text.push_str(&format!(
            "{:>8}  {:>7}  {:>7}  {:>6}  {setting}; {line}\n",
            counts[0], counts[1], counts[2], counts[3]
        ));
        (0..4).for_each(|k| all[k] += counts[k]);
    }
    text.push_str(&format!("{:>8}  {:>7}  {:>7}  {:>6}  all\n", all[0], all[1], all[2], all[3]));
    print(&(text + &failures))
}
