//! What DiBS and Markov chains have in common in `seabed fit`: priors, and the saved state of an interrupted fit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use seabed::data::write_atomically;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Arguments;
use crate::failure::Failure;

#[derive(Args)]
#[command(next_help_heading = "Markov chains and DiBS")]
#[group(id = "shared")]
pub struct Shared {
    /// Which graphs are likely beforehand.
    #[arg(long, value_enum, default_value_t = PriorName::Er)]
    pub prior: PriorName,
    /// Expected number of edges for each variable, before cycles are ruled out (prior `er`).
    #[arg(long, default_value_t = 1.0, value_name = "COUNT", allow_negative_numbers = true)]
    pub edges_per_node: f64,
    /// Bring variables to mean 0 and standard deviation 1 inside; results are in the data's units either way.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub standardise: bool,
    /// Save the state of the fit when it ends or is interrupted (.json).
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Go on with an interrupted fit of the same data; its options and the seed are those of the saved state.
    #[arg(long, value_name = "FILE", conflicts_with = "warm_start")]
    pub resume: Option<PathBuf>,
    /// Start from the saved state of a fit of earlier data of the same variables; mcmc takes over the scores of variables
    /// about which there are no new rows.
    #[arg(long, value_name = "FILE")]
    pub warm_start: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PriorName {
    /// Every edge is as likely as any other.
    Er,
    /// Few variables have many parents.
    Sf,
}

/// Set by Ctrl-C; a second one ends the program as usual.
pub fn interrupts() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    // Without a handler Ctrl-C ends the program, which is what it would do anyway.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    interrupted
}

/// Beside the result, or beside the data.
pub fn place_for_state(arguments: &Arguments) -> PathBuf {
    arguments.out.as_ref().unwrap_or(&arguments.data).with_extension("state.json")
}

/// A saved state of some kind of fit.
pub fn read_state<S: DeserializeOwned>(path: &Path) -> Result<S, Failure> {
    let problem = |reason: String| {
        Failure::Input(anyhow::anyhow!(
            "{}: {reason}; a state is the file that --state writes",
            path.display()
        ))
    };
    let text = fs::read(path).map_err(|error| problem(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| problem(error.to_string()))
}

/// Saves it for [`read_state`].
pub fn save_state(path: &Path, state: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_vec(state).expect("a state is plain numbers");
    write_atomically(path, |out| out.write_all(&text)).map_err(|error| Failure::writing(Some(path), error))
}
