//! `seabed fit --posterior dibs-…`: options and progress.

use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use seabed::data::Dataset;
use seabed::num::random::Seed;
use seabed::posterior::Knowledge;
use seabed::posterior::dibs::{Dibs, End, Estimator, Family, GraphPrior, Noise, State, Weighting};
use serde_json::json;

use super::shared::{PriorName, Shared, interrupts, place_for_state, read_state, save_state};
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
    /// Weights of the particles.
    #[arg(long, value_enum, default_value_t = WeightingName::Uniform)]
    weights: WeightingName,
    /// Graphs that each particle gives by a walk under the exact posterior (dibs-bge); 0: its own graph alone.
    #[arg(long, default_value_t = 5, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    walk: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum EstimatorName {
    /// Column by column: far fewer samples are needed.
    Columns,
    /// Whole graphs, as in the DiBS paper.
    Joint,
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
    fn settings(&self, family: Family, shared: &Shared) -> Dibs {
        let defaults = Dibs::default();
        Dibs {
            family,
            noise: self.noise,
            prior: match shared.prior {
                PriorName::Er => GraphPrior::Er { edges_per_node: shared.edges_per_node },
                PriorName::Sf => GraphPrior::Sf,
            },
            standardise: shared.standardise,
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
    let (options, shared) = (&arguments.dibs, &arguments.shared);
    let family = match name {
        PosteriorName::DibsLinear => Family::Linear { intercept: true },
        PosteriorName::DibsBge => Family::Bge,
        _ => Family::Nonlinear { hidden: 5 },
    };
    let settings = options.settings(family, shared);
    let resumed = shared.resume.as_deref().map(read_state::<State>).transpose()?;
    if resumed.as_ref().is_some_and(|state| state.settings.family != family) {
        return Err(Failure::Input(anyhow::anyhow!(
            "the saved state is of another kind of mechanisms; choose the --posterior that it was saved with"
        )));
    }
    let earlier = shared.warm_start.as_deref().map(read_state::<State>).transpose()?;
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
    let place = shared.state.clone().or_else(|| (fit.end == End::Asked).then(|| place_for_state(arguments)));
    if let Some(path) = &place {
        save_state(path, &fit.state)?;
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
