//! What a report of the campaign shows: the learned edges, every batch and what it was expected to teach, the experiments
//! made, and what values of targets were worth in the last proposal.

use seabed::checks;
use seabed::evaluate::MetricRow;
use seabed_report::{InformationCurve, Intervention, RunView};

use super::state::{Experiment, State};
use super::status::{RoundSummary, Summary};
use super::{Lab, LabError};

impl Lab {
    /// The content of the report; none if nothing has been learned yet.
    pub fn report_view(&self, title: String) -> Result<Option<RunView>, LabError> {
        let (state, summary) = (self.state()?, self.summary()?);
        let probabilities = self.edge_probabilities()?;
        Ok(probabilities.map(|probabilities| view(title, &state, &summary, probabilities)))
    }
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
        curves: last.map_or(Vec::new(), |proposal| InformationCurve::of(&proposal.designed.evaluated)),
        timing: Vec::new(),
        checks: summary.belief.as_ref().map_or(Vec::new(), |belief| checks::summary(&belief.checks)),
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
