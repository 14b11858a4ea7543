//! Takes filled-in forms and corrections into a campaign.
//!
//! Every row of a form is parsed and checked against what is in force before anything is written; a form with one bad
//! row is refused as a whole. A row that is already known changes nothing, one that fills in missing values completes
//! the record, and one that contradicts it is a correction, which must be asked for.

use std::collections::BTreeMap;

use seabed::data::{Place, ReadOptions, Sheet, SheetRow, TARGETS_COLUMN, closest, did_you_mean, position};
use seabed::graph::Node;

use super::form::{experiment_name, experiment_number};
use super::intake::{Columns, KnownRows, all_or_listed, warnings};
use super::state::{Experiment, Record, Row, State, Status};
use super::{Lab, LabError};

/// What a form changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recorded {
    /// The action; `None` if there was nothing new.
    pub action: Option<i64>,
    /// Newly measured replicates.
    pub done: usize,
    /// Replicates that failed.
    pub failed: usize,
    /// Records that were completed or corrected.
    pub changed: usize,
    /// Experiments that were not proposed.
    pub extra: Vec<i64>,
    /// Rows that were already known.
    pub known: usize,
    /// Rows that are not filled in.
    pub blank: usize,
    /// What looks unusual.
    pub warnings: Vec<String>,
}

/// A correction of one replicate.
#[derive(Clone, PartialEq, Debug)]
pub struct Correction {
    /// The experiment's name, as in forms.
    pub experiment: String,
    /// Counted from 1.
    pub replicate: u32,
    /// New values by name; `None` if the value is missing.
    pub values: Vec<(String, Option<f64>)>,
    /// The new status, if it is to change.
    pub status: Option<Status>,
}

/// A parsed row of a form.
struct Filled {
    place: Place,
    /// `None` if it was not proposed.
    experiment: Option<i64>,
    replicate: u32,
    status: Status,
    row: Row,
}

/// A record to be written; where `experiment` is `None`, the experiment is created first.
struct Entry {
    /// The row's number in its form.
    number: usize,
    experiment: Option<i64>,
    replicate: u32,
    status: Status,
    row: Row,
}

impl Lab {
    /// Records a filled-in form. With `amend`, rows that contradict a record correct it. With `again`, rows that were not
    /// proposed are recorded even if the same were recorded before.
    pub fn record(
        &mut self,
        file: &str,
        content: &[u8],
        amend: bool,
        again: bool,
        note: &str,
    ) -> Result<Recorded, LabError> {
        let sheet = Sheet::read(content, file, &ReadOptions::default())?;
        self.record_sheet(&sheet, &[], amend, again, note)
    }

    /// As [`Lab::record`], of a form that was read already, without some of its columns.
    pub fn record_sheet(
        &mut self,
        sheet: &Sheet,
        ignore: &[String],
        amend: bool,
        again: bool,
        note: &str,
    ) -> Result<Recorded, LabError> {
        let file = &sheet.file;
        self.change(|change, state| {
            let columns = Columns::of(sheet, ignore, &state.variables)?;
            let (mut recorded, entries) = plan(sheet, &columns, state, amend, again)?;
            if entries.is_empty() {
                return Ok(recorded);
            }
            let kind = if amend { "amend" } else { "record" };
            let action = change.action(kind, &what(&recorded, file), note)?;
            let rows: Vec<(usize, &Row)> = entries.iter().map(|entry| (entry.number, &entry.row)).collect();
            recorded.warnings = columns.censored(sheet).into_iter().chain(warnings(&rows, state)).collect();
            recorded.action = Some(action);
            let names = state.variables.names();
            for Entry { experiment, replicate, status, row, .. } in entries {
                let experiment = match experiment {
                    Some(id) => id,
                    None => {
                        let settings: Vec<(Node, f64)> =
                            row.targets.iter().filter_map(|&node| Some((node, row.cells[node]?))).collect();
                        let id = change.experiment(action, None, &settings, 1, names)?;
                        recorded.extra.push(id);
                        id
                    }
                };
                change.record(
                    &Record { action, status, row, file: file.to_string() },
                    experiment,
                    replicate,
                    names,
                )?;
            }
            Ok(recorded)
        })
    }

    /// Corrects one replicate; the old record stays in the history.
    pub fn amend(&mut self, correction: &Correction, note: &str) -> Result<Recorded, LabError> {
        self.change(|change, state| {
            let (names, variables) = (state.variables.names(), &state.variables);
            let experiment = find(&correction.experiment, state)?;
            let name = experiment_name(experiment.id);
            let place = format!("{name}, replicate {}", correction.replicate);
            let Some(before) = experiment.newest(correction.replicate) else {
                return Err(LabError::refused(
                    place,
                    "there is no record of it yet; `seabed lab record` makes one",
                ));
            };
            let mut after = Record { file: String::new(), ..before.clone() };
            for (name, value) in &correction.values {
                let Some(node) = position(names, name.trim()) else {
                    let near = did_you_mean(closest(name, names));
                    return Err(LabError::refused(place, format!("there is no variable {name:?}{near}")));
                };
                if let Some(problem) = value.and_then(|value| variables.refuses(node, value)) {
                    return Err(LabError::refused(place, format!("{name}: {problem}")));
                }
                after.row.cells[node] = *value;
            }
            after.status = correction.status.unwrap_or(before.status);
            if (after.status, &after.row) == (before.status, &before.row) {
                return Ok(Recorded { known: 1, ..Recorded::default() });
            }
            let what = format!("{place} corrected");
            after.action = change.action("amend", &what, note)?;
            change.record(&after, experiment.id, correction.replicate, names)?;
            Ok(Recorded { action: Some(after.action), changed: 1, ..Recorded::default() })
        })
    }
}

fn what(recorded: &Recorded, file: &str) -> String {
    format!("{} done, {} failed, {} changed with {file}", recorded.done, recorded.failed, recorded.changed)
}

/// The experiment in force with this name.
fn find<'s>(name: &str, state: &'s State) -> Result<&'s Experiment, LabError> {
    let no = |hint: String| LabError::NoExperiment { name: name.to_string(), hint };
    let Some(id) = experiment_number(name) else {
        return Err(no("; experiments are called E001, E002, …".into()));
    };
    let found = state.experiments.iter().find(|experiment| experiment.id == id);
    let Some(experiment) = found else {
        let last = state.experiments.last().map(|last| format!("; the last is {}", experiment_name(last.id)));
        return Err(no(last.unwrap_or_else(|| "; there are none yet".into())));
    };
    if !experiment.live {
        return Err(no(": it was undone; to record it anyway, leave the experiment cell empty".into()));
    }
    Ok(experiment)
}

/// What a form changes, and the records to be written.
fn plan(
    sheet: &Sheet,
    columns: &Columns,
    state: &State,
    amend: bool,
    again: bool,
) -> Result<(Recorded, Vec<Entry>), LabError> {
    let mut recorded = Recorded::default();
    let mut entries: Vec<Entry> = Vec::new();
    let mut seen: BTreeMap<(i64, u32), usize> = BTreeMap::new();
    let mut filled: Vec<Filled> = Vec::new();
    for parsed in all_or_listed(&sheet.file, sheet.rows.iter().map(|row| parse_row(row, columns, state)))? {
        let Some(parsed) = parsed else {
            recorded.blank += 1;
            continue;
        };
        let key = parsed.experiment.map(|id| (id, parsed.replicate));
        if let Some(&first) = key.and_then(|key| seen.get(&key)) {
            let same = (filled[first].status, &filled[first].row) == (parsed.status, &parsed.row);
            if !same {
                return Err(LabError::refused_at(
                    parsed.place.clone(),
                    format!(
                        "{} replicate {} is also in {}, with other values; give each replicate its own number",
                        experiment_name(parsed.experiment.unwrap_or(0)),
                        parsed.replicate,
                        filled[first].place
                    ),
                ));
            }
            recorded.known += 1;
            continue;
        }
        key.map(|key| seen.insert(key, filled.len()));
        filled.push(parsed);
    }
    // Rows that were not proposed may also have come in a data file.
    let added = state.sources.iter().flat_map(|source| source.rows.iter());
    let unplanned = filled.iter().any(|filled| filled.experiment.is_none());
    let mut known_extras = KnownRows::new(extras(state).chain(added).filter(|_| unplanned));
    for Filled { place, experiment, replicate, status, row } in filled {
        let number = place.row.unwrap_or(0);
        let Some(id) = experiment else {
            // The same row again is the same form again, unless the user says otherwise.
            if !again && known_extras.take(&row) {
                recorded.known += 1;
            } else {
                recorded.done += 1;
                entries.push(Entry { number, experiment: None, replicate: 1, status, row });
            }
            continue;
        };
        let before = state.experiments.iter().find(|e| e.id == id).and_then(|e| e.newest(replicate));
        let fresh = before.is_none_or(|before| before.status == Status::Pending);
        match before {
            Some(before) if (before.status, &before.row) == (status, &row) => {
                recorded.known += 1;
                continue;
            }
            Some(before) if !fresh && !amend && !completes(before, status, &row) => {
                return Err(LabError::refused_at(
                    place,
                    contradiction(id, replicate, before, status, &row, state),
                ));
            }
            _ => {}
        }
        match (fresh, status) {
            (false, _) => recorded.changed += 1,
            (true, Status::Failed) => recorded.failed += 1,
            (true, _) => recorded.done += 1,
        }
        entries.push(Entry { number, experiment, replicate, status, row });
    }
    Ok((recorded, entries))
}

/// The rows in force that were not proposed, as first recorded.
fn extras(state: &State) -> impl Iterator<Item = &Row> {
    let extra = state.live().filter(|experiment| experiment.proposal.is_none());
    extra.filter_map(|experiment| Some(&experiment.records.get(&1)?.first()?.row))
}

/// Does the new row keep all values of the old one?
fn completes(before: &Record, status: Status, row: &Row) -> bool {
    let cells = before.row.cells.iter().zip(&row.cells);
    before.status == status
        && before.row.targets == row.targets
        && cells.clone().all(|(old, new)| old.is_none() || old == new)
}

fn contradiction(
    id: i64,
    replicate: u32,
    before: &Record,
    status: Status,
    row: &Row,
    state: &State,
) -> String {
    let name = experiment_name(id);
    let names = state.variables.names();
    let shown = |cell: Option<f64>| cell.map_or("nothing".to_string(), |value| value.to_string());
    let cells = before.row.cells.iter().zip(&row.cells).enumerate();
    let differs = cells.clone().find(|(_, (old, new))| old.is_some() && old != new);
    let difference = if before.status != status {
        format!("as {}, but here it is {}", before.status.name(), status.name())
    } else if let Some((node, (old, new))) = differs {
        format!("with {} = {}, but here it is {}", names[node], shown(*old), shown(*new))
    } else {
        "with other values".to_string()
    };
    format!(
        "{name} replicate {replicate} is already recorded {difference}; to correct it, use `seabed lab amend` with this file"
    )
}

/// Parses a row of a form; `None` if it is not filled in.
fn parse_row(row: &SheetRow, columns: &Columns, state: &State) -> Result<Option<Filled>, LabError> {
    let variables = &state.variables;
    let at = |column: &str| Place { column: Some(column.into()), ..row.place.clone() };
    let mut cells = columns.cells(row, variables)?;
    let mut targets = columns.targets(row, variables)?;
    let text = |name: &str| columns.text(name, row);
    let status = match text("status").to_lowercase().as_str() {
        "" => None,
        other => Some(Status::named(other).ok_or_else(|| {
            let problem = format!(
                "{:?} is not a status; write done, failed or pending, or leave it empty",
                text("status")
            );
            LabError::refused_at(at("status"), problem)
        })?),
    };
    let replicate = match text("replicate") {
        "" => 1,
        number => {
            number.parse().ok().filter(|&number| (1..=1_000_000).contains(&number)).ok_or_else(|| {
                LabError::refused_at(
                    at("replicate"),
                    format!("{number:?} is not a replicate number; count from 1"),
                )
            })?
        }
    };
    let name = text("experiment");
    let experiment = if name.is_empty() {
        None
    } else {
        Some(find(name, state).map_err(|error| LabError::refused_at(at("experiment"), error.to_string()))?)
    };
    if let Some(experiment) = experiment {
        let planned: Vec<Node> = experiment.settings.iter().map(|&(node, _)| node).collect();
        if !targets.is_empty() && targets != planned {
            let shown = |nodes: &[Node]| super::store::targets_text(nodes, variables.names());
            return Err(LabError::refused_at(
                at(TARGETS_COLUMN),
                format!(
                    "{name} sets {:?}, not {:?}; for an experiment that was not proposed, leave the experiment cell empty",
                    shown(&planned),
                    shown(&targets)
                ),
            ));
        }
        targets = planned;
        for &(node, value) in &experiment.settings {
            // A proposed value need not be filled in again.
            cells[node] = cells[node].or(Some(value));
        }
    } else if replicate != 1 {
        return Err(LabError::refused_at(
            at("replicate"),
            "a replicate belongs to an experiment; name the experiment",
        ));
    }
    let measured = (0..cells.len()).any(|node| cells[node].is_some() && !targets.contains(&node));
    let status = match (status, measured) {
        (Some(status), _) => status,
        (None, true) => Status::Done,
        (None, false) => return Ok(None),
    };
    match (status, experiment, measured) {
        (Status::Pending, _, true) => Err(LabError::refused_at(
            at("status"),
            "values are filled in, but the status is pending; remove one or the other",
        )),
        (Status::Pending, ..) => Ok(None),
        (Status::Done, _, false) => Err(LabError::refused_at(
            at("status"),
            "the status is done, but nothing was measured; fill in values, or write failed",
        )),
        (Status::Failed, None, _) => Err(LabError::refused_at(
            at("status"),
            "an experiment that was not proposed cannot fail; remove the row",
        )),
        _ => {
            let id = experiment.map(|experiment| experiment.id);
            let row_values = Row { targets, cells };
            Ok(Some(Filled { place: row.place.clone(), experiment: id, replicate, status, row: row_values }))
        }
    }
}
