//! Numbers as people and spreadsheets write them: a decimal point or comma, and thousands in groups of three.
//!
//! Whether a comma is a decimal or separates thousands is decided once per file, by [`dialect`](super::dialect); `1,234` alone
//! does not tell, and then the user is asked.

use std::str::FromStr;

/// The character before the decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Decimal {
    /// `1.5`, and perhaps `1,234.5`.
    #[default]
    Point,
    /// `1,5`, and perhaps `1.234,5`.
    Comma,
}

impl FromStr for Decimal {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "point" | "." => Ok(Self::Point),
            "comma" | "," => Ok(Self::Comma),
            _ => Err(format!("{name:?} is neither point nor comma")),
        }
    }
}

/// A number as it was read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Read {
    /// Perhaps infinite, if it was too large.
    pub(super) value: f64,
    /// Did separators of thousands have to be removed?
    pub(super) grouped: bool,
}

/// What separates thousands besides the point or comma that is not the decimal.
const GROUPERS: [char; 6] = [' ', '\u{a0}', '\u{202f}', '\u{2009}', '\'', '\u{2019}'];

impl Decimal {
    const fn mark(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }

    const fn other(self) -> char {
        match self {
            Self::Point => ',',
            Self::Comma => '.',
        }
    }

    /// The number in a text without white space around it.
    pub(super) fn read(self, text: &str) -> Option<Read> {
        // Plain numbers, `inf` and `NaN` too; where a comma is the decimal, a point is not.
        if (self == Self::Point || !text.contains('.'))
            && let Ok(value) = text.parse::<f64>()
        {
            return Some(Read { value, grouped: false });
        }
        // A spreadsheet's minus sign.
        let text = text.replace('\u{2212}', "-");
        let (sign, digits) = match text.as_bytes().first()? {
            b'-' => ("-", &text[1..]),
            b'+' => ("", &text[1..]),
            _ => ("", &text[..]),
        };
        let (mantissa, exponent) = match digits.find(['e', 'E']) {
            Some(at) => digits.split_at(at),
            None => (digits, ""),
        };
        let (whole, fraction) = mantissa.split_once(self.mark()).unwrap_or((mantissa, ""));
        let (whole, grouped) = self.without_groups(whole)?;
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !plain(&whole) || !plain(fraction) || whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let value = format!("{sign}{whole}.{fraction}{exponent}").parse().ok()?;
        Some(Read { value, grouped })
    }

    /// The digits before the decimals, and whether they were in groups; none if the groups are not of three.
    fn without_groups(self, whole: &str) -> Option<(String, bool)> {
        let is_grouper = |c: &char| *c == self.other() || GROUPERS.contains(c);
        let Some(grouper) = whole.chars().find(is_grouper) else { return Some((whole.to_string(), false)) };
        let mut groups = whole.split(grouper);
        // `0,123` has no thousands.
        let first =
            groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && !first.starts_with('0'));
        (first && groups.all(|group| group.len() == 3)).then(|| (whole.replace(grouper, ""), true))
    }
}

/// What a cell says about the decimals of its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Evidence {
    /// The decimals begin with this.
    Clear(Decimal),
    /// `1,234`: either.
    Ambiguous,
    /// No comma, and nothing that would speak against one; or not a number.
    None,
}

pub(super) fn evidence(text: &str) -> Evidence {
    let (commas, points) = (text.matches(',').count(), text.matches('.').count());
    if commas == 0 && points == 0 {
        return Evidence::None;
    }
    let [by_point, by_comma] = [Decimal::Point, Decimal::Comma].map(|decimal| decimal.read(text));
    match (by_point, by_comma) {
        (None, None) => Evidence::None,
        (Some(_), None) => Evidence::Clear(Decimal::Point),
        (None, Some(_)) => Evidence::Clear(Decimal::Comma),
        // `1.234` is taken for what it is in most files, unless others of the same file have decimal commas.
        (Some(_), Some(_)) if commas == 0 => Evidence::None,
        (Some(_), Some(_)) => Evidence::Ambiguous,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(decimal: Decimal, text: &str) -> Option<f64> {
        decimal.read(text).map(|read| read.value)
    }

    #[test]
    fn numbers_are_read_by_their_decimals() {
        use Decimal::{Comma, Point};
        for (text, point, comma) in [
            ("1.5", Some(1.5), None),
            ("1,5", None, Some(1.5)),
            ("-1,5e-3", None, Some(-1.5e-3)),
            ("1.234", Some(1.234), Some(1234.0)),
            ("1,234", Some(1234.0), Some(1.234)),
            ("1.234,5", None, Some(1234.5)),
            ("1,234.5", Some(1234.5), None),
            ("1,234,567", Some(1234567.0), None),
            ("1.234.567", None, Some(1234567.0)),
            ("1 234.5", Some(1234.5), None),
            ("1\u{a0}234\u{a0}567", Some(1234567.0), Some(1234567.0)),
            ("1'234.5", Some(1234.5), None),
            ("\u{2212}2", Some(-2.0), Some(-2.0)),
            (",5", None, Some(0.5)),
            ("5,", None, Some(5.0)),
            ("7", Some(7.0), Some(7.0)),
            ("1e5", Some(1e5), Some(1e5)),
        ] {
            assert_eq!((read(Point, text), read(Comma, text)), (point, comma), "{text}");
        }
        for text in [
            "",
            "-",
            ",",
            ".",
            "e5",
            "1 2",
            "12 34",
            "1,23,456",
            "1'234 567",
            "1_000",
            "0x10",
            "1,5,2",
            "5 nM",
        ] {
            assert_eq!((read(Point, text), read(Comma, text)), (None, None), "{text}");
        }
        assert!(
            Decimal::Point.read("1,234").unwrap().grouped && !Decimal::Comma.read("1,234").unwrap().grouped
        );
    }

    #[test]
    fn the_bits_do_not_depend_on_the_decimals() {
        for value in [0.1f64, -2.5e-7, 1e22, 123456.789012345, 5e-324] {
            let text = format!("{value:?}").replace('.', ",");
            assert_eq!(read(Decimal::Comma, &text).map(f64::to_bits), Some(value.to_bits()), "{text}");
        }
    }

    #[test]
    fn a_cell_speaks_for_its_file() {
        use Evidence::{Ambiguous, Clear, None};
        for (text, found) in [
            ("1,5", Clear(Decimal::Comma)),
            ("0,125", Clear(Decimal::Comma)),
            ("-0,125", Clear(Decimal::Comma)),
            ("1.5", Clear(Decimal::Point)),
            ("1,234", Ambiguous),
            ("-12,345", Ambiguous),
            ("1.234", None),
            ("0.234", Clear(Decimal::Point)),
            ("1,234,567", Clear(Decimal::Point)),
            ("1.234,5", Clear(Decimal::Comma)),
            ("17", None),
            ("a,b", None),
            ("", None),
        ] {
            assert_eq!(evidence(text), found, "{text}");
        }
    }
}
