//! Sheets that people fill in: rows of text under a header, where cells may be empty.
//!
//! The table of a [`Dataset`](super::Dataset) must be complete; a sheet from a laboratory need not be. Encoding,
//! separators, quotes and sizes are checked as for every CSV file; what columns mean is left to the caller.

use std::io::Read;

use super::cell::{explain, number};
use super::error::DataError;
use super::names::trimmed;
use super::records::Records;
use super::wording::Place;

/// The texts of a CSV file, without the white space around them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sheet {
    /// The file as the user called it.
    pub file: String,
    /// The column names as they are: they may be empty or repeated.
    pub header: Vec<String>,
    /// In the order of the file, without empty rows.
    pub rows: Vec<SheetRow>,
}

/// A row of a sheet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SheetRow {
    /// Where it is.
    pub place: Place,
    /// As many as the header has.
    pub cells: Vec<String>,
}

impl Sheet {
    /// Reads a CSV file from anywhere; messages call it `file`.
    pub fn read(reader: impl Read, file: &str) -> Result<Self, DataError> {
        let mut records = Records::new(reader, file);
        let header = records.header()?;
        let mut rows = Vec::new();
        while records.advance()? {
            if records.cells().len() != header.len() {
                return Err(records.ragged());
            }
            let text = |cell| std::str::from_utf8(cell).map(|text| trimmed(text).to_string());
            let cells: Result<Vec<String>, _> = records.cells().iter().map(text).collect();
            let cells = cells.map_err(|_| records.not_utf8())?;
            if cells.iter().any(|cell| !cell.is_empty()) {
                rows.push(SheetRow { place: records.place(), cells });
            }
        }
        Ok(Self { file: file.to_string(), header, rows })
    }
}

/// The number in a cell; none if it is empty or says that a value is missing (`NA`, `-`, ...).
pub fn cell_value(text: &str, place: &Place, column: &str) -> Result<Option<f64>, DataError> {
    if let Some(value) = number(text.as_bytes()) {
        return Ok(Some(value));
    }
    match explain(text, place.clone().column(column), &[]) {
        DataError::Missing { .. } => Ok(None),
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_be_empty_but_rows_are_whole() {
        let sheet = Sheet::read(&b" a ,b\n1, \n,\nNA,x\n"[..], "f.csv").unwrap();
        assert_eq!(sheet.header, ["a", "b"]);
        let cells: Vec<&[String]> = sheet.rows.iter().map(|row| &row.cells[..]).collect();
        assert_eq!(cells, [["1", ""], ["NA", "x"]]);
        assert_eq!(sheet.rows[1].place.to_string(), "f.csv, row 3 (line 4)");
        assert!(Sheet::read(&b"a,b\n1\n"[..], "f.csv").is_err());
    }

    #[test]
    fn a_missing_value_is_none_and_a_word_is_an_error() {
        let value = |text: &str| cell_value(text, &Place::default(), "x");
        assert_eq!(value("1.5").unwrap(), Some(1.5));
        assert_eq!(value("").unwrap(), None);
        assert_eq!(value("NA").unwrap(), None);
        assert!(value("high").is_err() && value("inf").is_err() && value("1,5").is_err());
    }
}
