//! The text of one cell: its number, or why it is not a number.

use super::error::DataError;
use super::names::{TARGETS_COLUMN, closest, position};
use super::wording::{Excerpt, Place, Remedy};

/// The finite number in a cell; surrounding white space is ignored.
#[inline]
pub(super) fn number(cell: &[u8]) -> Option<f64> {
    let parse = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
    let text = std::str::from_utf8(cell).ok()?;
    parse(text).or_else(|| parse(text.trim()))
}

/// Why the text of a cell is not a finite number; `at` names the column.
pub(super) fn explain(text: &str, at: Place, names: &[String]) -> DataError {
    const MISSING: [&str; 10] = ["na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "."];
    let (at, text) = (Box::new(at), text.trim());
    let excerpt = Excerpt::new(text);
    if text.is_empty() || MISSING.contains(&text.to_lowercase().as_str()) {
        let remedy = if like_targets(&at) { Remedy::CallItTargets } else { Remedy::FillIn };
        return DataError::Missing { at, text: (!text.is_empty()).then_some(excerpt), remedy };
    }
    if text.parse::<f64>().is_ok() {
        return DataError::NotFinite { at, text: excerpt };
    }
    let remedy = if let Some(number) = with_point(text) {
        Remedy::DecimalPoint(number)
    } else if like_targets(&at) || text.split(';').all(|part| position(names, part).is_some()) {
        Remedy::CallItTargets
    } else {
        Remedy::LeaveOut(at.column.clone().unwrap_or_default())
    };
    DataError::NotANumber { at, text: excerpt, remedy }
}

/// The error of a cell that holds nothing.
#[cfg(feature = "parquet")]
pub(super) fn empty(at: Place) -> DataError {
    explain("", at, &[])
}

/// Is the column's name almost that of the column of targets?
fn like_targets(at: &Place) -> bool {
    let Some(column) = at.column.as_deref().map(str::to_lowercase) else { return false };
    ["target", "targets", "intervention", "interventions"].contains(&column.as_str())
        || closest(&column, &[TARGETS_COLUMN.to_string()]).is_some()
}

/// `3,5` as 3.5.
fn with_point(text: &str) -> Option<String> {
    let point = text.replace(',', ".");
    let one_comma = text.len() < 40 && text.matches(',').count() == 1;
    (one_comma && point.parse::<f64>().is_ok()).then_some(point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_to_the_last_bit() {
        for value in [0.1, -0.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, 1e22, 123456789.125] {
            for text in [format!("{value}"), format!("{value:e}"), format!(" {value:?}\t")] {
                assert_eq!(number(text.as_bytes()).map(f64::to_bits), Some(value.to_bits()), "{text}");
            }
        }
        assert_eq!(number(b"+.5"), Some(0.5));
        for text in ["", " ", "inf", "NaN", "1e999", "1,5", "0x10", "1 2", "1_000"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(number(b"1\xff"), None);
    }
}
