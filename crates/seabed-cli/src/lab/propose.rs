//! Proposes the next batch and writes its form.

use std::path::{Path, PathBuf};

use clap::Args;
use seabed::data::{check_writable, write_atomically};
use seabed::design::{DesignError, ExperimentRecord, Replicates, Strategy, ValuesName, ceiling, reasons};
use seabed::posterior::{PosteriorKind, PosteriorSettings};
use seabed::settings::Keys;
use seabed_lab::{LabError, ProposalRequest, Proposed, State, experiment_name, write_form};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Campaign, Opener, describe, input_error, print};
use crate::checks;
use crate::design::parse_goal;
use crate::failure::Failure;
use crate::outputs::ForceWork;
use crate::progress::{Bar, stop_on_interrupt};
use crate::read::warn;
use crate::strategy::StrategyOptions;
use crate::wording::{POSTERIOR_HELP, posterior_parser};

/// Propose the next batch of experiments, and write the form to fill in.
///
/// Fits all complete rows and designs a batch that takes pending experiments into account: those of earlier proposals
/// without results are not repeated. An interrupted fit is continued.
#[derive(Args)]
#[command(after_help = "Example: seabed lab propose cells.lab --batch 8 --budget 20 --goal effect=pka,erk")]
pub struct Propose {
    #[command(flatten)]
    file: Campaign,
    /// Number of experiments.
    #[arg(long, default_value_t = 8, value_name = "COUNT")]
    batch: usize,
    /// How often each experiment is repeated; `auto`: --batch counts rows, and one more row of an experiment competes with a
    /// new one.
    #[arg(long, default_value_t = Replicates::Each(1), value_name = "COUNT")]
    replicates: Replicates,
    /// What an experiment costs besides its rows, whatever their number.
    #[arg(long, default_value_t = 0.0, value_name = "COST", allow_negative_numbers = true)]
    experiment_cost: f64,
    #[command(flatten)]
    strategy: StrategyOptions,
    /// How values are chosen: refined (evenly spread, then more beside the best), gp-ucb, grid, sample or fixed.
    #[arg(long, default_value = "refined", value_name = "NAME", value_parser = named::<ValuesName>)]
    values: ValuesName,
    #[arg(long, default_value = "mcmc-gp", value_name = "NAME", value_parser = posterior_parser(), help = POSTERIOR_HELP)]
    posterior: PosteriorKind,
    /// Maximum cost of the batch, which may then be smaller than --batch.
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Maximum number of experiments that set the same variable.
    #[arg(long, value_name = "COUNT")]
    max_repeats: Option<usize>,
    /// Maximum number of variables that one experiment sets.
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    max_targets: usize,
    /// What to learn: `edge=A,B`, `parents=A`, `descendants=A` or `effect=A,B` [default: the whole model].
    #[arg(long, value_name = "QUESTION")]
    goal: Option<String>,
    /// Set any other key of the fit or the design, as for `seabed run`: --set posterior.draws=200 (repeatable).
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Where to write the form, .csv or .xlsx [default: batch-NNNN.csv beside the campaign].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// A note for the history.
    #[arg(long, default_value = "", hide_default_value = true)]
    note: String,
    #[command(flatten)]
    force: ForceWork,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// The value with this name; the names are those used in files.
fn named<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    serde_json::from_value(json!(name)).map_err(|error| error.to_string())
}

pub fn propose(arguments: &Propose, open: &Opener) -> Result<(), Failure> {
    let campaign = &arguments.file.campaign;
    let mut lab = open.open(campaign)?;
    if let Some(path) = &arguments.out {
        if path.exists() {
            return Err(input_error(format!(
                "{}: the file already exists; choose another name",
                path.display()
            )));
        }
        check_writable(path).map_err(|error| Failure::writing(Some(path), error))?;
    }
    let state = lab.state()?;
    let mut request = request(arguments, &state)?;
    arguments.force.check_effort(lab.effort(&state, &request, true)?)?;
    stop_on_interrupt();
    let proposed = match lab.propose(&request, &arguments.note, &Bar::new()) {
        // Now and then a fit by Markov chains has to leave out the graphs.
        Err(LabError::Design(DesignError::NoGraphs))
            if arguments.strategy.asked().is_none()
                && request.design.strategy == Strategy::recommended(true) =>
        {
            request.design.strategy = Strategy::recommended(false);
            lab.propose(&request, &arguments.note, &Bar::new())?
        }
        ended => ended?,
    };
    let state = lab.state()?;
    let place = arguments.out.clone().unwrap_or_else(|| place(campaign, proposed.id));
    let written = save_form(&place, &state, proposed.id);
    print_proposal(arguments, &proposed, &state, written.is_ok().then_some(&place))?;
    written
}

fn request(arguments: &Propose, state: &State) -> Result<ProposalRequest, Failure> {
    let mut request = ProposalRequest::default();
    request.design.batch = arguments.batch;
    request.design.replicates = arguments.replicates;
    request.design.experiment_cost = arguments.experiment_cost;
    request.design.values = arguments.values;
    request.posterior = PosteriorSettings::for_own_data(arguments.posterior);
    let has_graphs = request.posterior.check(None)?.gives_graphs();
    request.design.strategy = arguments.strategy.asked().unwrap_or(Strategy::recommended(has_graphs));
    request.budget = arguments.budget;
    request.max_repeats = arguments.max_repeats;
    request.max_targets = arguments.max_targets;
    if !arguments.settings.is_empty() {
        let mut keys = Keys::of(&request, "--set");
        arguments.settings.iter().try_for_each(|setting| keys.set(setting))?;
        request = keys.settings()?;
    }
    if let Some(goal) = &arguments.goal {
        parse_goal(goal, state.variables.names())?;
        request.goal.clone_from(goal);
    }
    Ok(request)
}

/// How often an experiment is done, where that was chosen.
fn times(experiment: &ExperimentRecord, replicates: Replicates) -> String {
    match (replicates, experiment.rows) {
        (Replicates::Auto, Some(rows)) => format!(", {rows} rows"),
        _ => String::new(),
    }
}

/// Where the form of a proposal goes unless the user says otherwise.
fn place(campaign: &Path, proposal: i64) -> PathBuf {
    campaign.with_file_name(format!("batch-{proposal:04}.csv"))
}

/// Never replaces an existing form, which may have been filled in.
fn save_form(path: &Path, state: &State, proposal: i64) -> Result<(), Failure> {
    if path.exists() {
        return Err(input_error(format!(
            "{}: the file already exists, so the form of proposal {proposal} was not written; `seabed lab form CAMPAIGN \
             {proposal} --out FILE` writes it elsewhere",
            path.display()
        )));
    }
    let form = state.form(proposal);
    write_atomically(path, |out| write_form(out, path, state.variables.names(), &form))
        .map_err(|error| Failure::writing(Some(path), error))
}

fn print_proposal(
    arguments: &Propose,
    proposed: &Proposed,
    state: &State,
    place: Option<&PathBuf>,
) -> Result<(), Failure> {
    let designed = &proposed.designed;
    warn(&proposed.warnings);
    if arguments.json {
        let mut value = serde_json::to_value(proposed).expect("plain numbers");
        let ceiling = ceiling(designed.information, designed.entropy).map(str::to_string);
        value["warnings"] = json!(proposed.warnings.iter().cloned().chain(ceiling).collect::<Vec<_>>());
        value["form"] = json!(place);
        return print(&value.to_string());
    }
    let unit = |name: &str| {
        let variable = state.variables.list().iter().find(|variable| variable.name == name);
        variable.map_or(String::new(), |variable| variable.unit.clone())
    };
    let belief = &proposed.belief;
    for warning in belief.warning.iter().chain(&belief.cautions) {
        tell!("warning: {warning}");
    }
    for line in checks::lines(&belief.checks) {
        tell!("{line}");
    }
    let aside = match belief.set_aside {
        0 => String::new(),
        count => format!(" ({count} with missing values left out)"),
    };
    let beyond = match proposed.pending {
        0 => String::new(),
        count => format!(", in addition to {count} pending outcomes"),
    };
    let mut text = format!(
        "proposal {} from {} rows{aside}{beyond}\n{:>10}  {:>11}  {:>7}  {:>7}  {:>6}  what\n",
        proposed.id, belief.rows, "experiment", "information", "±", "gain", "cost"
    );
    for (experiment, &id) in designed.batch.iter().zip(&proposed.experiments) {
        text += &format!(
            "{:>10}  {:>11.4}  {:>7.4}  {:>7.4}  {:>6}  {}\n",
            experiment_name(id),
            experiment.information,
            experiment.standard_error,
            experiment.gain,
            experiment.cost,
            describe(&experiment.targets, &unit) + &times(experiment, arguments.replicates)
        );
    }
    for (experiment, &id) in designed.batch.iter().zip(&proposed.experiments) {
        text += &format!(
            "{:>10}  {}: {}\n",
            experiment_name(id),
            describe(&experiment.targets, &unit),
            reasons(&experiment.decides)
        );
    }
    let unit = proposed.strategy.parts().0.unit();
    text += &format!(
        "together {:.3} ± {:.3} {unit} (the draws can tell {:.3}) by {}; entropy of the edges {:.2} nats",
        designed.information,
        designed.standard_error,
        designed.entropy,
        proposed.strategy.name(),
        belief.edge_entropy
    );
    if let Some(caution) = ceiling(designed.information, designed.entropy) {
        text += &format!("\n{caution}");
    }
    for sentence in designed.forecast.iter().flat_map(|forecast| forecast.sentences()) {
        text += &format!("\n{sentence}");
    }
    if let Some(place) = place {
        text += &format!("\nfill in {}, then `seabed lab record`", place.display());
    }
    print(&text)
}

/// Write the form of a proposal again, with the results recorded so far.
#[derive(Args)]
pub struct Form {
    #[command(flatten)]
    file: Campaign,
    /// The number of the proposal [default: the last one].
    proposal: Option<i64>,
    /// Where to write the form, .csv or .xlsx [default: batch-NNNN.csv beside the campaign]. An existing file is never replaced.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn form(arguments: &Form, open: &Opener) -> Result<(), Failure> {
    let campaign = &arguments.file.campaign;
    let state = open.open(campaign)?.state()?;
    let known = |id: i64| state.proposals.iter().any(|proposal| proposal.id == id);
    let id = match (arguments.proposal, state.proposals.last()) {
        (Some(id), _) if known(id) => id,
        (Some(id), _) => {
            return Err(input_error(format!(
                "there is no proposal {id}, or it was undone; `seabed lab status` lists them"
            )));
        }
        (None, Some(last)) => last.id,
        (None, None) => {
            return Err(input_error("there is no proposal yet; make one with `seabed lab propose`".into()));
        }
    };
    let place = arguments.out.clone().unwrap_or_else(|| place(campaign, id));
    save_form(&place, &state, id)?;
    print(&format!("form of proposal {id} written to {}", place.display()))
}
