//! Missing cells: the words for them, and the rows that are set aside because of them.
//!
//! Nothing is imputed. A censored value (`<0.5`) says less than a number and is treated as missing too, which is told.

use std::fmt;

use super::number::Decimal;
use super::wording::{Excerpt, argument};

/// Why a cell has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Absent {
    Missing,
    /// Below or above what can be measured.
    Censored,
}

/// Does the text, without white space around it, say that a value is missing? `more` are texts that the user named.
pub(super) fn absent(text: &str, decimal: Decimal, more: &[String]) -> Option<Absent> {
    const MISSING: [&str; 38] = [
        "",
        "na",
        "n/a",
        "#n/a",
        "#na",
        "n.a.",
        "n.a",
        "nan",
        "null",
        "none",
        "nil",
        "?",
        "-",
        "--",
        "---",
        "–",
        "—",
        ".",
        "..",
        "n.d.",
        "n.d",
        "nd",
        "n/d",
        "not determined",
        "not done",
        "not measured",
        "missing",
        "void",
        "*",
        "#div/0!",
        "#value!",
        "#ref!",
        "#name?",
        "#num!",
        "#null!",
        "#nv",
        "#wert!",
        "k.a.",
    ];
    const CENSORED: [&str; 12] = [
        "lod",
        "loq",
        "bdl",
        "blq",
        "bql",
        "lloq",
        "uloq",
        "below lod",
        "below loq",
        "n.q.",
        "nq",
        "overflow",
    ];
    let lower = text.to_lowercase();
    if MISSING.contains(&lower.as_str()) || more.iter().any(|word| word.trim() == text) {
        return Some(Absent::Missing);
    }
    if CENSORED.contains(&lower.as_str()) {
        return Some(Absent::Censored);
    }
    let bound = lower.strip_prefix(['<', '>', '≤', '≥'])?;
    let bound = bound.strip_prefix('=').unwrap_or(bound).trim();
    (decimal.read(bound).is_some() || CENSORED.contains(&bound)).then_some(Absent::Censored)
}

/// Rows that were left out of a table because a value is missing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SetAside {
    /// How many.
    pub rows: usize,
    /// Of how many.
    pub of: usize,
    /// Columns and how many values each lacks, those with most first.
    pub columns: Vec<(String, usize)>,
    /// How many rows are set aside because of the first of these columns alone.
    pub alone: usize,
    /// Cells that hold a bound rather than a value.
    pub censored: usize,
    /// The first of them.
    pub example: Option<String>,
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        let columns = self.columns.iter().take(SHOWN);
        let mut columns: Vec<String> =
            columns.map(|(name, count)| format!("{count} of {}", argument(name))).collect();
        if self.columns.len() > SHOWN {
            columns.push(format!("{} more columns", self.columns.len() - SHOWN));
        }
        write!(
            f,
            "{} of {} rows {} set aside because values are missing ({})",
            self.rows,
            self.of,
            if self.rows == 1 { "is" } else { "are" },
            columns.join(", ")
        )?;
        if let Some(example) = &self.example {
            write!(f, "; {} like {} treated as missing", censored(self.censored), Excerpt::new(example))?;
        }
        match self.columns.first() {
            Some((name, _)) if 5 * self.alone >= self.of => {
                write!(f, "; --ignore {} would keep {} of them", argument(name), self.alone)
            }
            _ => Ok(()),
        }
    }
}

fn censored(count: usize) -> String {
    if count == 1 { "1 censored value".into() } else { format!("{count} censored values") }
}

/// Values that lack, found while a table is read: they stand as NaN in the columns until [`Gaps::close`].
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    /// `[variables]`.
    of_column: Vec<usize>,
    censored: usize,
    example: Option<String>,
}

impl Gaps {
    /// Takes a cell that holds no value.
    pub(super) fn take(&mut self, column: usize, absent: Absent, text: &str) {
        if self.of_column.len() <= column {
            self.of_column.resize(column + 1, 0);
        }
        self.of_column[column] += 1;
        if absent == Absent::Censored {
            self.censored += 1;
            self.example.get_or_insert_with(|| text.to_string());
        }
    }

    /// How many values lack.
    pub(super) fn count(&self) -> usize {
        self.of_column.iter().sum()
    }

    /// Removes the rows with gaps from `columns` (`[variables][rows]`) and `sets` (`[rows]`); none if there are no gaps.
    pub(super) fn close(
        self,
        names: &[String],
        columns: &mut [Vec<f64>],
        sets: &mut Vec<u32>,
    ) -> Option<SetAside> {
        if self.of_column.is_empty() {
            return None;
        }
        let mut lacking: Vec<(usize, usize)> =
            self.of_column.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
        lacking.sort_by_key(|&(node, count)| (std::cmp::Reverse(count), &names[node]));
        let of = columns.first().map_or(0, Vec::len);
        let gap = |row: usize, node: usize| columns[node][row].is_nan();
        let complete: Vec<bool> =
            (0..of).map(|row| lacking.iter().all(|&(node, _)| !gap(row, node))).collect();
        let alone =
            |row: &usize| gap(*row, lacking[0].0) && lacking[1..].iter().all(|&(node, _)| !gap(*row, node));
        let alone = (0..of).filter(alone).count();
        let keep = |column: &mut Vec<f64>| {
            let mut row = complete.iter();
            column.retain(|_| row.next().copied().unwrap_or(false));
        };
        columns.iter_mut().for_each(keep);
        let mut row = complete.iter();
        sets.retain(|_| row.next().copied().unwrap_or(false));
        Some(SetAside {
            rows: complete.iter().filter(|complete| !**complete).count(),
            of,
            columns: lacking.into_iter().map(|(node, count)| (names[node].clone(), count)).collect(),
            alone,
            censored: self.censored,
            example: self.example,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_missing_values_are_known() {
        for text in ["", "NA", "n.d.", "#DIV/0!", "NaN", "-", "–"] {
            assert_eq!(absent(text, Decimal::Point, &[]), Some(Absent::Missing), "{text}");
        }
        for text in ["<0.5", "< 0.5", ">100", "≤ 3", "<=1e3", "<LOD", "BDL"] {
            assert_eq!(absent(text, Decimal::Point, &[]), Some(Absent::Censored), "{text}");
        }
        assert_eq!(absent("<0,5", Decimal::Comma, &[]), Some(Absent::Censored));
        for text in ["0", "high", "<high", "-999", "inf"] {
            assert_eq!(absent(text, Decimal::Point, &[]), None, "{text}");
        }
        assert_eq!(absent("-999", Decimal::Point, &["-999".into()]), Some(Absent::Missing));
    }

    #[test]
    fn rows_with_gaps_are_set_aside_and_counted() {
        let names = ["a", "b", "c"].map(String::from);
        let nan = f64::NAN;
        let mut columns = vec![vec![1.0, nan, 3.0, nan], vec![1.0, 2.0, 3.0, nan], vec![1.0, 2.0, 3.0, 4.0]];
        let mut sets = vec![0, 1, 2, 3];
        let mut gaps = Gaps::default();
        gaps.take(0, Absent::Missing, "");
        gaps.take(0, Absent::Censored, "<1");
        gaps.take(1, Absent::Missing, "NA");
        let aside = gaps.close(&names, &mut columns, &mut sets).unwrap();
        assert_eq!((columns, sets), (vec![vec![1.0, 3.0]; 3], vec![0, 2]));
        assert_eq!(
            aside.to_string(),
            "2 of 4 rows are set aside because values are missing (2 of a, 1 of b); 1 censored value like \"<1\" \
             treated as missing; --ignore a would keep 1 of them"
        );
    }
}
