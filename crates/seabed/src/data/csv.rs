//! Tables of text: one column per variable, one row per sample, and optionally a column of targets.
//!
//! Files, cells and targets are taken apart elsewhere and combined here. We write commas and points; numbers are written
//! in the shortest form that reads back to the same bits.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::cell::{Held, Numbers};
use super::dataset::Dataset;
use super::error::DataError;
use super::layout::{Layout, ReadOptions, Role, blank_name};
use super::loaded::{Loaded, check_values_fit, most_values};
use super::missing::Gaps;
use super::names::TARGETS_COLUMN;
use super::number::Decimal;
use super::problems::Problems;
use super::raw::{RawTable, TableView};
use super::source::Source;
use super::targets::TargetColumn;
use super::wording::Place;

/// Reads a table of text from a file, as [`read_csv_from`] does.
pub fn read_csv(path: &Path, options: &ReadOptions) -> Result<Loaded, DataError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|source| DataError::unreadable(name.clone(), source))?;
    read_csv_from(file, &name, options)
}

/// Reads a table from anywhere; messages call it `source_name`.
///
/// Text with any of the usual separators, decimals and encodings, perhaps compressed with gzip, or a workbook; what the
/// options do not say is found out and told in [`Loaded::notes`]. The first line holds the names. The column
/// `intervention_targets`, if there is one, holds the names of the variables that were set, joined by `;`,
/// and nothing in an observational row. White space around names and numbers is ignored, empty rows and columns are
/// skipped, and columns to ignore may hold anything. Rows with a missing value are set aside; all other cells must be
/// finite numbers.
pub fn read_csv_from(
    reader: impl Read,
    source_name: &str,
    options: &ReadOptions,
) -> Result<Loaded, DataError> {
    part_from(reader, source_name, options)?.complete()
}

/// As [`read_csv_from`], with its gaps.
pub(super) fn part_from(
    reader: impl Read,
    source_name: &str,
    options: &ReadOptions,
) -> Result<RawTable, DataError> {
    let mut source = Source::open(reader, source_name, options)?;
    let numbers = Numbers { decimal: source.decimal(options)?, missing: options.missing.clone() };
    let (mut rows, mut guesses) = source.records();
    let header = rows.header()?;
    if lacks_names(&header) {
        return Err(DataError::NoHeader { file: source_name.to_string() });
    }
    let layout = Layout::new(source_name, &header, options)?;
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); layout.names.len()];
    let mut targets = TargetColumn::new(&layout.names);
    let (mut gaps, mut problems) = (Gaps::default(), Problems::default());
    let (width, most) = (columns.len() as u64, most_values());
    while rows.advance()? {
        check_values_fit(source_name, columns[0].len() as u64 * width, most)?;
        let cells = rows.cells();
        if cells.iter().all(|cell| cell.trim_ascii().is_empty()) {
            continue;
        }
        if cells.len() != header.len() {
            problems.take(rows.ragged());
            continue;
        }
        for ((cell, role), name) in cells.iter().zip(&layout.roles).zip(&header) {
            match role {
                Role::Variable(node) => {
                    if let Some(value) = numbers.plain(cell) {
                        columns[*node].push(value);
                        continue;
                    }
                    let text = rows.text(cell)?;
                    let value = match numbers.held(&text) {
                        Held::Number(read) => {
                            guesses.thousands |= read.grouped;
                            read.value
                        }
                        Held::Absent(absent) => {
                            gaps.take(*node, absent, text.trim());
                            f64::NAN
                        }
                        Held::Text => {
                            problems.take(numbers.explain(&text, rows.place().column(name), &layout.names));
                            f64::NAN
                        }
                    };
                    columns[*node].push(value);
                }
                Role::Targets => {
                    if let Err(problem) = targets.push(&rows.text(cell)?, || rows.place()) {
                        problems.take(problem);
                    }
                }
                Role::Unnamed(number) if !cell.trim_ascii().is_empty() => {
                    return Err(blank_name(source_name, *number));
                }
                Role::Unnamed(_) | Role::LeftOut => {}
            }
        }
    }
    problems.result(source_name)?;
    if columns[0].is_empty() {
        return Err(DataError::NoRows { at: Box::new(Place::file(source_name)) });
    }
    columns.iter_mut().for_each(Vec::shrink_to_fit);
    targets.fill(columns[0].len());
    guesses.latin1 = rows.was_not_utf8();
    let targets = targets.finish();
    let mut table = RawTable::read(source_name, layout.names, columns, gaps, targets);
    table.notes.extend(guesses.told(source_name));
    Ok(table)
}

/// Writes a data set as CSV; the column of targets is there if any row has targets.
pub fn write_csv(writer: impl Write, dataset: &Dataset) -> io::Result<()> {
    write_csv_view(writer, &dataset.into())
}

pub(super) fn write_csv_view(writer: impl Write, table: &TableView<'_>) -> io::Result<()> {
    write_records(writer, table).map_err(|error| match error.into_kind() {
        // The system's own error, so that a closed pipe can be recognised.
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    })
}

fn write_records(writer: impl Write, table: &TableView<'_>) -> csv::Result<()> {
    let mut csv = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(writer);
    let interventional = table.interventional();
    for name in table.names.iter() {
        csv.write_field(name)?;
    }
    if interventional {
        csv.write_field(TARGETS_COLUMN)?;
    }
    csv.write_record(None::<&[u8]>)?;

    let targets = table.target_texts();
    let mut text = Vec::new();
    for row in 0..table.rows() {
        for column in table.columns {
            text.clear();
            // `{:?}` turns to exponents where `{}` would write hundreds of zeros.
            write!(text, "{:?}", column[row])?;
            csv.write_field(&text)?;
        }
        if interventional {
            csv.write_field(&targets[table.set_of_row[row] as usize])?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    Ok(csv.flush()?)
}

/// Is the header a row of measurements? Whole numbers count as names: tables without names are often numbered.
fn lacks_names(header: &[String]) -> bool {
    let number =
        |name: &String| [Decimal::Point, Decimal::Comma].iter().any(|decimal| decimal.read(name).is_some());
    let numeric = header.iter().all(number);
    let counted = header.iter().all(|name| name.bytes().all(|b| b.is_ascii_digit()));
    let mut sorted: Vec<&String> = header.iter().collect();
    sorted.sort_unstable();
    numeric && (!counted || sorted.windows(2).any(|pair| pair[0] == pair[1]))
}
