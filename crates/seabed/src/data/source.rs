//! From the bytes of any table to its text: compression, workbooks, encodings, and how the text is written.
//!
//! What a file is, its bytes say, not its name. Everything that was guessed is kept, to be told in one line.

use std::io::{self, Cursor, Read};

use super::dialect::{Separator, decimal_of};
use super::encoding::{Decoded, Decoding};
use super::error::DataError;
use super::layout::ReadOptions;
use super::number::Decimal;
use super::records::Records;
#[cfg(feature = "gzip")]
use crate::observer::memory;

/// How much of a file is looked at before it is read.
const HEAD: usize = 1 << 20;

/// A table as text, and how it is written.
pub(super) struct Source<'a> {
    file: String,
    rest: Box<dyn Read + 'a>,
    head: Vec<u8>,
    /// Is the head all there is?
    whole: bool,
    pub(super) separator: Separator,
    strictly_utf8: bool,
    guesses: Guesses,
}

impl<'a> Source<'a> {
    /// Opens the table in `reader`; messages call it `file`.
    pub(super) fn open(reader: impl Read + 'a, file: &str, options: &ReadOptions) -> Result<Self, DataError> {
        let failed = |error: io::Error| DataError::unreadable(file.to_string(), error);
        let mut guesses = Guesses::default();
        let mut rest: Box<dyn Read + 'a> = Box::new(reader);
        let (mut head, _) = beginning(&mut rest).map_err(failed)?;
        if head.starts_with(b"\x1f\x8b") {
            rest = uncompressed(Box::new(Cursor::new(head).chain(rest)), file)?;
            head = beginning(&mut rest).map_err(failed)?.0;
        }
        let workbook = head.starts_with(b"PK\x03\x04");
        if head.starts_with(b"\xd0\xcf\x11\xe0") {
            let problem = "it is in Excel's old format; save it as .xlsx or .csv".to_string();
            return Err(DataError::Workbook { file: file.to_string(), problem });
        }
        if workbook {
            let mut bytes = head;
            rest.read_to_end(&mut bytes).map_err(failed)?;
            let (text, sheet) = sheet_text(bytes, file, options.sheet.as_deref())?;
            guesses.sheet = sheet;
            rest = Box::new(Cursor::new(text));
        } else {
            let decoding = Decoding::of(&head, options.encoding);
            guesses.utf16 =
                options.encoding.is_none() && matches!(decoding, Decoding::Utf16Le | Decoding::Utf16Be);
            let bytes = Cursor::new(head).chain(rest);
            rest = match decoding {
                Decoding::Utf8 => Box::new(bytes),
                _ => Box::new(Decoded::new(bytes, decoding)),
            };
        }
        let (mut head, whole) = beginning(&mut rest).map_err(failed)?;
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        let separator = match options.separator {
            // A workbook's text is our own.
            _ if workbook => Separator::Comma,
            Some(separator) => {
                declared(&mut head);
                separator
            }
            None => {
                let separator = declared(&mut head).unwrap_or_else(|| Separator::of(&head, whole));
                guesses.separator = Some(separator).filter(|separator| *separator != Separator::Comma);
                separator
            }
        };
        let strictly_utf8 = options.encoding == Some(super::encoding::Encoding::Utf8);
        Ok(Self { file: file.to_string(), rest, head, whole, separator, strictly_utf8, guesses })
    }

    /// What begins the decimals, but for the columns to ignore.
    pub(super) fn decimal(&mut self, options: &ReadOptions) -> Result<Decimal, DataError> {
        if let Some(decimal) = options.decimal {
            return Ok(decimal);
        }
        let (found, unclear) =
            decimal_of(&self.head, self.whole, self.separator, &self.file, &options.ignore)?;
        self.guesses.comma = found == Decimal::Comma;
        // Where commas are for decimals, cells are separated by semicolons, and points are for thousands.
        self.guesses.points = unclear && self.separator == Separator::Semicolon;
        Ok(found)
    }

    /// The rows, and what was guessed on the way to them.
    pub(super) fn records(self) -> (Records<Box<dyn Read + 'a>>, Guesses) {
        let reader: Box<dyn Read + 'a> = Box::new(Cursor::new(self.head).chain(self.rest));
        (Records::new(reader, &self.file, self.separator, self.strictly_utf8), self.guesses)
    }
}

/// The first bytes, and whether they are all.
fn beginning(reader: &mut impl Read) -> io::Result<(Vec<u8>, bool)> {
    let mut head = Vec::new();
    reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    let whole = head.len() < HEAD;
    Ok((head, whole))
}

/// The separator that Excel's first line `sep=;` declares; the line is emptied, so that lines are counted right.
fn declared(head: &mut Vec<u8>) -> Option<Separator> {
    let end = head.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    let line = std::str::from_utf8(&head[..end]).ok()?.trim_matches('"');
    let separator = line.strip_prefix("sep=")?.parse().ok()?;
    head.drain(..end);
    Some(separator)
}

#[cfg(feature = "gzip")]
fn uncompressed<'a>(reader: Box<dyn Read + 'a>, _file: &str) -> Result<Box<dyn Read + 'a>, DataError> {
    // The cells of a form stay text until all are read.
    let most = memory().map_or(MOST_UNCOMPRESSED, |bytes| MOST_UNCOMPRESSED.min((bytes / 4.0) as u64));
    Ok(Box::new(Limited { reader: flate2::read::MultiGzDecoder::new(reader), most, left: most }))
}

/// The most bytes of a compressed table, whatever the memory: a thousandth of them can stand for any table of equal lines.
#[cfg(feature = "gzip")]
const MOST_UNCOMPRESSED: u64 = 4_000_000_000;

/// What is read, an error once it is more than is left of what is allowed.
#[cfg(feature = "gzip")]
struct Limited<R> {
    reader: R,
    most: u64,
    left: u64,
}

#[cfg(feature = "gzip")]
impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(into)?;
        let left = self.left.checked_sub(read as u64);
        self.left = left.ok_or_else(|| {
            io::Error::other(format!(
                "it is larger than {:.1} GB once it is uncompressed; if that is right, uncompress it first",
                self.most as f64 / 1e9
            ))
        })?;
        Ok(read)
    }
}

#[cfg(not(feature = "gzip"))]
fn uncompressed<'a>(_reader: Box<dyn Read + 'a>, file: &str) -> Result<Box<dyn Read + 'a>, DataError> {
    Err(DataError::WithoutFeature { file: file.to_string(), feature: "gzip" })
}

#[cfg(feature = "xlsx")]
fn sheet_text(
    bytes: Vec<u8>,
    file: &str,
    sheet: Option<&str>,
) -> Result<(Vec<u8>, Option<String>), DataError> {
    super::xlsx::sheet_text(bytes, file, sheet)
}

#[cfg(not(feature = "xlsx"))]
fn sheet_text(_: Vec<u8>, file: &str, _: Option<&str>) -> Result<(Vec<u8>, Option<String>), DataError> {
    Err(DataError::WithoutFeature { file: file.to_string(), feature: "xlsx" })
}

/// What was found out about a file that its user did not say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Guesses {
    separator: Option<Separator>,
    comma: bool,
    /// Points are taken for decimals, but might separate thousands.
    points: bool,
    /// Thousands were separated; known only when all is read.
    pub(super) thousands: bool,
    utf16: bool,
    /// Cells were not UTF-8; known only when all is read.
    pub(super) latin1: bool,
    /// The sheet that was read, of several.
    sheet: Option<String>,
}

impl Guesses {
    /// One line that tells them, with the options that change them; none if there is nothing to tell.
    pub(super) fn told(&self, file: &str) -> Option<String> {
        let (mut found, mut options) = (Vec::new(), Vec::new());
        if let Some(sheet) = &self.sheet {
            found.push(format!("sheet {sheet:?}"));
            options.push("--sheet");
        }
        if let Some(separator) = self.separator {
            found.push(format!("{} between cells", separator.plural()));
            options.push("--separator");
        }
        if self.comma {
            found.push("decimal commas".into());
        }
        if self.points {
            found.push("decimal points".into());
        }
        if self.thousands {
            found.push("separated thousands".into());
        }
        if self.comma || self.points || self.thousands {
            options.push("--decimal");
        }
        if self.utf16 || self.latin1 {
            found.push(if self.utf16 { "UTF-16" } else { "Latin-1 (Windows-1252)" }.into());
            options.push("--encoding");
        }
        if found.is_empty() {
            return None;
        }
        Some(format!("{file} is read with {}; {} would change that", found.join(", "), options.join(", ")))
    }
}

#[cfg(all(test, feature = "gzip"))]
mod tests {
    use super::*;

    #[test]
    fn what_grows_beyond_the_limit_is_refused_and_not_cut() {
        let all = |left: u64| {
            io::read_to_string(Limited { reader: &b"a,b\n1,2\n"[..], most: MOST_UNCOMPRESSED, left })
        };
        assert_eq!(all(8).unwrap(), "a,b\n1,2\n");
        assert!(all(7).unwrap_err().to_string().contains("larger than 4.0 GB"));
    }
}
