//! Takes data files into a campaign: what each column means, what a cell may hold, and what deserves a warning.
//!
//! Nothing is dropped: a row with missing values is kept, but left out of fits. A file with an error is refused as a
//! whole.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use seabed::data::{
    DataError, Numbers, ObservedReader, Place, ReadOptions, STANDARD_INPUT, Sheet, SheetRow,
    TARGET_SEPARATOR, TARGETS_COLUMN, closest, did_you_mean, position, read_parquet_from,
};
use seabed::graph::Node;
use seabed::observer::Observer;
use sha2::{Digest, Sha256};

use super::spreadsheet::original_cell;
use super::state::{Row, Source, State};
use super::variables::{RESERVED, Variables};
use super::{Lab, LabError};

/// How every Parquet file begins.
const PARQUET: &[u8] = b"PAR1";

/// How a data file is added.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AddOptions {
    /// Add all rows, even those that are known already.
    pub again: bool,
    /// Add only the rows that are not known yet.
    pub only_new: bool,
    /// How the file is read, and which columns are left out.
    pub read: ReadOptions,
    /// The user's note.
    pub note: String,
}

/// What was added.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// By which action; `None` if there was nothing new.
    pub action: Option<i64>,
    /// Rows that were added.
    pub rows: usize,
    /// Rows that were known already, and left out.
    pub known: usize,
    /// Rows with targets.
    pub interventional: usize,
    /// Rows with missing values, which are left out of fits.
    pub incomplete: usize,
    /// What was found out about the file that its user did not say.
    pub notes: Vec<String>,
    /// What looks unusual.
    pub warnings: Vec<String>,
}

impl Lab {
    /// Adds the rows of a data file: text, a workbook or Parquet, or standard input (`-`).
    pub fn add(
        &mut self,
        path: &Path,
        options: &AddOptions,
        observer: &dyn Observer,
    ) -> Result<Added, LabError> {
        let content = if path == Path::new(STANDARD_INPUT) {
            let mut content = Vec::new();
            io::stdin().lock().read_to_end(&mut content).map(|_| content)
        } else {
            fs::read(path)
        };
        let content = content.map_err(LabError::file(path))?;
        self.add_content(&path.display().to_string(), content, options, observer)
    }

    /// As [`Lab::add`], of a file that was read already; messages and the history call it `file`.
    pub fn add_content(
        &mut self,
        file: &str,
        content: Vec<u8>,
        options: &AddOptions,
        observer: &dyn Observer,
    ) -> Result<Added, LabError> {
        let (file, sha256) = (file.to_string(), hash(&content));
        let parquet = content.starts_with(PARQUET) || file.to_lowercase().ends_with(".parquet");
        self.change(|change, state| {
            let before = state.sources.iter().find(|source| source.sha256 == sha256);
            if let Some(before) = before.filter(|_| !options.again && !options.only_new) {
                let at = state.actions.iter().find(|action| action.id == before.action);
                return Err(LabError::AddedBefore {
                    file: file.clone(),
                    at: at.map_or(String::new(), |action| action.at.clone()),
                    action: before.action,
                    before: before.file.clone(),
                });
            }
            let (mut notes, mut told) = (Vec::new(), Vec::new());
            let rows = if parquet {
                let (rows, warnings) =
                    complete_rows(content.clone(), &file, &options.read, &state.variables)?;
                told = warnings;
                rows
            } else {
                let content = ObservedReader::new(&content[..], content.len() as u64, observer);
                let mut read = options.read.clone();
                read.ignore.extend_from_slice(state.variables.ignored());
                let sheet = Sheet::read(content, &file, &read)?;
                notes.extend(sheet.note.clone());
                let columns = Columns::of(&sheet, &options.read.ignore, &state.variables)?;
                told.extend(columns.censored(&sheet));
                data_rows(&sheet, &columns, &state.variables)?
            };
            let (all, mut rows) = (rows.len(), rows);
            if !options.again {
                let mut known = KnownRows::new(state.rows());
                rows.retain(|(_, row)| !known.take(row));
            }
            let known = all - rows.len();
            if known > 0 && !options.only_new {
                return Err(LabError::KnownRows { file: file.clone(), known, rows: all });
            }
            if rows.is_empty() {
                return Ok(Added { known, notes, ..Added::default() });
            }
            let numbered: Vec<(usize, &Row)> = rows.iter().map(|(number, row)| (*number, row)).collect();
            told.extend(warnings(&numbered, state));
            let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
            let interventional = rows.iter().filter(|row| !row.targets.is_empty()).count();
            let incomplete = rows.iter().filter(|row| !row.is_complete()).count();
            let what = format!("{} rows of {file}", rows.len());
            let action = change.action("add", &what, &options.note)?;
            let count = rows.len();
            let (rows, sha256) = (Arc::new(rows), sha256.clone());
            let source = Source { action, file: file.clone(), sha256, rows, interventional, incomplete };
            change.source(action, &source, state.variables.names(), observer)?;
            let (action, warnings) = (Some(action), told);
            Ok(Added { action, rows: count, known, interventional, incomplete, notes, warnings })
        })
    }
}

/// Rows in force, each as often as it occurs: the same values and targets are the same measurement, whatever file they
/// came in.
pub(super) struct KnownRows(HashMap<Vec<u64>, usize>);

impl KnownRows {
    pub(super) fn new<'r>(rows: impl Iterator<Item = &'r Row>) -> Self {
        let mut known = HashMap::new();
        rows.for_each(|row| *known.entry(Self::key(row)).or_default() += 1);
        Self(known)
    }

    /// Is the row known? Then it is once less from now on.
    pub(super) fn take(&mut self, row: &Row) -> bool {
        let Some(left) = self.0.get_mut(&Self::key(row)).filter(|left| **left > 0) else { return false };
        *left -= 1;
        true
    }

    /// The targets and the bits of all values; 0 and -0 are the same.
    fn key(row: &Row) -> Vec<u64> {
        let cells = row.cells.iter().map(|cell| cell.map_or(u64::MAX, |value| (value + 0.0).to_bits()));
        row.targets.iter().map(|&node| node as u64).chain([u64::MAX]).chain(cells).collect()
    }
}

pub(super) fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The columns of a sheet that have a meaning.
pub(super) struct Columns {
    /// `[variables]`: the column of each, if there is one.
    pub(super) variables: Vec<Option<usize>>,
    /// By the order of [`RESERVED`].
    pub(super) reserved: [Option<usize>; RESERVED.len()],
    /// How the numbers are written.
    numbers: Numbers,
}

impl Columns {
    pub(super) fn of(sheet: &Sheet, ignore: &[String], variables: &Variables) -> Result<Self, LabError> {
        let names = variables.names();
        let refused = |problem: String| LabError::refused(&sheet.file, problem);
        let header: Vec<&str> = sheet.header.iter().map(|name| original_cell(name)).collect();
        if let Some(nothing) = ignore.iter().find(|name| !header.contains(&name.as_str())) {
            return Err(refused(format!("there is no column {nothing:?} to ignore")));
        }
        let all_variables = variables;
        let (variables, reserved) = (vec![None; names.len()], [None; RESERVED.len()]);
        let mut columns = Self { variables, reserved, numbers: sheet.numbers.clone() };
        let ignored = all_variables.ignored();
        let kept = |(_, name): &(usize, &str)| !ignore.iter().chain(ignored).any(|ignored| ignored == name);
        for (k, name) in header.iter().copied().enumerate().filter(kept) {
            // Spreadsheets leave empty columns behind.
            if name.is_empty() && sheet.rows.iter().all(|row| row.cells[k].is_empty()) {
                continue;
            }
            let place = match (position(names, name), RESERVED.iter().position(|known| *known == name)) {
                (Some(node), _) => &mut columns.variables[node],
                (None, Some(which)) => &mut columns.reserved[which],
                (None, None) => {
                    let near = did_you_mean(closest(name, names));
                    return Err(refused(format!(
                        "column {name:?} is not a variable of the campaign{near}; remove it, or leave it out with --ignore"
                    )));
                }
            };
            if place.replace(k).is_some() {
                return Err(refused(format!("two columns are called {name:?}; give each its own name")));
            }
        }
        Ok(columns)
    }

    /// A warning about values of which only a bound is known.
    pub(super) fn censored(&self, sheet: &Sheet) -> Option<String> {
        let cells = sheet.rows.iter().flat_map(|row| self.variables.iter().flatten().map(|&k| &row.cells[k]));
        let censored: Vec<&String> = cells.filter(|text| self.numbers.is_censored(text)).collect();
        let first = censored.first()?;
        Some(format!("{} values are censored, like {first:?}; they are treated as missing", censored.len()))
    }

    /// The text of a reserved column in a row; empty if there is no such column.
    pub(super) fn text<'r>(&self, name: &str, row: &'r SheetRow) -> &'r str {
        let which = RESERVED.iter().position(|known| *known == name).and_then(|which| self.reserved[which]);
        which.map_or("", |k| &row.cells[k])
    }

    /// The values of a row, one per variable.
    pub(super) fn cells(&self, row: &SheetRow, variables: &Variables) -> Result<Vec<Option<f64>>, LabError> {
        let cell = |(node, column): (Node, &Option<usize>)| {
            let Some(column) = *column else { return Ok(None) };
            let name = &variables.names()[node];
            let place = || Place { column: Some(name.clone()), ..row.place.clone() };
            let value = self.numbers.value(&row.cells[column], &row.place, name).map_err(|error| {
                let (place, message) = (place(), error.to_string());
                let problem = message.strip_prefix(&format!("{place}: ")).unwrap_or(&message).to_string();
                LabError::refused_at(place, problem)
            })?;
            match value.and_then(|value| variables.refuses(node, value)) {
                None => Ok(value),
                Some(problem) => Err(LabError::refused_at(
                    place(),
                    format!("{problem}; correct it or leave the cell empty"),
                )),
            }
        };
        self.variables.iter().enumerate().map(cell).collect()
    }

    /// The targets of a row, ascending.
    pub(super) fn targets(&self, row: &SheetRow, variables: &Variables) -> Result<Vec<Node>, LabError> {
        let names = variables.names();
        let mut targets = Vec::new();
        for name in original_cell(self.text(TARGETS_COLUMN, row)).split(TARGET_SEPARATOR).map(str::trim) {
            if name.is_empty() {
                continue;
            }
            let Some(node) = position(names, name) else {
                let near = did_you_mean(closest(name, names));
                let place = Place { column: Some(TARGETS_COLUMN.into()), ..row.place.clone() };
                return Err(LabError::refused_at(place, format!("{name:?} is not a variable{near}")));
            };
            targets.push(node);
        }
        targets.sort_unstable();
        targets.dedup();
        Ok(targets)
    }
}

/// The rows of a sheet with their numbers in it.
fn data_rows(sheet: &Sheet, columns: &Columns, variables: &Variables) -> Result<Vec<(usize, Row)>, LabError> {
    let of_form =
        |name: &&str| RESERVED.iter().position(|known| known == name).and_then(|k| columns.reserved[k]);
    if let Some(name) =
        RESERVED.iter().filter(|name| **name != TARGETS_COLUMN).find(|name| of_form(name).is_some())
    {
        return Err(LabError::refused(
            &sheet.file,
            format!(
                "column {name:?} belongs to a form; record forms with `seabed lab record`, or use --ignore {name}"
            ),
        ));
    }
    if let Some(node) = columns.variables.iter().position(Option::is_none) {
        return Err(LabError::refused(
            &sheet.file,
            format!("there is no column {:?}; add it (its cells may be empty)", variables.names()[node]),
        ));
    }
    let row = |row: &SheetRow| {
        let (targets, cells) = (columns.targets(row, variables)?, columns.cells(row, variables)?);
        Ok((row.place.row.unwrap_or(0), Row { targets, cells }))
    };
    let rows: Vec<(usize, Row)> = all_or_listed(&sheet.file, sheet.rows.iter().map(row))?;
    if rows.is_empty() {
        return Err(LabError::refused(&sheet.file, "there are no rows"));
    }
    Ok(rows)
}

/// Everything, or what is wrong with all rows: the first ten are listed.
pub(super) fn all_or_listed<T>(
    file: &str,
    rows: impl Iterator<Item = Result<T, LabError>>,
) -> Result<Vec<T>, LabError> {
    const LISTED: usize = 10;
    let (mut good, mut bad, mut count) = (Vec::new(), Vec::new(), 0);
    for row in rows {
        match row {
            Ok(row) => good.push(row),
            Err(error) => {
                count += 1;
                if bad.len() < LISTED {
                    bad.push(error);
                }
            }
        }
    }
    match count {
        0 => Ok(good),
        1 => Err(bad.remove(0)),
        _ => Err(LabError::Rows { file: file.to_string(), first: bad, count }),
    }
}

/// Rows with their numbers in the file.
type NumberedRows = Vec<(usize, Row)>;

/// The complete rows of a Parquet file, and what is to be told about it.
fn complete_rows(
    content: Vec<u8>,
    file: &str,
    options: &ReadOptions,
    variables: &Variables,
) -> Result<(NumberedRows, Vec<String>), LabError> {
    let mut options = options.clone();
    options.ignore.extend_from_slice(variables.ignored());
    let loaded = loop {
        match read_parquet_from(content.clone(), file, &options) {
            // What is always ignored need not be there.
            Err(DataError::NothingToIgnore { column, .. }) if variables.ignored().contains(&column) => {
                options.ignore.retain(|name| *name != column);
            }
            read => break read?,
        }
    };
    let told = loaded.warnings.iter().map(ToString::to_string).collect();
    let data = loaded.dataset.reordered(variables.names())?;
    let row = |row: usize| {
        let place = || Place { file: Some(file.to_string()), row: Some(row + 1), ..Place::default() };
        let cells = (0..data.variables()).map(|node| {
            let value = data.column(node)[row];
            let refusal = variables.refuses(node, value);
            refusal.map_or(Ok(Some(value)), |problem| Err(LabError::refused_at(place(), problem)))
        });
        let (targets, cells) = (data.targets(row).iter().collect(), cells.collect::<Result<_, _>>()?);
        Ok((row + 1, Row { targets, cells }))
    };
    Ok(((0..data.rows()).map(row).collect::<Result<_, LabError>>()?, told))
}

/// Values this many times larger or smaller than known ones are a unit error rather than a finding.
const UNIT_ERROR: f64 = 30.0;

/// What is unusual about new rows, given with their numbers in the file, compared with known ones.
pub(super) fn warnings(rows: &[(usize, &Row)], state: &State) -> Vec<String> {
    let mut warnings = Vec::new();
    // Row by row, as they are in memory.
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); state.variables.list().len()];
    for row in state.rows() {
        columns.iter_mut().zip(&row.cells).for_each(|(column, cell)| column.extend(*cell));
    }
    for (node, (variable, known)) in state.variables.list().iter().zip(&columns).enumerate() {
        let name = &variable.name;
        let set = |row: &Row| row.targets.contains(&node);
        let values = |which: bool| {
            let rows = rows.iter().filter(move |(_, row)| set(row) == which);
            rows.filter_map(move |(number, row)| row.cells[node].map(|value| (*number, value)))
        };
        let allowed = |value: f64| match (&variable.levels, variable.bounds) {
            (Some(levels), _) => levels.contains(&value),
            (None, Some([low, high])) => (low..=high).contains(&value),
            (None, None) => true,
        };
        let outside: Vec<(usize, f64)> = values(true).filter(|(_, value)| !allowed(*value)).collect();
        if let Some((row, value)) = outside.first() {
            warnings.push(format!(
                "{name} was set to values that the variables file does not allow in {} rows, first in row {row} ({value})",
                outside.len()
            ));
        }
        let unset = rows.iter().find(|(_, row)| set(row) && row.cells[node].is_none());
        if let Some((number, _)) = unset {
            warnings.push(format!("row {number}: {name} was set, but its value is missing"));
        }
        let measured: Vec<(usize, f64)> = values(false).collect();
        if let Some([low, high]) = variable.bounds {
            // Bounds are for settings; measured values may well lie a little beyond.
            let (least, most) = (low - (high - low), high + (high - low));
            let beyond: Vec<_> =
                measured.iter().filter(|(_, value)| !(least..=most).contains(value)).collect();
            if let Some((row, value)) = beyond.first() {
                warnings.push(format!(
                    "{} values of {name} are far outside its bounds {low} to {high}, first in row {row} ({value})",
                    beyond.len()
                ));
            }
        }
        warnings.extend(unit_error(&measured, known, variable.bounds).map(|problem| {
            let unit = if variable.unit.is_empty() {
                String::new()
            } else {
                format!(" Its unit is {}.", variable.unit)
            };
            format!("{name}: {problem}; wrong unit or misplaced decimal point?{unit}")
        }));
    }
    warnings
}

/// Are new values orders of magnitude off? Compares medians first, then single values with the largest known one.
fn unit_error(new: &[(usize, f64)], known: &[f64], bounds: Option<[f64; 2]>) -> Option<String> {
    let by_data = known.len() >= 3;
    let largest = if by_data {
        known.iter().fold(0.0f64, |largest, value| largest.max(value.abs()))
    } else {
        bounds.map_or(0.0, |[low, high]| low.abs().max(high.abs()))
    };
    if by_data {
        let (here, there) =
            (median(new.iter().map(|(_, value)| value.abs()))?, median(known.iter().map(|v| v.abs()))?);
        let ratio = here / there;
        if ratio.is_finite() && ratio > 0.0 && !(1.0 / UNIT_ERROR..=UNIT_ERROR).contains(&ratio) {
            let (times, which) = if ratio > 1.0 { (ratio, "larger") } else { (1.0 / ratio, "smaller") };
            return Some(format!("values are typically {times:.0} times {which} than known ones"));
        }
    }
    let (row, value) = new.iter().find(|(_, value)| largest > 0.0 && value.abs() > UNIT_ERROR * largest)?;
    Some(format!("row {row} has {value}, {:.0} times the largest known value", value.abs() / largest))
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_errors_are_noticed_and_ordinary_values_are_not() {
        let known: Vec<f64> = (1..=50).map(f64::from).collect();
        let numbered = |values: &[f64]| -> Vec<(usize, f64)> { (1..).zip(values.iter().copied()).collect() };
        assert_eq!(unit_error(&numbered(&[3.0, 60.0, -20.0]), &known, None), None);
        let larger = unit_error(&numbered(&[3e3, 6e4, 2e4]), &known, None).unwrap();
        assert_eq!(larger, "values are typically 769 times larger than known ones");
        assert!(unit_error(&numbered(&[3e-3, 6e-2, 2e-2]), &known, None).unwrap().contains("smaller"));
        assert_eq!(
            unit_error(&numbered(&[3.0, 5e4, 7.0]), &known, None).unwrap(),
            "row 2 has 50000, 1000 times the largest known value"
        );
        // Without data, values are compared with the bounds.
        assert!(unit_error(&numbered(&[3.0, 400.0]), &[], Some([0.0, 10.0])).is_some());
        assert_eq!(unit_error(&numbered(&[3.0, 40.0]), &[], Some([0.0, 10.0])), None);
        assert_eq!(unit_error(&[], &known, None), None);
    }

    #[test]
    fn hashes_are_sha256() {
        assert_eq!(hash(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
