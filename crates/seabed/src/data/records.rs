//! Rows of cells out of the text of a table: separators, quotes and sizes.
//!
//! How the text is written is found out in [`source`](super::source). Memory stays bounded whatever the file holds. What the cells mean is left to
//! [`csv`](super::csv) and [`graph_file`](super::graph_file).

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Read};

use csv::{ByteRecord, ErrorKind, ReaderBuilder};

use super::dialect::Separator;
use super::encoding;
use super::error::{Cells, DataError};
use super::names::trimmed;
use super::wording::Place;

/// The longest row that is read, in bytes.
pub(super) const LONGEST_ROW: usize = 16 << 20;

/// The most columns that are read.
pub(super) const MOST_COLUMNS: usize = 100_000;

/// Appended to the file as a row of its own; if it does not come out as one, a quotation mark was still open.
const END: &[u8] = b"\n\x04";

/// The rows of a CSV file, one after the other.
pub(super) struct Records<R: Read> {
    reader: csv::Reader<Bounded<R>>,
    file: String,
    record: ByteRecord,
    columns: usize,
    row: usize,
    /// The line where reading the present row began; empty lines may come first.
    began: u64,
    separator: Separator,
    strictly_utf8: bool,
    not_utf8: Cell<bool>,
}

impl<R: Read> Records<R> {
    pub(super) fn new(reader: R, file: &str, separator: Separator, strictly_utf8: bool) -> Self {
        let bounded = Bounded { inner: reader.chain(END), since_row: 0, line_end: None, ended: false };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator.byte())
            .buffer_capacity(1 << 18)
            .from_reader(bounded);
        Self {
            reader,
            file: file.to_string(),
            record: ByteRecord::new(),
            columns: 0,
            row: 0,
            began: 1,
            separator,
            strictly_utf8,
            not_utf8: Cell::new(false),
        }
    }

    /// The names in the first line, without the white space around them.
    pub(super) fn header(&mut self) -> Result<Vec<String>, DataError> {
        if !self.read()? {
            return Err(DataError::EmptyFile { file: self.file.clone() });
        }
        self.columns = self.record.len();
        if self.columns > MOST_COLUMNS {
            return Err(DataError::TooMany {
                file: self.file.clone(),
                what: "columns",
                found: self.columns as u64,
                limit: MOST_COLUMNS as u64,
            });
        }
        let names = self.record.iter().map(|cell| Ok(trimmed(&self.text(cell)?).to_string()));
        names.collect()
    }

    /// The text of a cell of this row.
    pub(super) fn text<'c>(&self, cell: &'c [u8]) -> Result<Cow<'c, str>, DataError> {
        let text = encoding::text(cell, self.strictly_utf8);
        if matches!(text, Some(Cow::Owned(_))) {
            self.not_utf8.set(true);
        }
        text.ok_or_else(|| DataError::NotUtf8 { at: Box::new(self.place()) })
    }

    /// Were there cells that are not UTF-8?
    pub(super) fn was_not_utf8(&self) -> bool {
        self.not_utf8.get()
    }

    /// Goes to the next row; false if there is none.
    pub(super) fn advance(&mut self) -> Result<bool, DataError> {
        self.row += 1;
        self.read()
    }

    /// The cells of this row.
    #[inline]
    pub(super) fn cells(&self) -> &ByteRecord {
        &self.record
    }

    /// Where this row is.
    pub(super) fn place(&self) -> Place {
        let within = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        let passed = self.reader.position().line().saturating_sub(within);
        self.place_at(match self.reader.get_ref().line_end {
            // The parser counts `\n`, and stops behind the first character of a line end.
            Some(LineEnd::CrLf) => passed,
            Some(LineEnd::Cr) => self.row as u64 + 1,
            Some(LineEnd::Lf) | None => passed.saturating_sub(1).max(1),
        })
    }

    /// Where this row began to be read, for a row that did not end.
    fn place_of_beginning(&self) -> Place {
        self.place_at(match self.reader.get_ref().line_end {
            Some(LineEnd::CrLf) if self.row > 0 => self.began + 1,
            Some(LineEnd::Cr) => self.row as u64 + 1,
            _ => self.began,
        })
    }

    fn place_at(&self, line: u64) -> Place {
        let place = Place::file(&self.file).line(line);
        if self.row > 0 { place.row(self.row) } else { place }
    }

    /// The error for a row with the wrong number of cells.
    pub(super) fn ragged(&self) -> DataError {
        let at = Box::new(self.place());
        let (cells, header) = (Cells(self.record.len()), Cells(self.columns));
        DataError::RaggedRow { at, cells, header, separator: self.separator }
    }

    fn read(&mut self) -> Result<bool, DataError> {
        self.began = self.reader.position().line();
        let found = self.reader.read_byte_record(&mut self.record);
        let found = found.map_err(|error| self.failed(error))?;
        let bounded = self.reader.get_mut();
        bounded.since_row = 0;
        // END has no line end, so the record that it ends is complete only when there is nothing more to read.
        if !found || !bounded.ended {
            return Ok(found);
        }
        if self.record.len() == 1 && self.record[0] == END[1..] {
            return Ok(false);
        }
        if self.record.iter().next_back().is_some_and(|cell| cell.ends_with(END)) {
            return Err(DataError::OpenQuote { at: Box::new(self.place_of_beginning()) });
        }
        Ok(true)
    }

    fn failed(&self, error: csv::Error) -> DataError {
        let file = self.file.clone();
        let source = match error.into_kind() {
            ErrorKind::Io(source) => source,
            // Nothing else can go wrong with flexible records of bytes.
            _ => io::Error::from(io::ErrorKind::InvalidData),
        };
        if source.get_ref().is_some_and(|inner| inner.is::<TooLong>()) {
            return DataError::RowTooLong { at: Box::new(self.place_of_beginning()), limit: LONGEST_ROW };
        }
        DataError::unreadable(file, source)
    }
}

/// Stops reading when a row does not end.
struct Bounded<R> {
    inner: io::Chain<R, &'static [u8]>,
    /// Bytes handed out since the last row was complete.
    since_row: usize,
    /// Known as soon as a line has ended.
    line_end: Option<LineEnd>,
    ended: bool,
}

/// How lines end, judged by the first one.
#[derive(Clone, Copy)]
enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

impl LineEnd {
    fn of(text: &[u8]) -> Option<Self> {
        let at = text.iter().position(|&byte| byte == b'\n' || byte == b'\r')?;
        match text[at..] {
            [b'\n', ..] => Some(Self::Lf),
            [b'\r', b'\n', ..] => Some(Self::CrLf),
            [b'\r', _, ..] => Some(Self::Cr),
            _ => None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the row is too long")]
struct TooLong;

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since_row > LONGEST_ROW {
            return Err(io::Error::new(io::ErrorKind::InvalidData, TooLong));
        }
        // A byte-order mark is recognised only if it comes in one piece, with something behind it.
        let least = if self.line_end.is_none() { buffer.len().min(4) } else { 1 };
        let mut got = 0;
        while got < least {
            match self.inner.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.since_row += got;
        self.line_end = self.line_end.or_else(|| LineEnd::of(&buffer[..got]));
        self.ended = got == 0;
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a single byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (now, later) = self.0.split_at(self.0.len().min(buffer.len()).min(1));
            buffer[..now.len()].copy_from_slice(now);
            self.0 = later;
            Ok(now.len())
        }
    }

    fn rows(text: &[u8]) -> Result<Vec<Vec<String>>, DataError> {
        let mut records = Records::new(Slow(text), "t.csv", Separator::Comma, false);
        let mut rows = vec![records.header()?];
        while records.advance()? {
            rows.push(records.cells().iter().map(|c| String::from_utf8_lossy(c).into_owned()).collect());
        }
        Ok(rows)
    }

    #[test]
    fn quotes_byte_order_marks_and_line_ends_are_handled() {
        let expected = vec![vec!["a b", "c\"d"], vec!["1", "x\ny"], vec!["2", ""]];
        for text in [
            "\u{feff}\"a b\",\"c\"\"d\"\r\n1,\"x\ny\"\r\n2,\r\n\r\n",
            " a b ,\"c\"\"d\"\n\n1,\"x\ny\"\n2,",
            "a b,\"c\"\"d\"\r1,\"x\ny\"\r2,\r",
        ] {
            assert_eq!(rows(text.as_bytes()).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_are_counted_whatever_they_end_with() {
        for text in ["a\n1\n\"2\n\"\n\nx,y\n", "a\r\n1\r\n\"2\n\"\r\n\r\nx,y\r\n", "a\n1\n\"2\n\"\n\nx,y"] {
            let mut records = Records::new(text.as_bytes(), "t.csv", Separator::Comma, false);
            records.header().unwrap();
            assert_eq!(records.place().to_string(), "t.csv, line 1");
            for place in ["row 1 (line 2)", "row 2 (line 3)", "row 3 (line 6)"] {
                assert!(records.advance().unwrap());
                assert_eq!(records.place().to_string(), format!("t.csv, {place}"), "{text:?}");
            }
            assert!(!records.advance().unwrap());
        }
        let mut records = Records::new(&b"a\r1\r2\r"[..], "t.csv", Separator::Comma, false);
        records.header().unwrap();
        records.advance().unwrap();
        assert_eq!(records.place().to_string(), "t.csv, row 1 (line 2)");
    }

    #[test]
    fn a_row_like_the_end_mark_is_a_row() {
        assert_eq!(rows(b"a\n\x04\n\x04\n").unwrap(), [["a"], ["\x04"], ["\x04"]]);
        assert_eq!(rows(b"a\n\x04").unwrap(), [["a"], ["\x04"]]);
    }

    #[test]
    fn an_open_quote_is_found_wherever_it_is() {
        for text in ["a,b\n1,\"x\n2,y\n", "\"a,b\n1,2", "a,b\n1,2\n\""] {
            assert!(matches!(rows(text.as_bytes()), Err(DataError::OpenQuote { .. })), "{text:?}");
        }
    }
}
