//! `seabed fit --posterior dibs-…`: options, progress, and the saved state of an interrupted fit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use seabed::data::{Dataset, write_atomically};
use seabed::num::random::Seed;
use seabed::posterior::Knowledge;
use seabed::posterior::dibs::{Dibs, End, Estimator, Family, GraphPrior, Noise, State, Weighting};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Arguments, Learned, PosteriorName};
use crate::failure::Failure;
use crate::progress::Progress;

/// What only DiBS asks for.
#[derive(Args)]
#[command(next_help_heading = "DiBS")]
#[group(id = "dibs")]
pub struct Options {
    /// Number of particles: draws from the posterior.
    #[arg(long, default_value_t = 20, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    particles: u32,
    /// Largest number of steps; a fit that is at rest stops by itself.
    #[arg(long, default_value_t = 3000, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    steps: u32,
    /// Take all steps, whether anything changes or not.
    #[arg(long)]
    all_steps: bool,
    /// Graphs sampled for each particle at each step.
    #[arg(long, default_value_t = 16, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    mc_samples: u32,
    /// How sampled graphs are weighted.
    #[arg(long, value_enum, default_value_t = EstimatorName::Columns)]
    estimator: EstimatorName,
    /// Noise of the variables: `learned`, or `known=SD` in the data's units.
    #[arg(long, default_value = "learned", value_name = "NOISE", value_parser = parse_noise)]
    noise: Noise,
    /// Which graphs are likely beforehand (DiBS and mcmc).
    #[arg(long, value_enum, default_value_t = PriorName::Er)]
    pub prior: PriorName,
    /// Expected number of edges for each variable (prior `er`; DiBS and mcmc).
    #[arg(long, default_value_t = 1.0, value_name = "COUNT", allow_negative_numbers = true)]
    pub edges_per_node: f64,
    /// Bring variables to mean 0 and standard deviation 1 inside; results are in the data's units either way (DiBS and
    /// mcmc).
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub standardise: bool,
    /// Weights of the particles.
    #[arg(long, value_enum, default_value_t = WeightingName::Uniform)]
    weights: WeightingName,
    /// Graphs that each particle gives by a walk under the exact posterior (dibs-bge); 0: its own graph alone.
    #[arg(long, default_value_t = 5, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    walk: u32,
    /// Save the state of the fit when it ends or is interrupted (.json; DiBS and mcmc).
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
enum EstimatorName {
    /// Column by column: far fewer samples are needed.
    Columns,
    /// Whole graphs, as in the DiBS paper.
    Joint,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PriorName {
    /// Every edge is as likely as any other.
    Er,
    /// Few variables have many parents.
    Sf,
}

#[derive(Clone, Copy, ValueEnum)]
enum WeightingName {
    /// All the same.
    Uniform,
    /// In proportion to the probability of graph, parameters and data.
    LogJoint,
}

fn parse_noise(text: &str) -> Result<Noise, String> {
    match text.strip_prefix("known=").map(str::parse) {
        None if text == "learned" => Ok(Noise::Learned),
        Some(Ok(sd)) => Ok(Noise::Known(sd)),
        _ => Err("write `learned`, or `known=0.1` with a standard deviation".into()),
    }
}

impl Options {
    fn settings(&self, family: Family) -> Dibs {
        let defaults = Dibs::default();
        Dibs {
            family,
            noise: self.noise,
            prior: match self.prior {
                PriorName::Er => GraphPrior::Er { edges_per_node: self.edges_per_node },
                PriorName::Sf => GraphPrior::Sf,
            },
            standardise: self.standardise,
            particles: self.particles as usize,
            steps: self.steps as usize,
            stop_early: !self.all_steps,
            samples: self.mc_samples as usize,
            walk: self.walk as usize,
            acyclicity_samples: defaults.acyclicity_samples.min(self.mc_samples as usize),
            estimator: match self.estimator {
                EstimatorName::Columns => Estimator::Columns,
                EstimatorName::Joint => Estimator::Joint,
            },
            weighting: match self.weights {
                WeightingName::Uniform => Weighting::Uniform,
                WeightingName::LogJoint => Weighting::LogJoint,
            },
        }
    }
}

/// The fit, until it ends or the user interrupts it.
pub fn learn(
    name: PosteriorName,
    arguments: &Arguments,
    data: &Dataset,
    knowledge: &Knowledge,
) -> Result<Learned, Failure> {
    let options = &arguments.dibs;
    let family = match name {
        PosteriorName::DibsLinear => Family::Linear { intercept: true },
        PosteriorName::DibsBge => Family::Bge,
        _ => Family::Nonlinear { hidden: 5 },
    };
    let settings = options.settings(family);
    let resumed = options.resume.as_deref().map(read_state::<State>).transpose()?;
    if resumed.as_ref().is_some_and(|state| state.settings.family != family) {
        return Err(Failure::Input(anyhow::anyhow!(
            "the saved state is of another kind of mechanisms; choose the --posterior that it was saved with"
        )));
    }
    let earlier = options.warm_start.as_deref().map(read_state::<State>).transpose()?;
    let (done, left) = resumed.as_ref().map_or((0, u64::from(options.steps)), |state| {
        (
            state.settings.steps as u64 - state.steps_left().min(state.settings.steps as u64),
            state.steps_left(),
        )
    });
    let interrupted = interrupts();
    let progress = Progress::new(done + left, "steps");
    let mut watch = |state: &State| {
        let taken = done + left - state.steps_left();
        progress.stands(taken, status(state));
        !interrupted.load(Ordering::Relaxed)
    };
    let fit = match (resumed, earlier) {
        (Some(state), _) => Dibs::resume(state, data, knowledge, &mut watch)?,
        (None, Some(state)) => settings.fit_from(state, data, knowledge, &mut watch)?,
        (None, None) => settings.fit(data, knowledge, Seed::new(arguments.seed), &mut watch)?,
    };
    progress.finish();
    let place = options.state.clone().or_else(|| (fit.end == End::Asked).then(|| place_for_state(arguments)));
    if let Some(path) = &place {
        let text = serde_json::to_vec(&fit.state).expect("a state is plain numbers");
        write_atomically(path, |out| out.write_all(&text))
            .map_err(|error| Failure::writing(Some(path), error))?;
    }
    if let (End::Asked, Some(path)) = (fit.end, &place) {
        return Err(Failure::Work(anyhow::anyhow!(
            "interrupted with {} steps to go; {} holds what there is: the same command with --resume {} goes on",
            fit.state.steps_left(),
            path.display(),
            path.display()
        )));
    }
    let diagnostics = json!({
        "steps": fit.state.steps_taken(),
        "stopped": if fit.end == End::Quiet { "nothing changed any more" } else { "all steps taken" },
        "log_joints": fit.log_joints,
        "history": fit.state.history,
    });
    let draws = fit.ensemble.draws().len();
    Ok(Learned {
        ensemble: fit.ensemble,
        draws,
        repaired: fit.repaired,
        diagnostics,
        single: None,
        notes: Vec::new(),
    })
}

/// What the progress bar says beside the count of steps.
fn status(state: &State) -> String {
    match state.history.last() {
        None => "steps".into(),
        Some(last) => format!(
            "steps, α {:.1}, {:.0} % cyclic, log joint {:.1}",
            last.alpha,
            100.0 * last.cyclic,
            last.log_joint
        ),
    }
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
