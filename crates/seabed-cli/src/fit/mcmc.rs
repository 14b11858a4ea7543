//! `seabed fit --posterior mcmc-…`: options, progress, and what to say about the chains.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::Args;
use seabed::data::Dataset;
use seabed::num::random::Seed;
use seabed::posterior::Knowledge;
use seabed::posterior::mcmc::{Diagnostics, EdgePrior, Family, Mcmc, McmcError, State};
use serde_json::json;

use super::shared::{PriorName, interrupts, place_for_state, read_state, save_state};
use super::{Arguments, Learned, PosteriorName};
use crate::failure::Failure;
use crate::progress::Progress;

/// What only the chains ask for.
#[derive(Args)]
#[command(next_help_heading = "Markov chains")]
#[group(id = "mcmc")]
pub struct Options {
    /// Number of chains, which are compared.
    #[arg(long, default_value_t = 4, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1000))]
    chains: u16,
    /// Largest number of parents: 5 (mcmc-linear) or 3 (mcmc-gp) without it.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub max_parents: Option<u8>,
    /// Parents of a variable that are tried in all combinations; others are tried one at a time.
    #[arg(long, default_value_t = 12, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=20))]
    candidates: u8,
    /// Sweeps of each chain at most: 3200 without it. Chains end earlier once they agree and are worth as many
    /// independent graphs as are drawn. With --resume, a fit whose chains did not agree goes on to more.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(4..=10_000_000))]
    pub sweeps: Option<u32>,
    /// Prior probabilities of single edges: a .csv with the columns from, to, probability.
    #[arg(long, value_name = "FILE", conflicts_with = "prior")]
    pub edge_probabilities: Option<PathBuf>,
}

fn settings(arguments: &Arguments, family: Family) -> Result<Mcmc, Failure> {
    let (options, shared) = (&arguments.mcmc, &arguments.shared);
    let sweeps = options.sweeps.map(|sweeps| sweeps as usize);
    let usual = Mcmc::of(family);
    let edges_per_node = shared.edges_per_node;
    let prior = match (&options.edge_probabilities, shared.prior) {
        (Some(path), _) => EdgePrior::Pairs { probabilities: read_probabilities(path)?, edges_per_node },
        (None, PriorName::Er) => EdgePrior::Er { edges_per_node },
        (None, PriorName::Sf) => EdgePrior::Sf,
    };
    Ok(Mcmc {
        prior,
        standardise: shared.standardise,
        max_parents: options.max_parents.map(usize::from),
        candidates: options.candidates.into(),
        draws: arguments.draws.map_or(usual.draws, |draws| draws as usize),
        chains: options.chains.into(),
        least_sweeps: sweeps.map_or(usual.least_sweeps, |sweeps| sweeps.min(usual.least_sweeps)),
        most_sweeps: sweeps.unwrap_or(usual.most_sweeps),
        ..usual
    })
}

fn read_probabilities(path: &Path) -> Result<Vec<(String, String, f64)>, Failure> {
    let wrong = |problem: String| {
        Failure::Input(anyhow::anyhow!(
            "{}: {problem}; the form is a line `from,to,probability` and then one line an edge, for example `A,B,0.8`",
            path.display()
        ))
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(|error| wrong(error.to_string()))?;
    if reader.headers().map_err(|error| wrong(error.to_string()))? != vec!["from", "to", "probability"] {
        return Err(wrong("it does not begin with the names of the columns".into()));
    }
    let rows = reader.deserialize::<(String, String, f64)>();
    rows.map(|row| row.map_err(|error| wrong(error.to_string()))).collect()
}

/// The fit, until it ends or the user interrupts it.
pub fn learn(arguments: &Arguments, data: &Dataset, knowledge: &Knowledge) -> Result<Learned, Failure> {
    let family = match arguments.posterior {
        PosteriorName::McmcGp => Family::GaussianProcess,
        _ => Family::Linear,
    };
    let settings = settings(arguments, family)?;
    let shared = &arguments.shared;
    let mut resumed = shared.resume.as_deref().map(read_state::<State>).transpose()?;
    if let Some(state) = &mut resumed {
        if state.settings.family != family {
            return Err(Failure::Input(anyhow::anyhow!(
                "the saved state is of another kind of mechanisms; choose the --posterior that it was saved with"
            )));
        }
        let most = &mut state.settings.most_sweeps;
        *most = (*most).max(arguments.mcmc.sweeps.unwrap_or(0) as usize);
    }
    let earlier = shared.warm_start.as_deref().map(read_state::<State>).transpose()?;
    let interrupted = interrupts();
    let progress = Progress::new(1, "");
    let mut watch = |state: &State| {
        let (scored, nodes) = state.scored();
        let what = match state.sweeps() {
            0 => format!("scored {scored} of {nodes} variables, {} sets of parents", state.sets()),
            sweeps => format!("{sweeps} sweeps (at most {})", state.settings.most_sweeps),
        };
        let (done, all) = state.progress();
        progress.stands_of(done, all, what);
        !interrupted.load(Ordering::Relaxed)
    };
    let fit = match (resumed, earlier) {
        (Some(state), _) => Mcmc::resume(state, data, knowledge, &mut watch),
        (None, Some(state)) => {
            settings.fit_from(state, data, knowledge, Seed::new(arguments.seed), &mut watch)
        }
        (None, None) => settings.fit(data, knowledge, Seed::new(arguments.seed), &mut watch),
    };
    progress.finish();
    let fit = match fit {
        Err(McmcError::Interrupted(state)) => {
            let path = shared.state.clone().unwrap_or_else(|| place_for_state(arguments));
            save_state(&path, &*state)?;
            return Err(Failure::Work(anyhow::anyhow!(
                "interrupted after {} sweeps; {} holds what there is: the same command with --resume {} goes on",
                state.sweeps(),
                path.display(),
                path.display()
            )));
        }
        other => other?,
    };
    if let Some(path) = &shared.state {
        save_state(path, &fit.state)?;
    }
    let mut diagnostics = json!(fit.diagnostics);
    let name = |node: usize| &data.names()[node];
    diagnostics["disputed"] =
        fit.diagnostics.disputed.iter().map(|&(from, to)| json!([name(from), name(to)])).collect();
    diagnostics["sets_scored"] = json!(fit.state.sets());
    diagnostics["edge_probabilities_of_all_graphs"] = json!(fit.edge_probabilities);
    let notes = notes(&fit.diagnostics, data);
    let draws = fit.ensemble.draws().len();
    if let Some(warning) = fit.diagnostics.warning(data.names(), draws) {
        let more = if fit.diagnostics.agree { "" } else { "; more --chains show more of the differences" };
        eprintln!("warning: {warning}. More --sweeps may help{more}");
        diagnostics["warning"] = json!(warning);
    }
    Ok(Learned { ensemble: fit.ensemble, draws, repaired: 0, diagnostics, single: None, notes })
}

fn notes(found: &Diagnostics, data: &Dataset) -> Vec<String> {
    let chains = found.mean_scores.len();
    let mut notes = vec![format!(
        "{chains} chains of {} sweeps, the first {} not counted; R-hat of the score {:.3} (worth {:.0} independent graphs), \
         of edges up to {:.3} (at least {:.0})",
        found.sweeps,
        found.sweeps - found.kept,
        found.score.r_hat,
        found.score.size,
        found.worst_edge,
        found.least_edge_size
    )];
    if chains == 1 {
        notes.push("(one chain is compared with itself alone: its halves)".into());
    }
    if data.variables() > 1 && found.readmitted > 0 {
        notes.push(format!(
            "({} parents were taken in after all because the chains used them)",
            found.readmitted
        ));
    }
    notes
}
