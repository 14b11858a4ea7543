//! The HTML report of a campaign.

use std::path::PathBuf;

use clap::Args;
use seabed::data::write_atomically;
use seabed::evaluate::MetricRow;
use seabed_lab::{Experiment, RoundSummary, State, Summary};
use seabed_report::{Intervention, RunView, run_html};

use super::{Campaign, Opener, input_error, print};
use crate::failure::Failure;
use crate::outputs::{Force, Kind, Output};
use crate::report::curves;

/// Write a report of the campaign: one self-contained HTML page.
///
/// Shows the learned edges, the expected information of every batch, the experiments made, and the expected information
/// of each value of each target in the last proposal.
#[derive(Args)]
pub struct Report {
    #[command(flatten)]
    file: Campaign,
    /// Where to write the page [default: the campaign's name with .html].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

pub fn report(arguments: &Report, open: &Opener) -> Result<(), Failure> {
    let campaign = &arguments.file.campaign;
    let lab = open.open(campaign)?;
    let (state, summary) = (lab.state()?, lab.summary()?);
    let Some(probabilities) = lab.edge_probabilities()? else {
        return Err(input_error(
            "nothing has been learned yet; run `seabed lab status --fit` or `seabed lab propose`".into(),
        ));
    };
    let title = campaign.file_stem().map_or("campaign".into(), |stem| stem.to_string_lossy().into_owned());
    let place = arguments.out.clone().unwrap_or_else(|| campaign.with_extension("html"));
    arguments.force.check(&[Output { path: &place, kind: Kind::Report }], &[campaign])?;
    let page = run_html(&view(title, &state, &summary, probabilities));
    write_atomically(&place, |out| out.write_all(page.as_bytes()))
        .map_err(|error| Failure::writing(Some(&place), error))?;
    print(&format!("report written to {}", place.display()))
}

fn view(title: String, state: &State, summary: &Summary, edge_probabilities: Vec<Vec<f64>>) -> RunView {
    let names = state.variables.names();
    let round = |proposal: &RoundSummary| MetricRow {
        round: proposal.proposal as usize,
        interventional_samples: proposal.interventional,
        batch_information: Some(proposal.information),
        ..MetricRow::default()
    };
    let last = state.proposals.last();
    // What was set, and what the last proposal asks to set; experiments that were not proposed are of round 0.
    let of_experiment = |experiment: &Experiment| -> Vec<Intervention> {
        let proposal = state.proposals.iter().find(|proposal| Some(proposal.id) == experiment.proposal);
        let mates = state.live().filter(|mate| mate.proposal == experiment.proposal);
        let within = mates.map(|mate| mate.id).position(|id| id == experiment.id);
        let chosen = proposal.and_then(|proposal| proposal.designed.batch.get(within?));
        let of_targets = |targets: Vec<(String, f64)>| Intervention {
            round: proposal.map_or(0, |proposal| proposal.id as usize),
            targets,
            information: chosen.map(|chosen| chosen.information),
            standard_error: chosen.map(|chosen| chosen.standard_error),
        };
        let measured = experiment.measured().map(|(_, record)| {
            let value = |&node: &usize| Some((names[node].clone(), record.row.cells[node]?));
            record.row.targets.iter().filter_map(value).collect::<Vec<_>>()
        });
        let planned = experiment
            .pending()
            .filter(|_| last.map(|last| last.id) == experiment.proposal)
            .map(|_| experiment.settings.iter().map(|&(node, value)| (names[node].clone(), value)).collect());
        measured.chain(planned).filter(|targets| !targets.is_empty()).map(of_targets).collect()
    };
    let title = match summary.pending.len() {
        0 => title,
        count => format!("{title} ({count} outcomes pending)"),
    };
    RunView {
        title,
        config_text: text(state, summary),
        names: names.to_vec(),
        truth: None,
        edge_probabilities,
        rows: summary.rounds.iter().map(round).collect(),
        interventions: state.live().flat_map(of_experiment).collect(),
        curves: last.map_or(Vec::new(), |proposal| curves(&proposal.designed.evaluated)),
        timing: Vec::new(),
    }
}

/// The history and the variables, as plain text.
fn text(state: &State, summary: &Summary) -> String {
    let mut text = String::from("# Actions\n");
    for action in &state.actions {
        let undone = action.undone.as_ref().map_or(String::new(), |at| format!(" (undone {at})"));
        let note = if action.note.is_empty() { String::new() } else { format!(": {}", action.note) };
        text += &format!("{:>4}  {}  {} {}{note}{undone}\n", action.id, action.at, action.kind, action.what);
    }
    text += "\n# Entropy of the edge probabilities, in nats\n";
    for round in &summary.rounds {
        text += &format!(
            "before proposal {}, by {}: {:.3} ({} rows)\n",
            round.proposal,
            round.strategy.name(),
            round.edge_entropy,
            round.rows
        );
    }
    if let Some(belief) = &summary.belief {
        text += &format!("newest: {:.3} ({} rows)\n", belief.edge_entropy, belief.rows);
        text.extend(belief.warning.iter().map(|warning| format!("warning: {warning}\n")));
    }
    text + "\n# Variables\n" + &state.variables_text
}
