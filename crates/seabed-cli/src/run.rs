//! `seabed run`: one closed loop.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use seabed::settings::Keys;
use seabed_study::{Config, DEFAULT, RunFolder};

use crate::failure::Failure;
use crate::rounds::Live;

/// Run one closed loop against a simulated world: fit, choose a batch, measure, again.
///
/// Prints a line a round. The folder gets the resolved configuration, metrics.csv (one row a round),
/// interventions.csv, data.csv, truth.csv, events.jsonl, and in rounds/ the ensemble and the design of every round. It
/// can be stopped at any moment, even by force: the same command goes on, and the files come out the same but for the
/// seconds. A run that is done may be given more rounds.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  seabed run --print-config > loop.toml\n  seabed run loop.toml --set posterior.steps=500 --out loop"
)]
pub struct Arguments {
    /// The configuration (.toml); every key has a default.
    #[arg(required_unless_present_any = ["print_config", "out"])]
    config: Option<PathBuf>,
    /// The folder of the run; the name of the configuration without .toml if it is not given.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Set a key, over the file; repeat it for several.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Print the configuration with all defaults, and do nothing.
    #[arg(long)]
    print_config: bool,
    /// Print a line of JSON a round.
    #[arg(long)]
    json: bool,
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
    let live = Live::new(arguments.json);
    seabed_study::run(&config, &RunFolder::new(&folder), &live, &|event| live.show(event))?;
    drop(live);
    if !arguments.json {
        print(&format!("all of it is in {}\n", folder.display()))?;
    }
    Ok(())
}

/// The keys of a file, if there is one, with those of `--set` over them.
pub fn keys(path: Option<&Path>, settings: &[String]) -> Result<Keys, Failure> {
    let mut keys = path.map_or(Ok(Keys::none("the command line")), Keys::read)?;
    for setting in settings {
        keys.set(setting)?;
    }
    Ok(keys)
}

/// The folder that is given, or the one that is named as the configuration.
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

/// To standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::writing(None, error))
}
