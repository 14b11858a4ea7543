//! `seabed run`: one closed loop.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use seabed::settings::Keys;
use seabed_study::{Config, DEFAULT, RunFolder};

use crate::failure::Failure;
use crate::outputs::Force;
use crate::rounds::Live;

/// Run one closed loop against a simulated world: fit, choose a batch, measure, repeat.
///
/// Prints one line per round. The folder holds the resolved configuration, metrics.csv (one row per round),
/// interventions.csv, data.csv, truth.csv, events.jsonl, and in rounds/ the ensemble and the design of every round. A
/// run can be stopped at any moment, even killed: the same command continues it, and the files come out the same
/// except for the seconds. A finished run may be given more rounds.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  seabed run --print-config > loop.toml\n  seabed run loop.toml --set posterior.steps=500 --out loop"
)]
pub struct Arguments {
    /// The configuration (.toml); every key has a default.
    #[arg(required_unless_present_any = ["print_config", "out"])]
    config: Option<PathBuf>,
    /// The folder of the run [default: the name of the configuration without .toml].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Set a key, overriding the file (repeatable).
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Print the configuration with all defaults, and exit.
    #[arg(long)]
    print_config: bool,
    /// Print one line of JSON per round.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.print_config && arguments.config.is_none() && arguments.settings.is_empty() {
        return print(DEFAULT);
    }
    let config = Config::from_keys(&keys(arguments.config.as_deref(), &arguments.settings)?)?;
    if arguments.print_config {
        return print(&config.to_toml());
    }
    let folder = folder(arguments.out.as_deref(), arguments.config.as_deref())?;
    let place = RunFolder::new(&folder);
    let inputs: Vec<&Path> = arguments.config.as_deref().into_iter().collect();
    arguments.force.check_folder(&folder, place.is_run(), &RunFolder::FILES, &inputs)?;
    arguments.force.check_effort(config.effort()?)?;
    let live = Live::new(arguments.json);
    seabed_study::run(&config, &place, &live, &|event| live.show(event))?;
    drop(live);
    if !arguments.json {
        print(&format!("the results are in {}\n", folder.display()))?;
    }
    Ok(())
}

/// The keys of a file, if any, overridden by those of `--set`.
pub fn keys(path: Option<&Path>, settings: &[String]) -> Result<Keys, Failure> {
    let mut keys = path.map_or(Ok(Keys::none("the command line")), Keys::read)?;
    for setting in settings {
        keys.set(setting)?;
    }
    Ok(keys)
}

/// The given folder, or the one named after the configuration.
pub fn folder(given: Option<&Path>, config: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = match (given, config) {
        (Some(folder), _) => folder.to_path_buf(),
        (None, Some(config)) if config.extension().is_some() => config.with_extension(""),
        _ => return Err(Failure::Input(anyhow::anyhow!("name a folder with --out"))),
    };
    if folder.is_file() {
        return Err(Failure::Input(anyhow::anyhow!(
            "{} is a file; name a folder with --out",
            folder.display()
        )));
    }
    Ok(folder)
}

/// Prints to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::writing(None, error))
}
