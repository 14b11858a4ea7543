//! What a report of the campaign shows: what it asks and what to do next, the learned edges and effects, every batch and what it
//! was expected to teach, the experiments made, and what values of targets were worth in the last proposal.

use seabed::checks;
use seabed::design::ceiling;
use seabed::evaluate::MetricRow;
use seabed_report::{EffectRow, InformationCurve, Intervention, RunView, Table};

use super::experiment_table::experiment_table;
use super::state::{Action, Experiment, State};
use super::status::{Overview, RoundSummary, Summary};
use super::{Lab, LabEffect, LabError};

impl Lab {
    /// The content of the report; none if nothing has been learned yet.
    pub fn report_view(&self, title: String) -> Result<Option<RunView>, LabError> {
        let state = self.state()?;
        let (summary, belief) = self.summary_of_state(&state)?;
        Ok(belief.map(|belief| view(title, &state, &summary, belief.ensemble.edge_probabilities())))
    }

    /// As [`Lab::report_view`], from an overview of the campaign as it is now.
    pub fn report_of(&self, title: String, overview: &Overview) -> Result<Option<RunView>, LabError> {
        let state = self.state()?;
        Ok(overview.edges.clone().map(|edges| view(title, &state, &overview.summary, edges)))
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
        let chosen = state.chosen(experiment);
        let of_targets = |targets: Vec<(String, f64)>| Intervention {
            round: experiment.proposal.map_or(0, |id| id as usize),
            targets,
            information: chosen.map(|chosen| chosen.information),
            standard_error: chosen.map(|chosen| chosen.standard_error),
        };
        let measured = experiment.measured().map(|(_, record)| state.named(&record.row.settings()));
        let planned = experiment
            .pending()
            .filter(|_| last.map(|last| last.id) == experiment.proposal)
            .map(|_| state.named(&experiment.settings));
        measured.chain(planned).filter(|targets| !targets.is_empty()).map(of_targets).collect()
    };
    let at_ceiling = last.and_then(|last| ceiling(last.designed.information, last.designed.entropy));
    let at_ceiling = at_ceiling.map(str::to_string);
    let of_belief = summary.belief.iter().flat_map(|belief| belief.warning.iter().chain(&belief.cautions));
    let title = match summary.pending.len() {
        0 => title,
        1 => format!("{title} (1 outcome pending)"),
        count => format!("{title} ({count} outcomes pending)"),
    };
    RunView {
        title,
        config_text: text(state, summary),
        names: names.to_vec(),
        truth: None,
        edge_probabilities,
        rows: summary.rounds.iter().map(round).collect(),
        unit: summary.strategy.parts().0.unit().into(),
        interventions: state.live().flat_map(of_experiment).collect(),
        curves: last.map_or(Vec::new(), |proposal| InformationCurve::of(&proposal.designed.evaluated)),
        timing: Vec::new(),
        asked: asked(state, summary),
        next: next(summary),
        cautions: of_belief.chain(&summary.warnings).cloned().chain(at_ceiling).collect(),
        effects: summary.effects.iter().map(effect).collect(),
        tables: vec![experiment_table(state), timeline(state)],
        checks: summary.belief.as_ref().map_or(Vec::new(), |belief| checks::summary(&belief.checks)),
    }
}

/// What the campaign asks, and what it has measured.
fn asked(state: &State, summary: &Summary) -> String {
    let targets = state.variables.list().iter().filter(|variable| variable.intervene).count();
    format!(
        "This campaign asks which of {} variables cause which others; {targets} of them can be set. It has {} measurements, {} of \
         them with something set.",
        state.variables.names().len(),
        summary.rows,
        summary.interventional
    )
}

fn next(summary: &Summary) -> String {
    match (summary.pending.len(), summary.not_yet_learned, summary.hardly_worth) {
        (1, ..) => "One proposed measurement is still to be made and recorded.".into(),
        (pending, ..) if pending > 0 => {
            format!("{pending} proposed measurements are still to be made and recorded.")
        }
        (_, true, _) => "Some results have not been learned from yet: run `seabed lab propose`.".into(),
        (_, _, Some(true)) => "More experiments of the kinds tried are hardly worthwhile.".into(),
        _ => "The next step is another proposal: `seabed lab propose`.".into(),
    }
}

fn effect(effect: &LabEffect) -> EffectRow {
    EffectRow {
        from: effect.from.clone(),
        to: effect.to.clone(),
        mean: effect.mean,
        interval: effect.interval,
        not_zero: effect.not_zero,
        unit: effect.unit.clone(),
    }
}

/// What happened when.
fn timeline(state: &State) -> Table {
    let row = |action: &Action| {
        let undone = action.undone.as_ref().map_or(String::new(), |at| format!(" (undone {at})"));
        vec![action.at.clone(), format!("{} {}{undone}", action.kind, action.what), action.note.clone()]
    };
    Table {
        title: "Timeline".into(),
        note: String::new(),
        header: ["when", "what", "note"].map(String::from).to_vec(),
        rows: state.actions.iter().map(row).collect(),
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
