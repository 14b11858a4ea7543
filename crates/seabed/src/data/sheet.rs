//! Sheets that people fill in: rows of text under a header, where cells may be empty.
//!
//! The table of a [`Dataset`](super::Dataset) must be complete; a sheet from a laboratory need not be. Encoding,
//! separators, quotes and sizes are checked as for every CSV file; what columns mean is left to the caller.

use std::io::Read;

use super::cell::Numbers;
use super::error::DataError;
use super::layout::ReadOptions;
use super::names::trimmed;
use super::problems::Problems;
use super::source::Source;
use super::wording::Place;

/// The texts of a table, without the white space around them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sheet {
    /// The file as the user called it.
    pub file: String,
    /// The column names as they are: they may be empty or repeated.
    pub header: Vec<String>,
    /// In the order of the file, without empty rows.
    pub rows: Vec<SheetRow>,
    /// How its numbers are written.
    pub numbers: Numbers,
    /// What was found out about the file that its user did not say.
    pub note: Option<String>,
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
    /// Reads a sheet from anywhere, as [`read_csv_from`](super::read_csv_from) reads a table; messages call it `file`.
    /// Columns to ignore are there all the same.
    pub fn read(reader: impl Read, file: &str, options: &ReadOptions) -> Result<Self, DataError> {
        let mut source = Source::open(reader, file, options)?;
        let numbers = Numbers { decimal: source.decimal(options)?, missing: options.missing.clone() };
        let (mut records, mut guesses) = source.records();
        let header = records.header()?;
        let (mut rows, mut problems) = (Vec::new(), Problems::default());
        while records.advance()? {
            let text = |cell| records.text(cell).map(|text| trimmed(&text).to_string());
            let cells: Vec<String> = records.cells().iter().map(text).collect::<Result<_, _>>()?;
            if cells.iter().all(String::is_empty) {
                continue;
            }
            if cells.len() == header.len() {
                rows.push(SheetRow { place: records.place(), cells });
            } else {
                problems.take(records.ragged());
            }
        }
        problems.result(file)?;
        guesses.latin1 = records.was_not_utf8();
        Ok(Self { file: file.to_string(), header, rows, numbers, note: guesses.told(file) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_be_empty_but_rows_are_whole() {
        let sheet = Sheet::read(&b" a ,b\n1, \n,\nNA,x\n"[..], "f.csv", &ReadOptions::default()).unwrap();
        assert_eq!(sheet.header, ["a", "b"]);
        let cells: Vec<&[String]> = sheet.rows.iter().map(|row| &row.cells[..]).collect();
        assert_eq!(cells, [["1", ""], ["NA", "x"]]);
        assert_eq!(sheet.rows[1].place.to_string(), "f.csv, row 3 (line 4)");
        assert!(Sheet::read(&b"a,b\n1\n"[..], "f.csv", &ReadOptions::default()).is_err());
    }
}
