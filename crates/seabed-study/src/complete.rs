//! When a run is complete: it has a mark, which is written after everything else, and its tables are still those that the
//! mark was written for.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;

use seabed::evaluate::MetricRow;
use seabed::num::fingerprint;
use serde::{Deserialize, Serialize};

use super::StudyError;
use super::config::Config;
use super::folder::RunFolder;

/// The file of the mark.
pub(crate) const MARK: &str = "complete.json";

/// The tables that a complete run has.
const TABLES: [&str; 5] = ["truth.csv", "interventions.csv", "data.csv", "events.jsonl", "metrics.csv"];

#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// Batches of experiments.
    rounds: usize,
    /// Rows of `data.csv`, observations and outcomes.
    rows: usize,
    /// The fingerprints of the tables.
    tables: BTreeMap<String, String>,
}

impl RunFolder {
    /// The rows of `metrics.csv` if the run is complete. Without a mark, as versions left it that wrote none, it is
    /// complete if its data have all the rows of its rounds.
    pub fn complete(&self, config: &Config) -> Result<Option<Vec<MetricRow>>, StudyError> {
        let rows = self.metrics()?;
        let whole = rows.len() == config.rounds + 1
            && match self.mark() {
                Some(mark) => {
                    mark.rounds == config.rounds && self.tables().is_some_and(|tables| tables == mark.tables)
                }
                None => {
                    !self.path().join(MARK).exists()
                        && self.data_rows() == self.expected_rows(config.rounds, config.world.observations)?
                }
            };
        Ok(whole.then_some(rows))
    }

    /// Does the run have its mark?
    pub(crate) fn is_marked(&self) -> bool {
        self.mark().is_some()
    }

    /// Marks the run, whose tables are all written, as complete; `rows` is what its data should have.
    pub(crate) fn write_mark(&self, rounds: usize, rows: usize) -> Result<(), StudyError> {
        let changed = || StudyError::Folder {
            path: self.path().to_path_buf(),
            problem: "a table changed while the run was working; start the same command again".into(),
        };
        let tables = self.tables().ok_or_else(changed)?;
        if self.data_rows() != Some(rows) {
            return Err(changed());
        }
        let mark = Mark { rounds, rows, tables };
        self.write_json(MARK, &mark)
    }

    /// The run goes on, so it is not complete.
    pub(crate) fn remove_mark(&self) -> Result<(), StudyError> {
        let path = self.path().join(MARK);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StudyError::file(&path)(error)),
            _ => Ok(()),
        }
    }

    fn mark(&self) -> Option<Mark> {
        serde_json::from_slice(&fs::read(self.path().join(MARK)).ok()?).ok()
    }

    /// The fingerprints of the tables; none if one is missing.
    fn tables(&self) -> Option<BTreeMap<String, String>> {
        let known = |table: &str| {
            let bytes = fs::read(self.path().join(table)).ok()?;
            Some((table.to_string(), format!("{:016x}", fingerprint::of_bytes(bytes))))
        };
        TABLES.into_iter().map(known).collect()
    }

    /// Observations, and the outcomes of all rounds.
    fn expected_rows(&self, rounds: usize, observations: usize) -> Result<Option<usize>, StudyError> {
        let mut rows = observations;
        for round in 0..rounds {
            let Some(outcomes) = self.outcomes(round)? else { return Ok(None) };
            rows += outcomes.rows();
        }
        Ok(Some(rows))
    }
}
