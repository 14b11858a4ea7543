//! All cells and rows of a file that cannot be used: the first ten are listed, the others counted.

use super::error::DataError;
use super::wording::Place;

/// How many are listed.
const LISTED: usize = 10;

/// How many different remedies are told.
const REMEDIES: usize = 3;

/// What was found wrong so far.
#[derive(Default)]
pub(super) struct Problems {
    first: Vec<DataError>,
    count: usize,
}

impl Problems {
    pub(super) fn take(&mut self, problem: DataError) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push(problem);
        }
    }

    /// The problem if there was one, all of them if there were several.
    pub(super) fn result(mut self, file: &str) -> Result<(), DataError> {
        match self.count {
            0 => Ok(()),
            1 => Err(self.first.remove(0)),
            count => Err(DataError::Several { file: file.to_string(), first: self.first, count }),
        }
    }
}

/// The message of [`DataError::Several`]: one line each, and what to do about them at the end.
pub(super) fn listed(file: &str, first: &[DataError], count: usize) -> String {
    let mut lines = vec![format!("{file}: {count} cells or rows cannot be used:")];
    let mut remedies: Vec<String> = Vec::new();
    for problem in first {
        let (place, what, remedy) = problem.parts();
        let place = Place { file: None, ..place };
        lines.push(format!("  {place}: {what}"));
        if remedies.len() < REMEDIES && !remedy.is_empty() && !remedies.contains(&remedy) {
            remedies.push(remedy);
        }
    }
    if count > first.len() {
        lines.push(format!("  … and {} more", count - first.len()));
    }
    lines.extend(remedies);
    lines.join("\n")
}
