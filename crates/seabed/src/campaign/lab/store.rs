//! The campaign in its file: all SQL but that of making and opening it.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, Transaction, TransactionBehavior, params};
use serde::de::DeserializeOwned;

use super::propose::Wishes;
use super::state::{Action, Experiment, Proposal, Record, Row, Source, State, Status};
use super::variables::Variables;
use super::{Lab, LabError};
use crate::campaign::Designed;
use crate::data::{TARGET_SEPARATOR, position};
use crate::graph::Node;

/// A transaction of one action.
pub(super) struct Change<'c> {
    transaction: Transaction<'c>,
    lab: std::path::PathBuf,
}

type Names<'a> = &'a [String];

impl Lab {
    /// What is in force now.
    pub fn state(&self) -> Result<State, LabError> {
        let read = || {
            // One view of the file, whatever others write meanwhile.
            let view = self.connection.unchecked_transaction()?;
            load(&view)
        };
        read().map_err(|error| self.unreadable(error))
    }

    /// Does `work` in one transaction that nobody else can come between; an error leaves everything as it was.
    pub(super) fn change<T>(
        &mut self,
        work: impl FnOnce(&Change<'_>, &State) -> Result<T, LabError>,
    ) -> Result<T, LabError> {
        let lab = self.path.clone();
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = match begun {
            Ok(transaction) => transaction,
            Err(error) => return Err(super::door::understood(&lab, error)),
        };
        let change = Change { transaction, lab };
        let state = load(&change.transaction).map_err(|error| unreadable(&change.lab, error))?;
        let done = work(&change, &state)?;
        let Change { transaction, lab } = change;
        transaction.commit().map_err(|error| super::door::understood(&lab, error))?;
        Ok(done)
    }

    /// A stored belief: its number, its summary, its ensemble.
    pub(super) fn belief(&self, key: &str) -> Result<Option<(i64, String, Vec<u8>)>, LabError> {
        let sql = "SELECT id, summary, ensemble FROM belief WHERE key = ?1";
        let found = self.connection.query_row(sql, [key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        found.optional().map_err(|error| self.failed(error))
    }

    /// The summary and the ensemble of a belief by its number.
    pub(super) fn belief_numbered(&self, id: i64) -> Result<(String, Vec<u8>), LabError> {
        let sql = "SELECT summary, ensemble FROM belief WHERE id = ?1";
        let found = self.connection.query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)));
        found.map_err(|error| self.failed(error))
    }

    /// All beliefs: number, summary, ensemble.
    pub(super) fn beliefs(&self) -> Result<Vec<(i64, String, Vec<u8>)>, LabError> {
        let sql = "SELECT id, summary, ensemble FROM belief ORDER BY id";
        list(&self.connection, sql, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(|error| self.failed(error))
    }

    /// Keeps a belief; what was kept of the unfinished fit is no longer needed.
    pub(super) fn keep_belief(
        &mut self,
        key: &str,
        at: &str,
        summary: &str,
        ensemble: &[u8],
    ) -> Result<i64, LabError> {
        let kept = (|| {
            let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            change.execute(
                "INSERT INTO belief (key, at, summary, ensemble) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                params![key, at, summary, ensemble],
            )?;
            change.execute("DELETE FROM unfinished WHERE key = ?1", [key])?;
            let id = change.query_row("SELECT id FROM belief WHERE key = ?1", [key], |row| row.get(0))?;
            change.commit()?;
            Ok(id)
        })();
        kept.map_err(|error| self.failed(error))
    }

    /// How far an interrupted fit came.
    pub(super) fn unfinished(&self, key: &str) -> Result<Option<String>, LabError> {
        let sql = "SELECT state FROM unfinished WHERE key = ?1";
        let found = self.connection.query_row(sql, [key], |row| row.get(0)).optional();
        found.map_err(|error| self.failed(error))
    }

    /// Keeps how far a fit has come.
    pub(super) fn keep_unfinished(&self, key: &str, state: &str) -> Result<(), LabError> {
        let sql = "INSERT INTO unfinished VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET state = excluded.state";
        self.connection.execute(sql, [key, state]).map(|_| ()).map_err(|error| self.failed(error))
    }

    /// Everything that can be checked: the file, the references, and that all of it can be read.
    pub fn check(&self) -> Result<Vec<String>, LabError> {
        let mut problems = self.problems("integrity_check").map_err(|error| self.failed(error))?;
        let broken = self.problems("foreign_key_check").map_err(|error| self.failed(error))?;
        problems.extend(broken.into_iter().map(|table| format!("a row of {table} refers to nothing")));
        match self.state() {
            Err(LabError::Damaged { problem, .. }) => problems.push(problem),
            Err(other) => return Err(other),
            Ok(state) => problems.extend(inconsistencies(&state)),
        }
        for (id, summary, ensemble) in self.beliefs()? {
            if serde_json::from_str::<super::BeliefSummary>(&summary).is_err() {
                problems.push(format!("the summary of belief {id} cannot be read"));
            }
            if let Err(error) = crate::scm::Ensemble::from_bytes(&ensemble, &format!("belief {id}")) {
                problems.push(error.to_string());
            }
        }
        Ok(problems)
    }

    fn unreadable(&self, error: Unreadable) -> LabError {
        unreadable(&self.path, error)
    }
}

/// What cannot be, however the file came about.
fn inconsistencies(state: &State) -> Vec<String> {
    let mut problems = Vec::new();
    let variables = state.variables.names().len();
    if state.rows().any(|row| row.cells.len() != variables) {
        problems.push(format!("a row has not {variables} cells, one a variable"));
    }
    for experiment in &state.experiments {
        let known = |id: i64| state.proposals.iter().any(|proposal| proposal.id == id);
        if experiment.live && experiment.proposal.is_some_and(|id| !known(id)) {
            problems.push(format!("experiment {} is in force, its proposal is not", experiment.id));
        }
        if !experiment.live && !experiment.records.is_empty() {
            problems.push(format!("experiment {} is not in force, but a record of it is", experiment.id));
        }
    }
    problems
}

impl Change<'_> {
    fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<i64, LabError> {
        let done = self.transaction.prepare_cached(sql).and_then(|mut sql| sql.execute(values));
        done.map_err(|error| super::door::understood(&self.lab, error))?;
        Ok(self.transaction.last_insert_rowid())
    }

    pub(super) fn action(&self, kind: &str, what: &str, at: &str, note: &str) -> Result<i64, LabError> {
        self.run(
            "INSERT INTO action (kind, what, at, note) VALUES (?1, ?2, ?3, ?4)",
            params![kind, what, at, note],
        )
    }

    pub(super) fn undo(&self, action: i64, at: &str) -> Result<(), LabError> {
        self.run("UPDATE action SET undone = ?2 WHERE id = ?1", params![action, at]).map(|_| ())
    }

    pub(super) fn source(&self, action: i64, source: &Source, names: Names<'_>) -> Result<(), LabError> {
        let id = self.run(
            "INSERT INTO source (action, file, sha256, rows) VALUES (?1, ?2, ?3, ?4)",
            params![action, source.file, source.sha256, source.rows.len() as i64],
        )?;
        for row in &source.rows {
            self.run(
                "INSERT INTO measured (source, targets, cells) VALUES (?1, ?2, ?3)",
                params![id, targets_text(&row.targets, names), cells_text(&row.cells)],
            )?;
        }
        Ok(())
    }

    pub(super) fn proposal(
        &self,
        action: i64,
        belief: i64,
        wishes: &Wishes,
        designed: &Designed,
    ) -> Result<i64, LabError> {
        self.run(
            "INSERT INTO proposal (action, belief, wishes, designed) VALUES (?1, ?2, ?3, ?4)",
            params![action, belief, json(wishes), json(designed)],
        )
    }

    pub(super) fn experiment(
        &self,
        action: i64,
        proposal: Option<i64>,
        settings: &[(Node, f64)],
        replicates: u32,
        names: Names<'_>,
    ) -> Result<i64, LabError> {
        let settings: Vec<(&str, f64)> =
            settings.iter().map(|&(node, value)| (names[node].as_str(), value)).collect();
        self.run(
            "INSERT INTO experiment (action, proposal, settings, replicates) VALUES (?1, ?2, ?3, ?4)",
            params![action, proposal, json(&settings), replicates],
        )
    }

    pub(super) fn record(
        &self,
        record: &Record,
        experiment: i64,
        replicate: u32,
        names: Names<'_>,
    ) -> Result<i64, LabError> {
        let Record { action, status, row, file } = record;
        let (targets, cells) = (targets_text(&row.targets, names), cells_text(&row.cells));
        self.run(
            "INSERT INTO record (action, experiment, replicate, status, targets, cells, file) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![action, experiment, replicate, status.name(), targets, cells, file],
        )
    }
}

/// Why the content of a file is not a campaign.
enum Unreadable {
    Database(rusqlite::Error),
    Content(String),
    Lab(LabError),
}

impl From<rusqlite::Error> for Unreadable {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

fn unreadable(path: &std::path::Path, error: Unreadable) -> LabError {
    match error {
        Unreadable::Database(error) => super::door::understood(path, error),
        Unreadable::Content(problem) => LabError::Damaged { path: path.to_path_buf(), problem },
        Unreadable::Lab(error) => LabError::Damaged { path: path.to_path_buf(), problem: error.to_string() },
    }
}

fn load(connection: &Connection) -> Result<State, Unreadable> {
    let seed: i64 = connection.query_row("SELECT seed FROM campaign", [], |row| row.get(0))?;
    let actions = list(
        connection,
        "SELECT id, kind, what, at, note, undone FROM action ORDER BY id",
        |row| {
            let (id, kind, what) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Action { id, kind, what, at: row.get(3)?, note: row.get(4)?, undone: row.get(5)? })
        },
    )?;
    let variables_text: String = connection.query_row(
        "SELECT text FROM variables JOIN action ON action.id = action WHERE undone IS NULL ORDER BY action DESC LIMIT 1",
        [],
        |row| row.get(0),
    )?;
    let variables = Variables::from_toml(&variables_text, "the variables of the campaign").map_err(Unreadable::Lab)?;
    let names = variables.names().clone();
    Ok(State {
        seed: seed as u64,
        sources: sources(connection, &names)?,
        proposals: proposals(connection)?,
        experiments: experiments(connection, &names)?,
        actions,
        variables,
        variables_text,
    })
}

fn sources(connection: &Connection, names: Names<'_>) -> Result<Vec<Source>, Unreadable> {
    let found = list(
        connection,
        "SELECT source.id, action, file, sha256, rows FROM source JOIN action ON action.id = action \
         WHERE undone IS NULL ORDER BY source.id",
        |row| {
            let id: i64 = row.get(0)?;
            let (action, file, sha256) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let rows: i64 = row.get(4)?;
            Ok((id, rows, Source { action, file, sha256, rows: Vec::new() }))
        },
    )?;
    let mut rows: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
    let texts = list(
        connection,
        "SELECT source, targets, cells FROM measured JOIN source ON source.id = source \
         JOIN action ON action.id = action WHERE undone IS NULL ORDER BY measured.id",
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)),
    )?;
    for (source, targets, cells) in texts {
        rows.entry(source).or_default().push(row(&targets, &cells, names)?);
    }
    let mut sources = Vec::with_capacity(found.len());
    for (id, count, mut source) in found {
        source.rows = rows.remove(&id).unwrap_or_default();
        if source.rows.len() as i64 != count {
            let problem = format!("{} rows of {} are there, not {count}", source.rows.len(), source.file);
            return Err(Unreadable::Content(problem));
        }
        sources.push(source);
    }
    Ok(sources)
}

fn proposals(connection: &Connection) -> Result<Vec<Proposal>, Unreadable> {
    let found = list(
        connection,
        "SELECT proposal.id, action, belief, wishes, designed FROM proposal JOIN action ON action.id = action \
         WHERE undone IS NULL ORDER BY proposal.id",
        |row| {
            let texts = (row.get::<_, String>(3)?, row.get::<_, String>(4)?);
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, texts))
        },
    )?;
    let proposal = |(id, action, belief, (wishes, designed)): (i64, i64, i64, (String, String))| {
        let (wishes, designed) = (parsed(&wishes, "proposal")?, parsed(&designed, "proposal")?);
        Ok(Proposal { id, action, belief, wishes, designed })
    };
    found.into_iter().map(proposal).collect()
}

fn experiments(connection: &Connection, names: Names<'_>) -> Result<Vec<Experiment>, Unreadable> {
    let found = list(
        connection,
        "SELECT experiment.id, action, proposal, settings, replicates, undone IS NULL FROM experiment \
         JOIN action ON action.id = action ORDER BY experiment.id",
        |row| {
            let settings: String = row.get(3)?;
            let (id, action, proposal) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (replicates, live, records) = (row.get(4)?, row.get(5)?, BTreeMap::new());
            Ok((settings, Experiment { id, action, proposal, settings: Vec::new(), replicates, live, records }))
        },
    )?;
    let mut experiments = Vec::with_capacity(found.len());
    for (settings, mut experiment) in found {
        let settings: Vec<(String, f64)> = parsed(&settings, "experiment")?;
        let with_node = |(name, value): (String, f64)| Ok((node(&name, names)?, value));
        experiment.settings = settings.into_iter().map(with_node).collect::<Result<_, Unreadable>>()?;
        experiments.push(experiment);
    }
    let records = list(
        connection,
        "SELECT experiment, replicate, action, status, targets, cells, file FROM record \
         JOIN action ON action.id = action WHERE undone IS NULL ORDER BY record.id",
        |row| {
            let texts: [String; 4] = [row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?];
            Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?, row.get::<_, i64>(2)?, texts))
        },
    )?;
    for (id, replicate, action, [status, targets, cells, file]) in records {
        let unknown = || Unreadable::Content(format!("a record of experiment {id} cannot be read"));
        let at = experiments.binary_search_by_key(&id, |experiment| experiment.id).map_err(|_| unknown())?;
        let status = Status::named(&status).ok_or_else(unknown)?;
        let record = Record { action, status, row: row(&targets, &cells, names)?, file };
        experiments[at].records.entry(replicate).or_default().push(record);
    }
    Ok(experiments)
}

fn list<T>(
    connection: &Connection,
    sql: &str,
    read: impl FnMut(&SqlRow<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map([], read)?.collect()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("numbers, texts and lists")
}

fn parsed<T: DeserializeOwned>(text: &str, of: &str) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(|error| Unreadable::Content(format!("a stored {of}: {error}")))
}

fn node(name: &str, names: Names<'_>) -> Result<Node, Unreadable> {
    position(names, name).ok_or_else(|| Unreadable::Content(format!("{name:?} is stored, but not a variable")))
}

fn row(targets: &str, cells: &str, names: Names<'_>) -> Result<Row, Unreadable> {
    let listed = targets.split(TARGET_SEPARATOR).filter(|name| !name.is_empty());
    let mut targets = listed.map(|name| node(name, names)).collect::<Result<Vec<_>, _>>()?;
    targets.sort_unstable();
    let cells: Vec<Option<f64>> = parsed(cells, "row")?;
    if cells.len() != names.len() {
        return Err(Unreadable::Content(format!("a row of {} cells is stored, not {}", cells.len(), names.len())));
    }
    Ok(Row { targets, cells })
}

/// Names joined by `;`.
pub(super) fn targets_text(targets: &[Node], names: Names<'_>) -> String {
    let names: Vec<&str> = targets.iter().map(|&node| names[node].as_str()).collect();
    names.join(&TARGET_SEPARATOR.to_string())
}

fn cells_text(cells: &[Option<f64>]) -> String {
    json(&cells)
}
