//! Reads the campaign from its file: everything in force, as a plain value. Nothing here writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, Row as SqlRow};
use seabed::data::{TARGET_SEPARATOR, position};
use seabed::graph::Node;
use serde::de::DeserializeOwned;

use super::LabError;
use super::memory::Read;
use super::state::{Action, Experiment, Proposal, Record, Row, Source, State, Status};
use super::variables::Variables;

type Names<'a> = &'a [String];

/// Why the content of a file is not a campaign.
pub(super) enum Unreadable {
    Database(rusqlite::Error),
    Content(String),
    Lab(LabError),
}

impl From<rusqlite::Error> for Unreadable {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// The error as the user should see it.
pub(super) fn unreadable(path: &std::path::Path, error: Unreadable) -> LabError {
    match error {
        Unreadable::Database(error) => super::open::classify_sqlite_error(path, error),
        Unreadable::Content(problem) => LabError::Damaged { path: path.to_path_buf(), problem },
        Unreadable::Lab(error) => LabError::Damaged { path: path.to_path_buf(), problem: error.to_string() },
    }
}

/// As [`load`], after a look at the fingerprint of every action: a digit that changes on the disk is still a number. What was
/// read before, and looked at then, is taken over.
pub(super) fn load_as_written(connection: &Connection, before: Option<&Read>) -> Result<State, Unreadable> {
    let altered = match before {
        Some(before) => super::digest::altered(connection, before.kept())?,
        None => super::digest::altered(connection, &Vec::new())?,
    };
    match altered.first() {
        Some(action) => Err(Unreadable::Content(super::digest::problem(*action))),
        None => load(connection, before),
    }
}

/// Everything in force, and the history.
pub(super) fn load(connection: &Connection, before: Option<&Read>) -> Result<State, Unreadable> {
    let seed: i64 = connection.query_row("SELECT seed FROM campaign", [], |row| row.get(0))?;
    let actions = list(
        connection,
        "SELECT id, kind, what, at, note, undone, coalesce(who, '') FROM action \
         LEFT JOIN request ON request.action = action.id ORDER BY id",
        |row| {
            let (id, kind, what) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (at, note, undone, who) = (row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?);
            Ok(Action { id, kind, what, at, note, who, undone })
        },
    )?;
    let variables_text: String = connection.query_row(
        "SELECT text FROM variables JOIN action ON action.id = action WHERE undone IS NULL ORDER BY action DESC LIMIT 1",
        [],
        |row| row.get(0),
    )?;
    let variables =
        Variables::from_toml(&variables_text, "the variables of the campaign").map_err(Unreadable::Lab)?;
    let names = variables.names().clone();
    Ok(State {
        seed: seed as u64,
        sources: sources(connection, &names, before)?,
        proposals: proposals(connection, &names)?,
        experiments: experiments(connection, &names)?,
        actions,
        variables,
        variables_text,
    })
}

fn sources(
    connection: &Connection,
    names: Names<'_>,
    before: Option<&Read>,
) -> Result<Vec<Source>, Unreadable> {
    let found = list(
        connection,
        "SELECT source.id, action, file, sha256, rows, digest FROM source JOIN action ON action.id = action \
         WHERE undone IS NULL ORDER BY source.id",
        |row| {
            let id: i64 = row.get(0)?;
            let (action, file, sha256) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let rows: i64 = row.get(4)?;
            Ok((
                id,
                rows,
                row.get::<_, Option<String>>(5)?,
                Source { action, file, sha256, rows: Arc::default(), interventional: 0, incomplete: 0 },
            ))
        },
    )?;
    let mut sources = Vec::with_capacity(found.len());
    for (id, count, fingerprint, mut source) in found {
        match before.and_then(|before| before.source_of(source.action, &fingerprint)) {
            Some(known) => source = known,
            None => {
                let rows = measured(connection, id, names)?;
                source.interventional = rows.iter().filter(|row| !row.targets.is_empty()).count();
                source.incomplete = rows.iter().filter(|row| !row.is_complete()).count();
                source.rows = Arc::new(rows);
            }
        }
        if source.rows.len() as i64 != count {
            let problem = format!("{} rows of {} found, expected {count}", source.rows.len(), source.file);
            return Err(Unreadable::Content(problem));
        }
        sources.push(source);
    }
    Ok(sources)
}

/// The rows of a data file.
fn measured(connection: &Connection, source: i64, names: Names<'_>) -> Result<Vec<Row>, Unreadable> {
    let mut query =
        connection.prepare_cached("SELECT targets, cells FROM measured WHERE source = ?1 ORDER BY id")?;
    let mut found = query.query([source])?;
    let mut rows = Vec::new();
    while let Some(texts) = found.next()? {
        rows.push(row(&texts.get::<_, String>(0)?, &texts.get::<_, String>(1)?, names)?);
    }
    Ok(rows)
}

fn proposals(connection: &Connection, names: Names<'_>) -> Result<Vec<Proposal>, Unreadable> {
    let found = list(
        connection,
        "SELECT proposal.id, action, belief, wishes, designed FROM proposal JOIN action ON action.id = action \
         WHERE undone IS NULL ORDER BY proposal.id",
        |row| {
            let texts = (row.get::<_, String>(3)?, row.get::<_, String>(4)?);
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, texts))
        },
    )?;
    let proposal = |(id, action, belief, (request, designed)): (i64, i64, i64, (String, String))| {
        let mut wishes: serde_json::Value = parsed(&request, "proposal")?;
        if let Some(goal) = wishes.get_mut("goal") {
            by_name(goal, names);
        }
        let request = parsed(&wishes.to_string(), "proposal")?;
        Ok(Proposal { id, action, belief, request, designed: parsed(&designed, "proposal")? })
    };
    found.into_iter().map(proposal).collect()
}

/// A goal as it is written now, by names, from what earlier versions stored: `"everything"`, `{"edge": {"from": 0, "to": 2}}`.
fn by_name(goal: &mut serde_json::Value, names: Names<'_>) {
    if goal == "everything" {
        *goal = "".into();
    }
    let Some((kind, nodes)) = goal.as_object().and_then(|goal| goal.iter().next()) else { return };
    let keys: &[&str] = match kind.as_str() {
        "edge" => &["from", "to"],
        "effect" => &["of", "on"],
        _ => &["of"],
    };
    let name = |key: &&str| Some(names.get(nodes.get(key)?.as_u64()? as usize)?.as_str());
    let named: Option<Vec<&str>> = keys.iter().map(name).collect();
    *goal = named.map_or(String::new(), |named| format!("{kind}={}", named.join(","))).into();
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
            Ok((
                settings,
                Experiment { id, action, proposal, settings: Vec::new(), replicates, live, records },
            ))
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

/// The rows of a query.
pub(super) fn list<T>(
    connection: &Connection,
    sql: &str,
    read: impl FnMut(&SqlRow<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map([], read)?.collect()
}

fn parsed<T: DeserializeOwned>(text: &str, of: &str) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(|error| Unreadable::Content(format!("a stored {of}: {error}")))
}

fn node(name: &str, names: Names<'_>) -> Result<Node, Unreadable> {
    position(names, name)
        .ok_or_else(|| Unreadable::Content(format!("{name:?} is stored but is not a variable")))
}

fn row(targets: &str, cells: &str, names: Names<'_>) -> Result<Row, Unreadable> {
    let listed = targets.split(TARGET_SEPARATOR).filter(|name| !name.is_empty());
    let mut targets = listed.map(|name| node(name, names)).collect::<Result<Vec<_>, _>>()?;
    targets.sort_unstable();
    let cells: Vec<Option<f64>> = parsed(cells, "row")?;
    if cells.len() != names.len() {
        return Err(Unreadable::Content(format!(
            "a stored row has {} cells, not {}",
            cells.len(),
            names.len()
        )));
    }
    Ok(Row { targets, cells })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn goals_that_were_stored_by_number_are_read_by_name() {
        let names = ["a", "b", "c"].map(String::from);
        for (stored, read) in [
            (json!("everything"), ""),
            (json!({"edge": {"from": 0, "to": 2}}), "edge=a,c"),
            (json!({"effect": {"of": 1, "on": 0}}), "effect=b,a"),
            (json!({"parents": {"of": 1}}), "parents=b"),
            (json!({"parents": {"of": 7}}), ""),
            (json!("parents=b"), "parents=b"),
        ] {
            let mut goal = stored;
            super::by_name(&mut goal, &names);
            assert_eq!(goal, read);
        }
    }
}
