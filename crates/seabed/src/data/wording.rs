//! The pieces that messages are made of: where something was found, which text it was, what to do.
//!
//! What can be wrong is in [`error`](super::error); here is only how its parts are shown.

use std::fmt;

use super::number::Decimal;

/// Where in the data something was found, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The file as the user called it.
    pub file: Option<String>,
    /// Row of the data, 1-based; the header does not count.
    pub row: Option<usize>,
    /// Line of the file, 1-based; the header is line 1.
    pub line: Option<u64>,
    /// Name of the column.
    pub column: Option<String>,
}

impl Place {
    pub(super) fn file(file: &str) -> Self {
        Self { file: Some(file.to_string()), ..Self::default() }
    }

    pub(super) fn row(mut self, row: usize) -> Self {
        self.row = Some(row);
        self
    }

    pub(super) fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(super) fn column(mut self, column: &str) -> Self {
        self.column = Some(column.to_string());
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = match (self.row, self.line) {
            (Some(row), Some(line)) => Some(format!("row {row} (line {line})")),
            (Some(row), None) => Some(format!("row {row}")),
            (None, Some(line)) => Some(format!("line {line}")),
            (None, None) => None,
        };
        let column = self.column.as_deref().map(|column| format!("column {}", Excerpt::new(column)));
        let parts: Vec<String> = [self.file.clone(), row, column].into_iter().flatten().collect();
        if parts.is_empty() { f.write_str("the data") } else { f.write_str(&parts.join(", ")) }
    }
}

/// The user's text as a message shows it: in quotes, shortened when long, escaped where not printable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt(Box<str>);

impl Excerpt {
    /// Characters shown of a long text.
    const LONGEST: usize = 40;

    /// The excerpt of a text.
    pub fn new(text: &str) -> Self {
        let shown: String = text.chars().take(Self::LONGEST).collect();
        let rest = if shown.len() < text.len() { "..." } else { "" };
        Self(format!("{shown:?}{rest}").into())
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the user can do about a cell that is not a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// The number has the other decimals than the file.
    Decimals(Decimal),
    /// The column seems to say who was intervened on.
    CallItTargets,
    /// The column with this name may not be a variable.
    LeaveOut(String),
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimals(Decimal::Point) => {
                f.write_str("decimals are written with a point here; if they have a comma, use --decimal comma")
            }
            Self::Decimals(Decimal::Comma) => {
                f.write_str("decimals are written with a comma here; if they have a point, use --decimal point")
            }
            Self::CallItTargets => {
                f.write_str("if this column lists the variables that were intervened on, call it \"intervention_targets\"")
            }
            Self::LeaveOut(column) => {
                write!(f, "if this column is not a variable, leave it out with --ignore {}", argument(column))
            }
        }
    }
}

/// A name as one types it on a command line.
pub(super) fn argument(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.+:@".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        return name.to_string();
    }
    Excerpt::new(name).to_string()
}

/// Names as a readable list: the first dozen, and how many there are.
pub(super) fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| argument(name)).collect();
    let rest = if names.len() > SHOWN { format!(", ... ({} in total)", names.len()) } else { String::new() };
    shown.join(", ") + &rest
}

/// `; did you mean "x"?`, or nothing.
pub fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map_or(String::new(), |name| format!("; did you mean {}?", Excerpt::new(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_shows_what_is_known() {
        assert_eq!(Place::default().to_string(), "the data");
        assert_eq!(Place::file("a.csv").line(3).to_string(), "a.csv, line 3");
        assert_eq!(
            Place::file("a.csv").row(2).line(3).column("x y").to_string(),
            "a.csv, row 2 (line 3), column \"x y\""
        );
    }

    #[test]
    fn text_is_shortened_and_escaped() {
        assert_eq!(Excerpt::new("a\u{7}\n\"b\"").to_string(), r#""a\u{7}\n\"b\"""#);
        assert_eq!(Excerpt::new(&"ü".repeat(41)).to_string(), format!("\"{}\"...", "ü".repeat(40)));
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (1..=14).map(|k| format!("X{k}")).collect();
        assert_eq!(list(&names), "X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, ... (14 in total)");
        assert_eq!(list(&["a b".into(), "c".into()]), "\"a b\", c");
    }
}
