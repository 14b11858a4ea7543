//! Writes the campaign to its file: every change, the beliefs, and the check of the whole file. Reading is in `load`.

use std::cell::RefCell;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use seabed::data::TARGET_SEPARATOR;
use seabed::design::DesignRecord;
use seabed::graph::Node;
use seabed::observer::{Observer, Progress};

use super::load::{Unreadable, list, load, unreadable};
use super::memory::Memory;
use super::propose::ProposalRequest;
use super::signature::Signature;
use super::state::{Record, Source, State};
use super::{Lab, LabError, digest};

/// Rows that are written before the observer is asked.
const ROWS_AT_ONCE: usize = 1000;

/// A transaction of one action.
pub(super) struct Change<'c> {
    transaction: Transaction<'c>,
    lab: std::path::PathBuf,
    /// When it happens: never before the actions so far.
    now: String,
    signature: &'c Signature,
}

/// The campaign as it was last read.
pub(super) struct Seen {
    /// SQLite's count of what others committed; none if the file must be looked at in any case.
    version: Option<i64>,
    /// Of all actions.
    digest: String,
    state: Arc<State>,
}

/// What [`Lab::version`] said last, with SQLite's count of what others had committed.
pub(super) type Told = (i64, String);

fn data_version(view: &Connection) -> rusqlite::Result<i64> {
    view.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// What is in force, read only if it is not what was seen last.
fn present(
    view: &Connection,
    seen: &RefCell<Option<Seen>>,
    memory: &Memory,
) -> Result<Arc<State>, Unreadable> {
    let version = data_version(view)?;
    let mut seen = seen.borrow_mut();
    if let Some(seen) = seen.as_ref().filter(|seen| seen.version == Some(version)) {
        return Ok(seen.state.clone());
    }
    // Others may have stored beliefs only.
    let kept = digest::kept(view)?;
    let digest = digest::of_all(&kept);
    if let Some(seen) = seen.as_mut().filter(|seen| seen.digest == digest) {
        seen.version = Some(version);
        return Ok(seen.state.clone());
    }
    let state = memory.state(view, kept)?;
    *seen = Some(Seen { version: Some(version), digest, state: state.clone() });
    Ok(state)
}

type Names<'a> = &'a [String];

impl Lab {
    /// What is in force now, as it was written: a file that was changed or damaged since is refused. It is read again only
    /// after somebody has changed the campaign.
    pub fn state(&self) -> Result<Arc<State>, LabError> {
        let read = || {
            // A consistent view of the file, whatever others write meanwhile.
            let view = self.connection.unchecked_transaction()?;
            present(&view, &self.seen, &self.memory)
        };
        read().map_err(|error| unreadable(&self.path, error))
    }

    /// Changes whenever the campaign or its beliefs do, and costs little to ask for.
    pub fn version(&self) -> Result<String, LabError> {
        let read = || {
            let view = self.connection.unchecked_transaction()?;
            let version = data_version(&view)?;
            let mut told = self.told.borrow_mut();
            if let Some((_, told)) = told.as_ref().filter(|(known, _)| *known == version) {
                return Ok(told.clone());
            }
            let written = digest::of_all(&digest::kept(&view)?);
            // The same belief may get graphs later.
            let sql = "SELECT count(*), coalesce(max(id), 0), coalesce(sum(length(ensemble)), 0) FROM belief";
            let beliefs: [i64; 3] =
                view.query_row(sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
            let now = format!("{}-{}-{}-{}", &written[..16], beliefs[0], beliefs[1], beliefs[2]);
            *told = Some((version, now.clone()));
            Ok(now)
        };
        read().map_err(|error| self.failed(error))
    }

    /// Can the file only be read?
    pub fn is_read_only(&self) -> bool {
        self.copy.is_some()
    }

    /// Does `work` in one exclusive transaction; an error leaves everything as it was.
    pub(super) fn change<T>(
        &mut self,
        work: impl FnOnce(&Change<'_>, &State) -> Result<T, LabError>,
    ) -> Result<T, LabError> {
        let done = self.committed(work)?;
        self.settle();
        Ok(done)
    }

    fn committed<T>(
        &mut self,
        work: impl FnOnce(&Change<'_>, &State) -> Result<T, LabError>,
    ) -> Result<T, LabError> {
        let lab = self.path.clone();
        if self.copy.is_some() {
            return Err(LabError::ReadOnly { path: lab });
        }
        let Self { connection, signature, seen, memory, told, .. } = self;
        // The own changes of a connection do not count for it.
        *told.get_mut() = None;
        let started = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = started.map_err(|error| super::open::classify_sqlite_error(&lab, error))?;
        let earlier = signature.earlier(&transaction);
        if let Some(earlier) = earlier.map_err(|error| super::open::classify_sqlite_error(&lab, error))? {
            return Err(earlier.refusal());
        }
        let state = present(&transaction, seen, memory).map_err(|error| unreadable(&lab, error))?;
        let times = state.actions.iter().flat_map(|action| [Some(&action.at), action.undone.as_ref()]);
        let now = super::time::now_after(times.flatten().max().map_or("", String::as_str));
        let change = Change { transaction, lab, now, signature };
        let done = work(&change, &state)?;
        let Change { transaction, lab, .. } = change;
        let sealed =
            transaction.query_row("SELECT max(id) FROM action", [], |row| row.get(0)).and_then(|newest| {
                let fresh = state.actions.last().is_none_or(|action| action.id < newest);
                if fresh { digest::seal(&transaction, newest) } else { Ok(()) }
            });
        sealed.map_err(|error| super::open::classify_sqlite_error(&lab, error))?;
        transaction.commit().map_err(|error| super::open::classify_sqlite_error(&lab, error))?;
        if let Some(seen) = seen.get_mut() {
            seen.version = None;
        }
        Ok(done)
    }

    /// Brings what is committed from the log into the file itself, so that a copy of the file alone has it. Readers may be in
    /// the way; then the next change does it, or the last one who closes the file.
    fn settle(&self) {
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    }

    /// A stored belief: its number, its summary, its ensemble.
    pub(super) fn belief(&self, key: &str) -> Result<Option<(i64, String, Vec<u8>)>, LabError> {
        let sql = "SELECT id, summary, ensemble FROM belief WHERE key = ?1";
        let found = self.connection.query_row(sql, [key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let found: Option<(i64, _, _)> = found.optional().map_err(|error| self.failed(error))?;
        found.as_ref().map_or(Ok(()), |(id, _, _)| self.check_belief(*id))?;
        Ok(found)
    }

    /// Refuses a belief that was changed since it was learned.
    fn check_belief(&self, id: i64) -> Result<(), LabError> {
        if digest::belief_is_altered(&self.connection, id).map_err(|error| self.failed(error))? {
            let problem = digest::problem_of_belief(id);
            return Err(LabError::Damaged { path: self.path.clone(), problem });
        }
        Ok(())
    }

    /// The summary of a belief by its number; its ensemble may have megabytes.
    pub(super) fn summary_numbered(&self, id: i64) -> Result<String, LabError> {
        let sql = "SELECT summary FROM belief WHERE id = ?1";
        self.connection.query_row(sql, [id], |row| row.get(0)).map_err(|error| self.failed(error))
    }

    /// The summary and the ensemble of a belief by its number.
    pub(super) fn belief_numbered(&self, id: i64) -> Result<(String, Vec<u8>), LabError> {
        let sql = "SELECT summary, ensemble FROM belief WHERE id = ?1";
        let found = self.connection.query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)));
        let found = found.map_err(|error| self.failed(error))?;
        self.check_belief(id)?;
        Ok(found)
    }

    /// The number of the belief that was stored last.
    pub(super) fn newest_belief_number(&self) -> Result<Option<i64>, LabError> {
        let found = self.connection.query_row("SELECT max(id) FROM belief", [], |row| row.get(0));
        found.map_err(|error| self.failed(error))
    }

    /// All beliefs: number, summary, ensemble.
    pub(super) fn beliefs(&self) -> Result<Vec<(i64, String, Vec<u8>)>, LabError> {
        let sql = "SELECT id, summary, ensemble FROM belief ORDER BY id";
        list(&self.connection, sql, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(|error| self.failed(error))
    }

    /// Stores a belief, in the place of the same one without graphs; the state of its unfinished fit is no longer needed.
    pub(super) fn store_belief(
        &mut self,
        key: &str,
        at: &str,
        summary: &str,
        ensemble: &[u8],
    ) -> Result<i64, LabError> {
        *self.told.get_mut() = None;
        let kept = (|| {
            let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            change.execute(
                "INSERT INTO belief (key, at, summary, ensemble) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (key) DO UPDATE SET summary = excluded.summary, ensemble = excluded.ensemble",
                params![key, at, summary, ensemble],
            )?;
            change.execute("DELETE FROM unfinished WHERE key = ?1", [key])?;
            let id = change.query_row("SELECT id FROM belief WHERE key = ?1", [key], |row| row.get(0))?;
            digest::seal_belief(&change, id)?;
            change.commit()?;
            Ok(id)
        })();
        self.settle();
        kept.map_err(|error| self.failed(error))
    }

    /// The state of an interrupted fit.
    pub(super) fn unfinished(&self, key: &str) -> Result<Option<String>, LabError> {
        let sql = "SELECT state FROM unfinished WHERE key = ?1";
        let found = self.connection.query_row(sql, [key], |row| row.get(0)).optional();
        found.map_err(|error| self.failed(error))
    }

    /// Stores the state of an unfinished fit.
    pub(super) fn store_unfinished(&self, key: &str, state: &str) -> Result<(), LabError> {
        let sql =
            "INSERT INTO unfinished VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET state = excluded.state";
        self.connection.execute(sql, [key, state]).map(|_| ()).map_err(|error| self.failed(error))
    }

    /// Checks everything: the file, the references, and that all content can be read.
    pub fn check(&self) -> Result<Vec<String>, LabError> {
        let mut problems = self.problems("integrity_check").map_err(|error| self.failed(error))?;
        let broken = self.problems("foreign_key_check").map_err(|error| self.failed(error))?;
        problems.extend(broken.into_iter().map(|table| format!("a row of {table} has a dangling reference")));
        let altered = digest::altered(&self.connection, &Vec::new()).map_err(|error| self.failed(error))?;
        problems.extend(altered.into_iter().map(digest::problem));
        match load(&self.connection, None).map_err(|error| unreadable(&self.path, error)) {
            Err(LabError::Damaged { problem, .. }) => problems.push(problem),
            Err(other) => return Err(other),
            Ok(state) => problems.extend(inconsistencies(&state)),
        }
        for (id, summary, ensemble) in self.beliefs()? {
            if digest::belief_is_altered(&self.connection, id).map_err(|error| self.failed(error))? {
                problems.push(digest::problem_of_belief(id));
            } else if serde_json::from_str::<super::BeliefSummary>(&summary).is_err() {
                problems.push(format!("the summary of belief {id} cannot be read"));
            }
            if let Err(error) = seabed::belief::from_bytes(&ensemble, &format!("belief {id}")) {
                problems.push(error.to_string());
            }
        }
        Ok(problems)
    }
}

/// Inconsistencies that no sequence of commands can cause.
fn inconsistencies(state: &State) -> Vec<String> {
    let mut problems = Vec::new();
    let variables = state.variables.names().len();
    if state.rows().any(|row| row.cells.len() != variables) {
        problems.push(format!("a row does not have {variables} cells, one per variable"));
    }
    for experiment in &state.experiments {
        let known = |id: i64| state.proposals.iter().any(|proposal| proposal.id == id);
        if experiment.live && experiment.proposal.is_some_and(|id| !known(id)) {
            problems.push(format!("experiment {} is in force, but its proposal is not", experiment.id));
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
        done.map_err(|error| super::open::classify_sqlite_error(&self.lab, error))?;
        Ok(self.transaction.last_insert_rowid())
    }

    pub(super) fn action(&self, kind: &str, what: &str, note: &str) -> Result<i64, LabError> {
        let action = self.run(
            "INSERT INTO action (kind, what, at, note) VALUES (?1, ?2, ?3, ?4)",
            params![kind, what, self.now, note],
        )?;
        let signed = self.signature.store(&self.transaction, action);
        signed.map_err(|error| super::open::classify_sqlite_error(&self.lab, error))?;
        Ok(action)
    }

    pub(super) fn undo(&self, action: i64) -> Result<(), LabError> {
        self.run("UPDATE action SET undone = ?2 WHERE id = ?1", params![action, self.now])?;
        digest::seal(&self.transaction, action)
            .map_err(|error| super::open::classify_sqlite_error(&self.lab, error))
    }

    pub(super) fn source(
        &self,
        action: i64,
        source: &Source,
        names: Names<'_>,
        observer: &dyn Observer,
    ) -> Result<(), LabError> {
        let id = self.run(
            "INSERT INTO source (action, file, sha256, rows) VALUES (?1, ?2, ?3, ?4)",
            params![action, source.file, source.sha256, source.rows.len() as i64],
        )?;
        let all = source.rows.len() as u64;
        for (done, row) in source.rows.iter().enumerate() {
            let progress = Progress { done: done as u64, all, what: format_args!("rows kept") };
            if done % ROWS_AT_ONCE == 0 && !observer.progress(&progress) {
                return Err(LabError::Stopped);
            }
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
        request: &ProposalRequest,
        designed: &DesignRecord,
    ) -> Result<i64, LabError> {
        self.run(
            "INSERT INTO proposal (action, belief, wishes, designed) VALUES (?1, ?2, ?3, ?4)",
            params![action, belief, json(request), json(designed)],
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

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("numbers, texts and lists")
}

/// Names joined by `;`.
pub(super) fn targets_text(targets: &[Node], names: Names<'_>) -> String {
    let names: Vec<&str> = targets.iter().map(|&node| names[node].as_str()).collect();
    names.join(&TARGET_SEPARATOR.to_string())
}

fn cells_text(cells: &[Option<f64>]) -> String {
    json(&cells)
}
