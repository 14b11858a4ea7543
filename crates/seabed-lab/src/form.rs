//! Forms: the table that goes to the laboratory, to be filled in and recorded.

use std::io::{self, Write};
use std::path::Path;

use seabed::data::{Names, Sheet, TARGET_SEPARATOR, TARGETS_COLUMN, WorkbookCell as Cell, write_workbook};
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

/// Writes a form for the file `path`: one row per replicate of an experiment. A workbook if the name ends in `.xlsx`, which
/// spreadsheets of every country open right; else CSV.
pub fn write_form(out: &mut dyn Write, path: &Path, names: &Names, rows: &[FormRow]) -> io::Result<()> {
    let rows = rows.iter().map(|row| cells(row, names));
    let text = |text: &str| Cell::Text(text.to_string());
    let variables = names.iter().map(|name| text(name));
    let header = [text("experiment"), text("replicate")].into_iter().chain(variables);
    let header: Vec<Cell> = header.chain([text(TARGETS_COLUMN), text("status")]).collect();
    let rows = std::iter::once(header).chain(rows);
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xlsx")) {
        return write_workbook(out, "form", rows);
    }
    let mut bytes = Vec::new();
    let mut table = csv::Writer::from_writer(&mut bytes);
    for row in rows {
        table.write_record(row.iter().map(|cell| match cell {
            Cell::Empty => String::new(),
            Cell::Number(value) => value.to_string(),
            Cell::Text(text) => harmless_cell(text).into_owned(),
        }))?;
    }
    table.flush()?;
    drop(table);
    // Without a mark, Excel takes other letters than English ones for Windows-1252.
    if !bytes.is_ascii() {
        out.write_all("\u{feff}".as_bytes())?;
    }
    out.write_all(&bytes)
}

fn cells(row: &FormRow, names: &Names) -> Vec<Cell> {
    let text = |text: &str| if text.is_empty() { Cell::Empty } else { Cell::Text(text.to_string()) };
    let places = [text(&row.experiment), Cell::Number(f64::from(row.replicate))];
    let values = row.cells.iter().map(|cell| cell.map_or(Cell::Empty, Cell::Number));
    let targets = super::store::targets_text(&row.targets, names);
    places.into_iter().chain(values).chain([text(&targets), text(row.status)]).collect()
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
