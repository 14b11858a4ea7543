//! Cells that say who was intervened on: names joined by `;`, nothing for an observational row.
//!
//! Rows of one regime repeat the same text, so every text is parsed once.

use std::collections::HashMap;

use crate::graph::{Node, NodeSet};

use super::error::DataError;
use super::names::{TARGET_SEPARATOR, TARGETS_COLUMN, closest, index, trimmed};
use super::wording::{Excerpt, Place};

/// Parses the column of targets, row by row.
pub(super) struct TargetColumn<'a> {
    names: &'a [String],
    nodes: HashMap<&'a str, Node>,
    known: HashMap<Box<str>, u32>,
    sets: Vec<NodeSet>,
    set_of_row: Vec<u32>,
}

impl<'a> TargetColumn<'a> {
    pub(super) fn new(names: &'a [String]) -> Self {
        Self {
            names,
            nodes: index(names),
            known: HashMap::from([("".into(), 0)]),
            sets: vec![NodeSet::empty(names.len())],
            set_of_row: Vec::new(),
        }
    }

    /// Takes the cell of the next row; `place` is the row.
    pub(super) fn push(&mut self, text: &str, place: impl FnOnce() -> Place) -> Result<(), DataError> {
        let k = match self.known.get(text) {
            Some(&k) => k,
            None => {
                let set = self.parse(text, || Box::new(place().column(TARGETS_COLUMN)))?;
                let k = self.sets.len() as u32;
                self.sets.push(set);
                self.known.insert(text.into(), k);
                k
            }
        };
        self.set_of_row.push(k);
        Ok(())
    }

    /// Number of rows so far.
    #[cfg(feature = "parquet")]
    pub(super) fn rows(&self) -> usize {
        self.set_of_row.len()
    }

    /// Takes rows without a cell, until there are as many as `rows`.
    pub(super) fn fill(&mut self, rows: usize) {
        self.set_of_row.resize(rows, 0);
    }

    /// The sets, not all distinct, and for every row the index of its set.
    pub(super) fn finish(self) -> (Vec<NodeSet>, Vec<u32>) {
        (self.sets, self.set_of_row)
    }

    fn parse(&self, text: &str, at: impl FnOnce() -> Box<Place>) -> Result<NodeSet, DataError> {
        let mut set = NodeSet::empty(self.names.len());
        if trimmed(text).is_empty() {
            return Ok(set);
        }
        for part in text.split(TARGET_SEPARATOR) {
            let name = trimmed(part);
            match self.nodes.get(name) {
                Some(&node) if set.insert(node) => {}
                Some(_) => return Err(DataError::RepeatedTarget { at: at(), target: Excerpt::new(name) }),
                None if name.is_empty() => {
                    return Err(DataError::EmptyTarget { at: at(), text: Excerpt::new(text) });
                }
                None => return Err(self.unknown(name, at())),
            }
        }
        Ok(set)
    }

    fn unknown(&self, name: &str, at: Box<Place>) -> DataError {
        const NOBODY: [&str; 12] =
            ["na", "n/a", "nan", "none", "null", "nil", "-", "obs", "observational", "control", "no", "\"\""];
        let text = Excerpt::new(name);
        if NOBODY.contains(&name.to_lowercase().as_str()) {
            return DataError::NotATarget { at, text };
        }
        if name.parse::<f64>().is_ok() {
            return DataError::NumericTarget { at, text };
        }
        let suggestion =
            self.with_the_right_separator(name).or_else(|| closest(name, self.names).map(str::to_string));
        DataError::UnknownTarget { at, target: text, known: self.names.to_vec(), suggestion }
    }

    /// `a;b`, if the text is known names joined by another character.
    fn with_the_right_separator(&self, text: &str) -> Option<String> {
        [',', '|', '+', '&', '/', ' '].into_iter().find_map(|separator| {
            let parts: Vec<&str> = text.split(separator).map(trimmed).collect();
            let known = parts.len() > 1 && parts.iter().all(|part| self.nodes.contains_key(part));
            known.then(|| parts.join(";"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_become_sets() {
        let names = ["a b".to_string(), "c".to_string()];
        let mut column = TargetColumn::new(&names);
        for text in ["", "c", " a b ;c", "c;a b", "  ", "c"] {
            column.push(text, Place::default).unwrap();
        }
        column.fill(7);
        let (sets, rows) = column.finish();
        let of_rows: Vec<Vec<Node>> = rows.iter().map(|&k| sets[k as usize].iter().collect()).collect();
        assert_eq!(of_rows, [vec![], vec![1], vec![0, 1], vec![0, 1], vec![], vec![1], vec![]]);
    }
}
