//! The text of one cell: its number, that it is missing, or why it is neither.

use super::error::DataError;
use super::missing::{Absent, absent};
use super::names::{TARGETS_COLUMN, closest, position};
use super::number::{Decimal, Read};
use super::wording::{Excerpt, Place, Remedy};

/// How the numbers of a file are written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    /// The character before the decimals.
    pub decimal: Decimal,
    /// Texts for missing values, besides the usual ones.
    pub missing: Vec<String>,
}

/// What a cell holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Held {
    /// A finite number.
    Number(Read),
    Absent(Absent),
    /// Neither.
    Text,
}

impl Numbers {
    /// The finite number in a cell that is written the plain way: for speed, and only that.
    #[inline]
    pub(super) fn plain(&self, cell: &[u8]) -> Option<f64> {
        if self.decimal == Decimal::Comma || !self.missing.is_empty() {
            return None;
        }
        std::str::from_utf8(cell).ok()?.parse::<f64>().ok().filter(|value| value.is_finite())
    }

    /// What the text of a cell holds; surrounding white space is ignored.
    pub(super) fn held(&self, text: &str) -> Held {
        let text = text.trim();
        // The user's own words may be numbers: -999.
        if !self.missing.is_empty() && absent(text, self.decimal, &self.missing) == Some(Absent::Missing) {
            return Held::Absent(Absent::Missing);
        }
        match self.decimal.read(text) {
            Some(read) if read.value.is_finite() => Held::Number(read),
            _ => absent(text, self.decimal, &self.missing).map_or(Held::Text, Held::Absent),
        }
    }

    /// The number in a cell; none if it is empty or says that a value is missing (`NA`, `-`, `<0.5`, ...).
    pub fn value(&self, text: &str, place: &Place, column: &str) -> Result<Option<f64>, DataError> {
        match self.held(text) {
            Held::Number(read) => Ok(Some(read.value)),
            Held::Absent(_) => Ok(None),
            Held::Text => Err(self.explain(text, place.clone().column(column), &[])),
        }
    }

    /// Does the cell hold a bound (`<0.5`) instead of a value?
    pub fn is_censored(&self, text: &str) -> bool {
        self.held(text) == Held::Absent(Absent::Censored)
    }

    /// Why the text of a cell is not a finite number; `at` names the column.
    pub(super) fn explain(&self, text: &str, at: Place, names: &[String]) -> DataError {
        let (at, text) = (Box::new(at), text.trim());
        let excerpt = Excerpt::new(text);
        if self.decimal.read(text).is_some() {
            return DataError::NotFinite { at, text: excerpt };
        }
        let other = match self.decimal {
            Decimal::Point => Decimal::Comma,
            Decimal::Comma => Decimal::Point,
        };
        let remedy = if other.read(text).is_some() {
            Remedy::Decimals(self.decimal)
        } else if like_targets(at.column.as_deref().unwrap_or_default())
            || text.split(';').all(|part| position(names, part).is_some())
        {
            Remedy::CallItTargets
        } else {
            Remedy::LeaveOut(at.column.clone().unwrap_or_default())
        };
        DataError::NotANumber { at, text: excerpt, remedy }
    }
}

/// Is the column's name almost that of the column of targets?
pub(super) fn like_targets(column: &str) -> bool {
    let column = column.to_lowercase();
    ["target", "targets", "intervention", "interventions"].contains(&column.as_str())
        || closest(&column, &[TARGETS_COLUMN.to_string()]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_to_the_last_bit() {
        let numbers = Numbers::default();
        let number = |text: &str| match numbers.held(text) {
            Held::Number(read) => Some(read.value),
            _ => None,
        };
        for value in [0.1, -0.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, 1e22, 123456789.125] {
            for text in [format!("{value}"), format!("{value:e}"), format!(" {value:?}\t")] {
                assert_eq!(number(&text).map(f64::to_bits), Some(value.to_bits()), "{text}");
            }
        }
        assert_eq!(number("+.5"), Some(0.5));
        for text in ["", " ", "inf", "NaN", "1e999", "1,5", "0x10", "1 2", "1_000"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(numbers.plain(b"1\xff"), None);
    }

    #[test]
    fn a_missing_value_is_none_and_a_word_is_an_error() {
        let numbers = Numbers::default();
        let value = |text: &str| numbers.value(text, &Place::default(), "x");
        assert_eq!(value("1.5").unwrap(), Some(1.5));
        assert_eq!(value("").unwrap(), None);
        assert_eq!(value("NA").unwrap(), None);
        assert_eq!(value("<0.5").unwrap(), None);
        assert!(value("high").is_err() && value("inf").is_err() && value("1,5").is_err());
        let nines = Numbers { missing: vec!["-999".into()], ..Numbers::default() };
        assert_eq!(nines.value("-999", &Place::default(), "x").unwrap(), None);
    }
}
