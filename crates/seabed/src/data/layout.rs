//! Which column of a table is what: a variable, the targets, or left out.
//!
//! The same for every kind of file; cells are left to the readers.

use crate::graph::Node;

use super::dialect::Separator;
use super::encoding::Encoding;
use super::error::DataError;
use super::names::{NameError, Names, TARGETS_COLUMN, check_numbered, closest, trimmed};
use super::number::Decimal;
use super::wording::{Excerpt, Place};

/// How a table is read; what is `None` is found out from the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadOptions {
    /// Names of columns to leave out, whatever they hold; each must be there.
    pub ignore: Vec<String>,
    /// What separates the cells of a text file.
    pub separator: Option<Separator>,
    /// What begins the decimals.
    pub decimal: Option<Decimal>,
    /// The encoding of a text file.
    pub encoding: Option<Encoding>,
    /// The sheet of a workbook, instead of the first one that is not empty.
    pub sheet: Option<String>,
    /// Texts that stand for a missing value, besides `NA`, `n.d.`, `<0.5` and the like.
    pub missing: Vec<String>,
}

impl ReadOptions {
    /// The usual options, leaving out some columns.
    pub fn ignoring(columns: &[String]) -> Self {
        Self { ignore: columns.to_vec(), ..Self::default() }
    }
}

/// What a column is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Variable(Node),
    Targets,
    LeftOut,
    /// Without a name, at this place counted from 1: spreadsheets leave empty columns behind.
    Unnamed(usize),
}

/// The error of a column that holds something, but has no name.
pub(super) fn blank_name(file: &str, column: usize) -> DataError {
    DataError::Name { at: Box::new(Place::file(file)), reason: NameError::Blank { column } }
}

/// What every column of a file is.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) names: Names,
    /// `[columns of the file]`.
    pub(super) roles: Vec<Role>,
}

impl Layout {
    /// The layout of a file with the columns `header`, which are trimmed.
    pub(super) fn new(file: &str, header: &[String], options: &ReadOptions) -> Result<Self, DataError> {
        let ignored: Vec<&str> = options.ignore.iter().map(|name| trimmed(name)).collect();
        if let Some(&column) = ignored.iter().find(|&&name| header.iter().all(|known| known != name)) {
            return Err(DataError::NothingToIgnore {
                file: file.to_string(),
                column: column.to_string(),
                known: header.to_vec(),
                suggestion: closest(column, header).map(str::to_string),
            });
        }
        let name_error = |reason| DataError::Name { at: Box::new(Place::file(file)), reason };
        let mut roles = Vec::with_capacity(header.len());
        let mut names: Vec<String> = Vec::new();
        let mut numbers = Vec::new();
        let mut targets = None;
        for (k, name) in header.iter().enumerate() {
            if ignored.contains(&name.as_str()) {
                roles.push(Role::LeftOut);
            } else if name == TARGETS_COLUMN {
                if let Some(first) = targets.replace(k + 1) {
                    let name = Excerpt::new(name);
                    return Err(name_error(NameError::Duplicate { name, first, second: k + 1 }));
                }
                roles.push(Role::Targets);
            } else if name.is_empty() {
                roles.push(Role::Unnamed(k + 1));
            } else {
                roles.push(Role::Variable(names.len()));
                names.push(name.clone());
                numbers.push(k + 1);
            }
        }
        check_numbered(numbers.into_iter().zip(names.iter().map(String::as_str))).map_err(name_error)?;
        if names.is_empty() {
            return Err(DataError::NoVariables { at: Box::new(Place::file(file)) });
        }
        Ok(Self { names: names.into(), roles })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(header: &[&str], ignore: &[&str]) -> Result<Layout, DataError> {
        let strings = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        Layout::new("f.csv", &strings(header), &ReadOptions::ignoring(&strings(ignore)))
    }

    #[test]
    fn every_column_gets_its_role() {
        let found = layout(&["", "x", "intervention_targets", "note", "y"], &["note", " "]).unwrap();
        use Role::{LeftOut, Targets, Variable};
        assert_eq!(found.roles, [LeftOut, Variable(0), Targets, LeftOut, Variable(1)]);
        assert_eq!(&*found.names, ["x", "y"]);
    }

    #[test]
    fn columns_keep_their_number_in_messages() {
        let message = |header: &[&str], ignore: &[&str]| layout(header, ignore).unwrap_err().to_string();
        assert_eq!(
            message(&["note", "x", "x"], &["note"]),
            "f.csv: columns 2 and 3 are both called \"x\"; give each column its own name"
        );
        assert_eq!(
            message(&["x", "intervention_targets", "intervention_targets"], &[]),
            "f.csv: columns 2 and 3 are both called \"intervention_targets\"; give each column its own name"
        );
        assert_eq!(
            message(&["x", "condition"], &["conditions"]),
            "f.csv: there is no column conditions to ignore; did you mean \"condition\"?; \
             the columns are x, condition"
        );
    }
}
