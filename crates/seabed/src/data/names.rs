//! Names of variables: which names are valid, and how a name is looked up.
//!
//! All user input refers to variables by name, and a node is the
//! index of its name. Reading files and columns is left to the other modules.

use std::collections::HashMap;
use std::sync::Arc;

use crate::graph::Node;

use super::wording::Excerpt;

/// The names of the variables, in the order of their nodes.
pub type Names = Arc<[String]>;

/// The column that says who was intervened on; no variable can have this name.
pub const TARGETS_COLUMN: &str = "intervention_targets";

/// Separates the names of several targets, so no name may contain it.
pub const TARGET_SEPARATOR: char = ';';

/// An invalid name of a variable.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    /// A name of white space only, or none at all.
    #[error(
        "column {column} has no name; if it is a row index, write the file without it \
         (pandas: index=False, R: row.names=FALSE)"
    )]
    Blank {
        /// 1-based.
        column: usize,
    },
    /// White space at the beginning or the end, which reading a file would remove.
    #[error("the name {name} begins or ends with white space; remove it")]
    Untrimmed {
        /// The name as it was given.
        name: Excerpt,
    },
    /// A name that no table can show.
    #[error("the name of column {column} has {letters} characters; shorten it to at most {LONGEST_NAME}")]
    TooLong {
        /// 1-based.
        column: usize,
        /// Its length.
        letters: usize,
    },
    /// Two variables of one name.
    #[error("columns {first} and {second} are both called {name}; give each column its own name")]
    Duplicate {
        /// The name that they share.
        name: Excerpt,
        /// 1-based.
        first: usize,
        /// 1-based.
        second: usize,
    },
    /// A line break, a tab or another character that cannot be printed.
    #[error(
        "the name {name} of column {column} contains a line break or another control character; rename it"
    )]
    ControlCharacter {
        /// The name as it was given.
        name: Excerpt,
        /// 1-based.
        column: usize,
    },
    /// The character that joins targets.
    #[error(
        "the name {name} of column {column} contains `;`, which separates the names of targets; rename it"
    )]
    Separator {
        /// The name as it was given.
        name: Excerpt,
        /// 1-based.
        column: usize,
    },
    /// The name of the column of targets.
    #[error(
        "no variable can be called \"intervention_targets\": the name is reserved for the column of targets"
    )]
    Reserved,
}

/// Characters of a name.
const LONGEST_NAME: usize = 1000;

/// Checks that every name is valid and that no two are the same.
///
/// A name is not blank, has at most 1000 characters, no white space around it, no control character and no `;`, and is not
/// `intervention_targets`. White space around the names in a file is removed when the file is read.
pub fn check_names(names: &[String]) -> Result<(), NameError> {
    check_numbered(names.iter().enumerate().map(|(k, name)| (k + 1, name.as_str())))
}

/// As [`check_names`], for columns that keep their number in a file from which others were left out.
pub(super) fn check_numbered<'a>(
    columns: impl IntoIterator<Item = (usize, &'a str)>,
) -> Result<(), NameError> {
    let mut seen = HashMap::new();
    for (column, name) in columns {
        let excerpt = || Excerpt::new(name);
        if trimmed(name).is_empty() {
            return Err(NameError::Blank { column });
        }
        let letters = name.chars().count();
        if letters > LONGEST_NAME {
            return Err(NameError::TooLong { column, letters });
        }
        if name.contains(char::is_control) {
            return Err(NameError::ControlCharacter { name: excerpt(), column });
        }
        if trimmed(name) != name {
            return Err(NameError::Untrimmed { name: excerpt() });
        }
        if name.contains(TARGET_SEPARATOR) {
            return Err(NameError::Separator { name: excerpt(), column });
        }
        if name == TARGETS_COLUMN {
            return Err(NameError::Reserved);
        }
        if let Some(first) = seen.insert(name, column) {
            return Err(NameError::Duplicate { name: excerpt(), first, second: column });
        }
    }
    Ok(())
}

/// The node of a name; white space around `name` is ignored.
pub fn position(names: &[String], name: &str) -> Option<Node> {
    let name = trimmed(name);
    names.iter().position(|known| known == name)
}

/// The node of every name, for many look-ups.
pub(super) fn index(names: &[String]) -> HashMap<&str, Node> {
    names.iter().enumerate().map(|(node, name)| (name.as_str(), node)).collect()
}

/// A name without the white space around it, nor the byte-order marks that spreadsheets leave there.
pub(super) fn trimmed(name: &str) -> &str {
    name.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// The known name that `name` is most likely a misspelling of.
pub fn closest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    // Nobody mistypes a name of a hundred letters, and the comparison takes time quadratic in the length.
    const LONGEST: usize = 100;
    let letters: Vec<char> = name.to_lowercase().chars().take(LONGEST + 1).collect();
    if letters.len() > LONGEST {
        return None;
    }
    let distances = known.iter().filter(|k| k.len() <= 4 * LONGEST).map(|candidate| {
        let other: Vec<char> = candidate.to_lowercase().chars().collect();
        (edit_distance(&letters, &other), candidate.as_str())
    });
    let (distance, candidate) = distances.min_by_key(|&(distance, _)| distance)?;
    let tolerated = (letters.len() / 3).max(1).min(letters.len().saturating_sub(1));
    (distance <= tolerated).then_some(candidate)
}

/// Insertions, deletions and replacements that turn one word into the other.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_are_refused_with_a_reason() {
        let cases: [(&[&str], &str); 6] = [
            (
                &["a", " "],
                "column 2 has no name; if it is a row index, write the file without it \
                 (pandas: index=False, R: row.names=FALSE)",
            ),
            (&["a "], "the name \"a \" begins or ends with white space; remove it"),
            (&["a", "b", "a"], "columns 1 and 3 are both called \"a\"; give each column its own name"),
            (
                &["a\nb"],
                "the name \"a\\nb\" of column 1 contains a line break or another control character; rename it",
            ),
            (
                &["a;b"],
                "the name \"a;b\" of column 1 contains `;`, which separates the names of targets; rename it",
            ),
            (
                &["intervention_targets"],
                "no variable can be called \"intervention_targets\": the name is reserved for the column of targets",
            ),
        ];
        for (names, message) in cases {
            assert_eq!(check_names(&strings(names)).unwrap_err().to_string(), message);
        }
        assert_eq!(check_names(&strings(&["a", "A", "a, b", "\"q\"", "mu\u{308}", "1.5"])), Ok(()));
    }

    #[test]
    fn a_name_is_found_with_space_around_it() {
        let names = strings(&["raf", "mek", "p 38"]);
        assert_eq!(position(&names, " mek\t"), Some(1));
        assert_eq!(position(&names, "p38"), None);
    }

    #[test]
    fn the_closest_name_is_a_plausible_one() {
        let names = strings(&["raf", "mek", "pip2", "pip3", "p38"]);
        assert_eq!(closest("MEK", &names), Some("mek"));
        assert_eq!(closest("meck", &names), Some("mek"));
        assert_eq!(closest("pip", &names), Some("pip2"));
        assert_eq!(closest("xyz", &names), None);
        assert_eq!(closest("", &names), None);
        assert_eq!(closest(&"m".repeat(1000), &names), None);
    }
}
