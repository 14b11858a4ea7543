//! What a report of the campaign shows: where it stands in words, the learned edges and effects, every batch and what it was
//! expected to teach, the experiments made, and what values of targets were worth in the last proposal.

use seabed::checks;
use seabed::design::reasons;
use seabed::evaluate::MetricRow;
use seabed_report::{InformationCurve, Intervention, RunView, Table, short};

use super::state::{Action, Experiment, State};
use super::status::{Edge, RoundSummary, Summary};
use super::{Lab, LabEffect, LabError, Status, experiment_name};

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
        unit: summary.strategy.parts().0.unit().into(),
        interventions: state.live().flat_map(of_experiment).collect(),
        curves: last.map_or(Vec::new(), |proposal| InformationCurve::of(&proposal.designed.evaluated)),
        timing: Vec::new(),
        opening: opening(state, summary),
        tables: tables(state, summary),
        checks: summary.belief.as_ref().map_or(Vec::new(), |belief| checks::summary(&belief.checks)),
    }
}

/// What was asked, what is believed, what is undecided, what to do next.
fn opening(state: &State, summary: &Summary) -> Vec<String> {
    let names = state.variables.names();
    let targets = state.variables.list().iter().filter(|variable| variable.intervene).count();
    let edge = |edge: &Edge| format!("{} → {}", edge.from, edge.to);
    let list = |edges: &[Edge]| edges.iter().take(5).map(edge).collect::<Vec<_>>().join(", ");
    let asked = format!(
        "This campaign asks which of {} variables cause which others; {targets} of them can be set. It has {} measurements, {} of \
         them with something set.",
        names.len(),
        summary.rows,
        summary.interventional
    );
    let sure: Vec<Edge> = summary.certain.iter().filter(|edge| edge.probability >= 0.9).cloned().collect();
    let believed = match sure.len() {
        0 => "No edge has a probability of 90 % yet.".to_string(),
        _ => format!("The surest edges are {}.", list(&sure)),
    };
    let undecided = summary.uncertain.iter().filter(|edge| (0.1..=0.9).contains(&edge.probability));
    let undecided: Vec<Edge> = undecided.cloned().collect();
    let open = match undecided.len() {
        0 => "No edge is between 10 and 90 %.".to_string(),
        _ => format!("Most undecided are {}.", list(&undecided)),
    };
    let next = match (summary.pending.len(), summary.not_yet_learned, summary.hardly_worth) {
        (pending, ..) if pending > 0 => {
            format!("{pending} proposed measurements are still to be made and recorded.")
        }
        (_, true, _) => "Some results have not been learned from yet: run `seabed lab propose`.".into(),
        (_, _, Some(true)) => "More experiments of the kinds tried are hardly worthwhile.".into(),
        _ => "The next step is another proposal: `seabed lab propose`.".into(),
    };
    let of_belief = summary.belief.iter().flat_map(|belief| belief.warning.iter().chain(&belief.cautions));
    let cautions = of_belief.chain(&summary.warnings).map(|warning| format!("Caution: {warning}."));
    [format!("{asked} {believed} {open} {next}")].into_iter().chain(cautions).collect()
}

fn tables(state: &State, summary: &Summary) -> Vec<Table> {
    let texts = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Vec<String>>();
    let effect = |effect: &LabEffect| {
        let [low, high] = effect.interval;
        vec![
            format!("{} → {}", effect.from, effect.to),
            format!("{} {}", short(effect.mean), effect.unit).trim_end().to_string(),
            format!("{} to {}", short(low), short(high)),
            format!("{:.2}", effect.not_zero),
        ]
    };
    let experiment = |experiment: &Experiment| {
        let names = state.variables.names();
        let settings = |settings: &[(usize, f64)]| {
            let parts = settings.iter().map(|(node, value)| format!("{} = {}", names[*node], short(*value)));
            parts.collect::<Vec<_>>().join(", ")
        };
        let mut came: Vec<String> = Vec::new();
        for records in experiment.records.values() {
            let Some(record) = records.last() else { continue };
            let cells = record.row.cells.iter().enumerate();
            let measured = cells.filter(|(node, cell)| cell.is_some() && !record.row.targets.contains(node));
            let measured: Vec<String> = measured
                .map(|(node, cell)| format!("{} {}", names[node], short(cell.unwrap_or(0.0))))
                .collect();
            came.push(match record.status {
                Status::Done => measured.join(", "),
                other => other.name().to_string(),
            });
        }
        let waiting = experiment.pending().count();
        if waiting > 0 {
            came.push(format!("{waiting} pending"));
        }
        let proposal = state.proposals.iter().find(|proposal| Some(proposal.id) == experiment.proposal);
        let mates = state.live().filter(|mate| mate.proposal == experiment.proposal);
        let within = mates.map(|mate| mate.id).position(|id| id == experiment.id);
        let chosen = proposal.and_then(|proposal| proposal.designed.batch.get(within?));
        vec![
            experiment_name(experiment.id),
            settings(&experiment.settings),
            chosen.map_or("not proposed".into(), |chosen| reasons(&chosen.decides)),
            came.join("; "),
        ]
    };
    let action = |action: &Action| {
        let undone = action.undone.as_ref().map_or(String::new(), |at| format!(" (undone {at})"));
        vec![action.at.clone(), format!("{} {}{undone}", action.kind, action.what), action.note.clone()]
    };
    let glossary = [
        (
            "edge",
            "A → B: A is a direct cause of B among the variables here. Its probability is the share of the belief in graphs that have it.",
        ),
        (
            "effect",
            "How much the mean of B changes per unit when A is set higher, through all paths; averaged over graphs and parameters.",
        ),
        (
            "information",
            "What a batch is expected to teach, in the unit of its strategy; it counts only what the drawn models can tell.",
        ),
        (
            "entropy",
            "How uncertain the edges are, in nats: 0 when all are known, 0.69 for each edge that is as likely as not.",
        ),
        ("pending", "Proposed, but without a recorded result."),
    ];
    vec![
        Table {
            title: "Effects".into(),
            note: "What setting one variable does to another, where that is more probable than not; the last column is the \
                   probability of any effect."
                .into(),
            header: texts(&["set → look", "change per unit", "90 % interval", "any"]),
            rows: summary.effects.iter().map(effect).collect(),
        },
        Table {
            title: "Experiments".into(),
            note: "What was set, why, and what came.".into(),
            header: texts(&["experiment", "set", "why", "came"]),
            rows: state.live().map(experiment).collect(),
        },
        Table {
            title: "Timeline".into(),
            note: String::new(),
            header: texts(&["when", "what", "note"]),
            rows: state.actions.iter().map(action).collect(),
        },
        Table {
            title: "Glossary".into(),
            note: String::new(),
            header: texts(&["word", "meaning"]),
            rows: glossary.iter().map(|(word, meaning)| texts(&[*word, *meaning])).collect(),
        },
    ]
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
