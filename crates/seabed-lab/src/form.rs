//! Forms: the table that goes to the laboratory, to be filled in and recorded.

use std::io::{self, Write};

use seabed::data::{Names, Sheet, TARGET_SEPARATOR, TARGETS_COLUMN};
use seabed::graph::Node;

use super::spreadsheet::{harmless_cell, original_cell};
use super::state::{Experiment, State, Status};

/// The name of an experiment in forms: `E007`. Spreadsheets do not mistake it for a number or a date.
pub fn experiment_name(id: i64) -> String {
    format!("E{id:03}")
}

/// The number of the experiment with this name.
pub(super) fn experiment_number(name: &str) -> Option<i64> {
    let digits = name.trim().strip_prefix(['E', 'e'])?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// A row of a form.
pub struct FormRow {
    /// The experiment's name.
    pub experiment: String,
    /// Counted from 1.
    pub replicate: u32,
    /// One per variable; targets are filled in.
    pub cells: Vec<Option<f64>>,
    /// The targets.
    pub targets: Vec<Node>,
    /// Empty while the outcome is pending.
    pub status: &'static str,
}

impl FormRow {
    /// The row of an experiment still to be made.
    pub fn to_fill(experiment: String, replicate: u32, settings: &[(Node, f64)], variables: usize) -> Self {
        let mut cells = vec![None; variables];
        for &(node, value) in settings {
            cells[node] = Some(value);
        }
        let targets = settings.iter().map(|&(node, _)| node).collect();
        Self { experiment, replicate, cells, targets, status: "" }
    }
}

/// Writes a form: one row per replicate of an experiment.
pub fn write_form(out: &mut dyn Write, names: &Names, rows: &[FormRow]) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let variables: Vec<_> = names.iter().map(|name| harmless_cell(name)).collect();
    let variables = variables.iter().map(AsRef::as_ref);
    let header = ["experiment", "replicate"].into_iter().chain(variables).chain([TARGETS_COLUMN, "status"]);
    table.write_record(header)?;
    for row in rows {
        let cells = row.cells.iter().map(|cell| cell.map_or(String::new(), |value| value.to_string()));
        let places = [row.experiment.clone(), row.replicate.to_string()];
        let targets = harmless_cell(&super::store::targets_text(&row.targets, names)).into_owned();
        table.write_record(places.into_iter().chain(cells).chain([targets, row.status.to_string()]))?;
    }
    table.flush()
}

/// Is this a form that nobody has filled in yet?
pub fn is_blank_form(sheet: &Sheet) -> bool {
    let [experiment, replicate, variables @ .., targets, status] = &sheet.header[..] else { return false };
    let is_form =
        [experiment, replicate, targets, status] == ["experiment", "replicate", TARGETS_COLUMN, "status"];
    is_form
        && sheet.rows.iter().all(|row| {
            let (cells, ends) = row.cells[2..].split_at(variables.len());
            let set: Vec<&str> = original_cell(&ends[0]).split(TARGET_SEPARATOR).map(str::trim).collect();
            let to_fill =
                |(name, cell): (&String, &String)| cell.is_empty() || set.contains(&original_cell(name));
            ends[1].is_empty() && variables.iter().zip(cells).all(to_fill)
        })
}

impl State {
    /// The current form of a proposal, with recorded results filled in.
    pub fn form(&self, proposal: i64) -> Vec<FormRow> {
        let of_proposal = self.live().filter(|experiment| experiment.proposal == Some(proposal));
        of_proposal.flat_map(|experiment| self.form_rows(experiment)).collect()
    }

    fn form_rows(&self, experiment: &Experiment) -> Vec<FormRow> {
        let last = experiment.records.keys().next_back().copied().unwrap_or(0).max(experiment.replicates);
        let row = |replicate: u32| {
            let name = experiment_name(experiment.id);
            match experiment.newest(replicate).filter(|record| record.status != Status::Pending) {
                None => {
                    let variables = self.variables.names().len();
                    FormRow::to_fill(name, replicate, &experiment.settings, variables)
                }
                Some(record) => FormRow {
                    experiment: name,
                    replicate,
                    cells: record.row.cells.clone(),
                    targets: record.row.targets.clone(),
                    status: record.status.name(),
                },
            }
        };
        let known =
            |replicate: &u32| *replicate <= experiment.replicates || experiment.newest(*replicate).is_some();
        (1..=last).filter(known).map(row).collect()
    }
}
