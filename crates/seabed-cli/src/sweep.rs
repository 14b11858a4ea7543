//! `seabed sweep`: a study of many closed loops.

mod queue;
mod slurm;
mod status;
mod workers;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use seabed::settings::Keys;
use seabed_study::{
    How, Outcome, PRESETS, Planned, RunEvent, StudyError, Sweep, Watcher, Worked, expand, preset,
};

use crate::failure::Failure;
use crate::outputs::{Force, ForceWork};
use crate::progress::{Bar, Silent, roughly, stop_on_interrupt};
use crate::report;
use crate::run::{folder, keys, print};
use slurm::Slurm;

/// Run a study: a grid of closed loops over seeds, worlds, posteriors and strategies.
///
/// A list in the configuration stands for one run per value, `seeds = 10` for ten seeds, and several [[design]] tables
/// for as many strategies. The same seed gives every strategy the same world and the same first data. The folder
/// holds manifest.csv (one line per run), runs/0000 and so on as written by `seabed run`, results.csv and
/// results.parquet. A study can be stopped at any moment, and the same command continues it; several processes may
/// work on one folder; failed runs are listed at the end and retried the next time. `seabed report FOLDER` shows it.
///
/// On a cluster with Slurm, --slurm submits the study instead. Any other scheduler can start `seabed sweep run-one`, one run
/// each, or any number of `seabed sweep work`, which share the runs among them.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  seabed sweep --preset paper-linear-20 --seeds 5 --out linear\n  \
                  seabed sweep study.toml --set rounds=5 --jobs 2\n  seabed sweep study.toml --slurm --time 4:00:00 --mem 4G --max-running 50\n  \
                  seabed sweep run-one study 17    # one job of a scheduler"
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
    /// Number of runs at the same time [default: as many as there are processors, and as fit into memory]. Processors that no
    /// run is left for help the others, where that is measured to be of use.
    #[arg(long, conflicts_with = "slurm", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Write the folder with its manifest, but run nothing.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    slurm: Slurm,
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
    /// Gather the results of all finished runs: results.csv and results.parquet.
    Collect {
        /// The study's folder.
        folder: PathBuf,
    },
    /// Work on runs that nobody works on until none is left, as one of any number of jobs of a scheduler.
    ///
    /// Ends with 0 when every run is finished or in the hands of another worker, with 1 if runs failed (they are not tried
    /// again), and with 130 when it is told to stop (SIGTERM, SIGINT): the next worker goes on with its runs. The runs of
    /// workers that were killed are taken over, on the same computer at once, elsewhere after five minutes without a sign
    /// of life.
    Work {
        /// The study's folder, made by `seabed sweep --plan`.
        folder: PathBuf,
        /// Number of runs at the same time [default: as many as there are processors, and as fit into memory].
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
        jobs: Option<u16>,
        /// In a job of Slurm: when told to stop at the end of the job's time or by preemption, put the job into the queue again.
        #[arg(long)]
        requeue: bool,
    },
    /// Start or continue one run of a study, as a job of a scheduler.
    ///
    /// Ends with 0 when the run is finished, with 130 when it was told to stop (SIGTERM, SIGINT) and the same command would go
    /// on, with 1 if it failed or another process is working on it, and with 2 if that cannot be helped by trying again.
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
        Some(Command::Status { folder, json }) => status::status(folder, *json),
        Some(Command::Collect { folder }) => workers::collect(folder),
        Some(Command::Work { folder, jobs, requeue }) => workers::work(folder, *jobs, *requeue),
        Some(Command::RunOne { folder, index, force }) => workers::run_one(folder, *index, force),
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
    match (arguments.plan, arguments.slurm.slurm) {
        (true, true) => return slurm::show(&sweep, &place, &arguments.slurm),
        (true, false) => {
            return print(&format!("{} runs planned in {}\n", sweep.runs().len(), place.display()));
        }
        (false, true) => return slurm::submit(&sweep, &place, &arguments.slurm),
        (false, false) => {}
    }
    stop_on_interrupt();
    let shown = Shown::new(&sweep);
    let how = How { jobs: arguments.jobs.map(usize::from), shared: false };
    let worked = sweep.run_all(how, &Silent, &shown)?;
    shown.ended(&worked, "the results cover the others; the same command retries the failed ones")?;
    print_results(&sweep, &place)
}

fn print_results(sweep: &Sweep, place: &Path) -> Result<(), Failure> {
    // Runs may all be in other processes; then there is nothing to compare yet.
    if !sweep.finished()?.is_empty() {
        print(&seabed_report::study_sentences(&report::study(sweep, "", None)?))?;
    }
    print(&format!(
        "results.csv and results.parquet are in {}; `seabed report {}` shows them\n",
        place.display(),
        place.display()
    ))
}

/// Shows a study in progress: a bar of its rounds with the time that is left, and a line for every run that ends.
struct Shown<'a> {
    runs: &'a [Planned],
    bar: Bar,
}

impl<'a> Shown<'a> {
    fn new(sweep: &'a Sweep) -> Self {
        let runs = sweep.runs();
        Self { runs, bar: Bar::of(runs.iter().map(|run| run.config.rounds as u64 + 1).sum(), "rounds") }
    }

    /// How the command ends after such work; `advice` is for runs that failed.
    fn ended(self, worked: &Worked, advice: &str) -> Result<(), Failure> {
        drop(self.bar);
        let outcomes = &worked.outcomes;
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
            let all = self.runs.len();
            let told = anyhow::anyhow!("{failed} of {all} runs failed; {advice}");
            let defects = count(|outcome| matches!(outcome, Outcome::Failed(StudyError::Defect { .. })));
            return Err(if defects > 0 { Failure::Defect(told) } else { Failure::Work(told) });
        }
        Ok(())
    }
}

impl Watcher for Shown<'_> {
    fn event(&self, run: usize, event: RunEvent<'_>) {
        match event {
            RunEvent::Round(_) => {
                crate::panic_if_asked("round");
                self.bar.advance();
            }
            RunEvent::Note(note) => self.bar.say(&format!("{}: {note}", name(&self.runs[run]))),
        }
    }

    fn ended(&self, run: usize, outcome: &Outcome, left: Option<Duration>) {
        let run = name(&self.runs[run]);
        match outcome {
            Outcome::Finished => {
                let left = left.filter(|left| !left.is_zero());
                let left = left.map_or(String::new(), |left| format!("; about {} left", roughly(left)));
                self.bar.say(&format!("{run} finished{left}"));
            }
            Outcome::Elsewhere => self.bar.say(&format!("{run} is in progress in another process")),
            Outcome::Failed(StudyError::Stopped) => {}
            Outcome::Failed(error) => self.bar.say(&format!("{run} failed: {error}")),
        }
    }

    fn left(&self, left: Duration) {
        self.bar.describe(&format!("rounds, about {} left", roughly(left)));
    }
}

fn name(run: &Planned) -> String {
    format!("run {:04} ({}; {}; seed {})", run.index, run.setting, run.line, run.config.seed)
}
