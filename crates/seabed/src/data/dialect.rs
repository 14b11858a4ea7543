//! How a table of text is written: what separates its cells and its decimals, found in its beginning.
//!
//! What we write ourselves, with commas and points, is always recognised. Where the beginning does not tell, the user is
//! asked rather than guessed for.

use std::str::FromStr;

use csv::{ByteRecord, ReaderBuilder};

use super::encoding::text;
use super::error::DataError;
use super::names::trimmed;
use super::number::{Decimal, Evidence, evidence};
use super::wording::{Excerpt, Place};

/// What separates the cells of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Separator {
    /// `,`.
    #[default]
    Comma,
    /// `;`, as in spreadsheets where the comma is for decimals.
    Semicolon,
    /// A tab.
    Tab,
    /// `|`.
    Bar,
    /// A single space.
    Space,
}

impl FromStr for Separator {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "comma" | "," => Ok(Self::Comma),
            "semicolon" | ";" => Ok(Self::Semicolon),
            "tab" | "\t" | "\\t" => Ok(Self::Tab),
            "bar" | "|" => Ok(Self::Bar),
            "space" | " " => Ok(Self::Space),
            _ => Err(format!("{name:?} is not a known separator; write comma, semicolon, tab, bar or space")),
        }
    }
}

impl Separator {
    const ALL: [Self; 5] = [Self::Comma, Self::Semicolon, Self::Tab, Self::Bar, Self::Space];

    pub(super) const fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Bar => b'|',
            Self::Space => b' ',
        }
    }

    /// `commas`.
    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Comma => "commas",
            Self::Semicolon => "semicolons",
            Self::Tab => "tabs",
            Self::Bar => "bars",
            Self::Space => "spaces",
        }
    }

    /// The separator of a table that begins with `head`; names hold neither semicolons nor tabs, but may hold the others.
    pub(super) fn of(head: &[u8], whole: bool) -> Self {
        const ROWS: usize = 50;
        let mut best = (Self::Comma, 0.0);
        for separator in Self::ALL {
            let rows = rows(head, whole, separator, ROWS + 1);
            let Some((header, rows)) = rows.split_first().filter(|(header, _)| header.len() > 1) else {
                continue;
            };
            let agreeing = rows.iter().filter(|row| row.len() == header.len()).count();
            let share = agreeing as f64 / rows.len().max(1) as f64;
            let surely = match separator {
                Self::Comma | Self::Semicolon | Self::Tab => 0.01,
                Self::Bar | Self::Space => 0.0,
            };
            if (surely > 0.0 || share == 1.0) && share + surely > best.1 + 1e-9 {
                best = (separator, share + surely);
            }
        }
        best.0
    }
}

/// The first rows of a beginning; the last one only if the beginning is the whole.
fn rows(head: &[u8], whole: bool, separator: Separator, most: usize) -> Vec<ByteRecord> {
    let mut reader = ReaderBuilder::new();
    reader.has_headers(false).flexible(true).delimiter(separator.byte());
    let records = reader.from_reader(head).into_byte_records();
    let mut rows: Vec<ByteRecord> = records.map_while(Result::ok).take(most).collect();
    if !whole && rows.len() > 1 && rows.len() < most {
        rows.pop();
    }
    rows
}

/// The decimals of a table that begins with `head`, but for the columns to `ignore`; and whether every point in it might
/// as well be one between thousands.
pub(super) fn decimal_of(
    head: &[u8],
    whole: bool,
    separator: Separator,
    file: &str,
    ignore: &[String],
) -> Result<(Decimal, bool), DataError> {
    let rows = rows(head, whole, separator, usize::MAX);
    let Some((header, rows)) = rows.split_first() else { return Ok((Decimal::Point, false)) };
    let cell = |cell| text(cell, false).unwrap_or_default();
    let names: Vec<String> = header.iter().map(|name| trimmed(&cell(name)).to_string()).collect();
    let mut found: [Option<(Place, String)>; 2] = [None, None];
    let (mut ambiguous, mut pointed) = (None, false);
    for (row, record) in rows.iter().enumerate() {
        for (name, bytes) in names.iter().zip(record) {
            // Most cells have neither; the others decide.
            if !bytes.iter().any(|byte| matches!(byte, b',' | b'.'))
                || ignore.iter().any(|ignored| ignored.trim() == name)
            {
                continue;
            }
            let shown = cell(bytes);
            let shown = trimmed(&shown);
            let slot = match evidence(shown) {
                Evidence::None => {
                    pointed |= Decimal::Point.read(shown).is_some();
                    continue;
                }
                Evidence::Ambiguous => &mut ambiguous,
                Evidence::Clear(Decimal::Point) => &mut found[0],
                Evidence::Clear(Decimal::Comma) => &mut found[1],
            };
            slot.get_or_insert_with(|| (Place::file(file).row(row + 1).column(name), shown.to_string()));
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    match (found, ambiguous) {
        ([Some((point_at, point)), Some((comma_at, comma))], _) => Err(DataError::MixedDecimals {
            at: Box::new(comma_at),
            comma: Excerpt::new(&comma),
            other: Box::new(Place { file: None, ..point_at }),
            point: Excerpt::new(&point),
        }),
        ([None, None], Some((at, text))) => {
            Err(DataError::AmbiguousComma { at: Box::new(at), text: Excerpt::new(&text) })
        }
        ([None, Some(_)], _) => Ok((Decimal::Comma, false)),
        ([Some(_), None], _) => Ok((Decimal::Point, false)),
        ([None, None], _) => Ok((Decimal::Point, pointed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_found_in_the_beginning() {
        for (text, separator) in [
            ("a,b\n1,2\n", Separator::Comma),
            ("a;b\n1,5;2\n", Separator::Semicolon),
            ("a;b\n1,5;2,5\n3;4\n", Separator::Semicolon),
            ("a\tb\n1,5\t2\n", Separator::Tab),
            ("a|b\n1|2\n", Separator::Bar),
            ("a b\n1 2\n", Separator::Space),
            ("a b\n1\n2\n", Separator::Comma),
            ("a|b\n1\n", Separator::Comma),
            ("a,b;c\n1,2\n", Separator::Comma),
            ("a,b,intervention_targets\n1,2,a;b\n3,4,a;b\n", Separator::Comma),
            ("\"a;b\",c\n1,2\n", Separator::Comma),
            ("a\n1\n", Separator::Comma),
            ("a;b", Separator::Semicolon),
            ("", Separator::Comma),
        ] {
            assert_eq!(Separator::of(text.as_bytes(), true), separator, "{text:?}");
        }
    }

    #[test]
    fn decimals_are_found_or_asked_about() {
        let of = |text: &str, ignore: &[&str]| {
            let ignore: Vec<String> = ignore.iter().map(ToString::to_string).collect();
            decimal_of(text.as_bytes(), true, Separator::Semicolon, "f.csv", &ignore)
                .map(|(decimal, _)| decimal)
                .map_err(|error| error.to_string())
        };
        assert_eq!(of("a;b\n1,5;2\n", &[]), Ok(Decimal::Comma));
        assert_eq!(of("a;b\n1,234;2,5\n", &[]), Ok(Decimal::Comma));
        assert_eq!(of("a;b\n1,234;2.5\n", &[]), Ok(Decimal::Point));
        assert_eq!(of("a;b\n1;2\n", &[]), Ok(Decimal::Point));
        assert_eq!(
            of("a;b\n1;2\n1,234;2\n", &[]).unwrap_err(),
            "f.csv, row 2, column \"a\": \"1,234\" may have a decimal comma or a comma between thousands, and no other \
             number of the file tells; say which with --decimal comma or --decimal point"
        );
        assert_eq!(of("a;b\n1;2\n1,234;2\n", &["a"]), Ok(Decimal::Point));
        assert_eq!(
            of("a;b\n1,5;2\n1;2.25\n", &[]).unwrap_err(),
            "f.csv, row 1, column \"a\": \"1,5\" has a decimal comma, but \"2.25\" (row 2, column \"b\") a point; say \
             which is right with --decimal comma or --decimal point: cells of the other kind are then listed"
        );
    }
}
