//! Every experiment as a table of texts, a line for each replicate: what was proposed, what was really set, what for, and what
//! came; failed and pending ones too.

use seabed::design::reasons;
use seabed::graph::Node;
use seabed_report::{Table, short};

use super::experiment_name;
use super::state::{Experiment, Record, State, Status};

/// The experiments in force.
pub(super) fn experiment_table(state: &State) -> Table {
    let header = ["experiment", "replicate", "proposed", "set", "what for", "came"];
    Table {
        title: "Experiments".into(),
        note: "Every experiment, what it was for, and what came of it; where something else was set than proposed, it says so."
            .into(),
        header: header.map(String::from).to_vec(),
        rows: state.live().flat_map(|experiment| lines(state, experiment)).collect(),
    }
}

/// One line per replicate; what they share is said in the first.
fn lines(state: &State, experiment: &Experiment) -> Vec<Vec<String>> {
    let last = experiment.records.keys().next_back().copied().unwrap_or(0).max(experiment.replicates);
    let was_proposed = experiment.proposal.is_some();
    let chosen = state.chosen(experiment);
    let line = |replicate: u32| {
        let newest = experiment.newest(replicate);
        let shared = if replicate > 1 {
            [String::new(), String::new(), String::new()]
        } else {
            [
                experiment_name(experiment.id),
                if was_proposed { settings(state, &experiment.settings) } else { "not proposed".into() },
                chosen.map_or(String::new(), |chosen| reasons(&chosen.decides)),
            ]
        };
        let [name, proposed, reason] = shared;
        let set = newest.map_or(String::new(), |record| set(state, experiment, record, was_proposed));
        vec![name, replicate.to_string(), proposed, set, reason, came(state, newest)]
    };
    // Numbers of replicates that nobody planned or recorded are left out.
    let there =
        |replicate: &u32| *replicate <= experiment.replicates || experiment.newest(*replicate).is_some();
    (1..=last).filter(there).map(line).collect()
}

fn settings(state: &State, settings: &[(Node, f64)]) -> String {
    // Each in one line, however narrow the page is.
    let part = |(name, value): (String, f64)| format!("{name}\u{a0}=\u{a0}{}", short(value));
    state.named(settings).into_iter().map(part).collect::<Vec<_>>().join(", ")
}

/// What was really set.
fn set(state: &State, experiment: &Experiment, record: &Record, was_proposed: bool) -> String {
    if record.status == Status::Pending {
        return String::new();
    }
    let really = record.row.settings();
    // Who sets what is written on the page, which is rounded, does as proposed.
    match (settings(state, &really) == settings(state, &experiment.settings), was_proposed) {
        (true, true) => "as proposed".into(),
        // The form of an experiment that failed may have been left as it was.
        (false, true) if really.is_empty() && record.status == Status::Failed => String::new(),
        (false, true) if really.is_empty() => "nothing (not as proposed)".into(),
        (false, true) => format!("{} (not as proposed)", settings(state, &really)),
        (_, false) => settings(state, &really),
    }
}

/// What was measured, or why not.
fn came(state: &State, newest: Option<&Record>) -> String {
    let Some(record) = newest.filter(|record| record.status != Status::Pending) else {
        return Status::Pending.name().into();
    };
    let cells = state.variables.names().iter().zip(&record.row.cells).enumerate();
    let looked_at = cells.filter(|(node, _)| !record.row.targets.contains(node));
    let measured = |(_, (name, cell)): (usize, (&String, &Option<f64>))| match cell {
        Some(value) => format!("{name} {}", short(*value)),
        None => format!("{name} missing"),
    };
    match record.status {
        Status::Failed => Status::Failed.name().into(),
        _ => looked_at.map(measured).collect::<Vec<_>>().join(", "),
    }
}
