//! Tables as CSV: one column per variable, one row per sample, and optionally a column of targets.
//!
//! Cells and targets are parsed elsewhere and combined here. Numbers are written
//! in the shortest form that reads back to the same bits.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::cell;
use super::dataset::Dataset;
use super::error::DataError;
use super::layout::{Layout, ReadOptions, Role};
use super::loaded::Loaded;
use super::names::TARGETS_COLUMN;
use super::records::Records;
use super::targets::TargetColumn;
use super::wording::Place;

/// Reads a CSV file; the format is that of [`write_csv`].
pub fn read_csv(path: &Path, options: &ReadOptions) -> Result<Loaded, DataError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|source| DataError::unreadable(name.clone(), source))?;
    read_csv_from(file, &name, options)
}

/// Reads CSV from anywhere; messages call it `source_name`.
///
/// UTF-8, with or without a byte-order mark; the first line holds the names. The column
/// `intervention_targets`, if there is one, holds the names of the variables that were set, joined by `;`,
/// and nothing in an observational row. White space around names and numbers is ignored, empty lines are
/// skipped, and columns to ignore may hold anything. Every number must be present and finite.
pub fn read_csv_from(
    reader: impl Read,
    source_name: &str,
    options: &ReadOptions,
) -> Result<Loaded, DataError> {
    let mut rows = Records::new(reader, source_name);
    let header = rows.header()?;
    if lacks_names(&header) {
        return Err(DataError::NoHeader { file: source_name.to_string() });
    }
    let layout = Layout::new(source_name, &header, options)?;
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); layout.names.len()];
    let mut targets = TargetColumn::new(&layout.names);
    let mut count = 0;
    while rows.advance()? {
        let cells = rows.cells();
        if cells.len() != header.len() {
            return Err(rows.ragged());
        }
        for ((cell, role), name) in cells.iter().zip(&layout.roles).zip(&header) {
            match role {
                Role::Variable(node) => match cell::number(cell) {
                    Some(value) => columns[*node].push(value),
                    None => {
                        let text = std::str::from_utf8(cell).map_err(|_| rows.not_utf8())?;
                        return Err(cell::explain(text, rows.place().column(name), &layout.names));
                    }
                },
                Role::Targets => {
                    let text = std::str::from_utf8(cell).map_err(|_| rows.not_utf8())?;
                    targets.push(text, || rows.place())?;
                }
                Role::LeftOut => {}
            }
        }
        count = rows.row();
    }
    if count == 0 {
        return Err(DataError::NoRows { at: Box::new(Place::file(source_name)) });
    }
    columns.iter_mut().for_each(Vec::shrink_to_fit);
    targets.fill(count);
    let (sets, set_of_row) = targets.finish();
    let dataset = Dataset::from_sets(layout.names, columns, sets, set_of_row);
    Ok(Loaded::new(dataset.map_err(|error| error.in_file(source_name))?, Vec::new()))
}

/// Writes a data set as CSV; the column of targets is there if any row has targets.
pub fn write_csv(writer: impl Write, dataset: &Dataset) -> io::Result<()> {
    write_records(writer, dataset).map_err(|error| match error.into_kind() {
        // The system's own error, so that a closed pipe can be recognised.
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    })
}

fn write_records(writer: impl Write, dataset: &Dataset) -> csv::Result<()> {
    let mut csv = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(writer);
    let interventional = dataset.regimes().iter().any(|regime| !regime.is_empty());
    for name in dataset.names().iter() {
        csv.write_field(name)?;
    }
    if interventional {
        csv.write_field(TARGETS_COLUMN)?;
    }
    csv.write_record(None::<&[u8]>)?;

    let targets: Vec<String> = target_texts(dataset);
    let mut text = Vec::new();
    for row in 0..dataset.rows() {
        for node in 0..dataset.variables() {
            text.clear();
            // `{:?}` turns to exponents where `{}` would write hundreds of zeros.
            write!(text, "{:?}", dataset.column(node)[row])?;
            csv.write_field(&text)?;
        }
        if interventional {
            csv.write_field(&targets[dataset.regime_of_row()[row] as usize])?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    Ok(csv.flush()?)
}

/// The cell that describes each regime.
pub(super) fn target_texts(dataset: &Dataset) -> Vec<String> {
    let text = |regime: &crate::graph::NodeSet| {
        let names: Vec<&str> = regime.iter().map(|node| dataset.names()[node].as_str()).collect();
        names.join(";")
    };
    dataset.regimes().iter().map(text).collect()
}

/// Is the header a row of measurements? Whole numbers count as names: tables without names are often numbered.
fn lacks_names(header: &[String]) -> bool {
    let numeric = header.iter().all(|name| name.parse::<f64>().is_ok());
    let counted = header.iter().all(|name| name.bytes().all(|b| b.is_ascii_digit()));
    let mut sorted: Vec<&String> = header.iter().collect();
    sorted.sort_unstable();
    numeric && (!counted || sorted.windows(2).any(|pair| pair[0] == pair[1]))
}
