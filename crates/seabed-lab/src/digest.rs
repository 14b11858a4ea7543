//! A fingerprint of everything that an action wrote, and of what was learned, stored with it, so that changes on the disk are
//! noticed.

use std::collections::HashSet;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

/// Everything that an action writes. Only `undone` changes afterwards, and is sealed again.
const WRITTEN: [&str; 11] = [
    "SELECT kind, what, at, note FROM action WHERE id = ?1",
    "SELECT text FROM variables WHERE action = ?1",
    "SELECT id, file, sha256, rows FROM source WHERE action = ?1 ORDER BY id",
    "SELECT measured.id, targets, cells FROM measured JOIN source ON source.id = source WHERE action = ?1 ORDER BY measured.id",
    "SELECT id, wishes, designed FROM proposal WHERE action = ?1 ORDER BY id",
    "SELECT id, proposal, settings, replicates FROM experiment WHERE action = ?1 ORDER BY id",
    "SELECT id, experiment, replicate, status, targets, cells, file FROM record WHERE action = ?1 ORDER BY id",
    "SELECT undone FROM action WHERE id = ?1",
    "SELECT belief FROM proposal WHERE action = ?1 ORDER BY id",
    // The first action makes the campaign.
    "SELECT seed FROM campaign WHERE ?1 = 1",
    "SELECT who, key, content FROM request WHERE action = ?1",
];

/// Of these, what files of each version have fingerprints of.
const OF_VERSION: [usize; 4] = [0, 7, 10, 11];

/// Everything of a belief but its ensemble, which has checksums of its own.
const LEARNED: [&str; 1] = ["SELECT key, at, summary FROM belief WHERE id = ?1"];

/// Fingerprints what an action wrote, and stores the fingerprint.
pub(super) fn seal(connection: &Connection, action: i64) -> rusqlite::Result<()> {
    store(connection, action, &digest(connection, action, &WRITTEN)?)
}

fn store(connection: &Connection, action: i64, digest: &str) -> rusqlite::Result<()> {
    connection.execute("UPDATE action SET digest = ?2 WHERE id = ?1", (action, digest)).map(|_| ())
}

/// The actions with their fingerprints.
pub(super) type Kept = Vec<(i64, Option<String>)>;

/// All fingerprints together: they change whenever what was written does.
pub(super) fn of_all(kept: &Kept) -> String {
    let mut hash = Sha256::new();
    for (action, kept) in kept {
        hash.update(format!("{action} {}\n", kept.as_deref().unwrap_or("")));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The actions whose rows have changed since, of those that `seen` does not have with the same fingerprint.
pub(super) fn altered(connection: &Connection, seen: &Kept) -> rusqlite::Result<Vec<i64>> {
    let seen: HashSet<&(i64, Option<String>)> = seen.iter().collect();
    let mut altered = Vec::new();
    for action in kept(connection)? {
        if !seen.contains(&action) && action.1 != Some(digest(connection, action.0, &WRITTEN)?) {
            altered.push(action.0);
        }
    }
    Ok(altered)
}

/// Brings the fingerprints of a file of this version to those of the next; what had changed there still shows.
pub(super) fn seal_anew(connection: &Connection, version: usize) -> rusqlite::Result<()> {
    let (old, new) = (&WRITTEN[..OF_VERSION[version]], &WRITTEN[..OF_VERSION[version + 1]]);
    for (action, kept) in kept(connection)? {
        if kept == Some(digest(connection, action, old)?) {
            store(connection, action, &digest(connection, action, new)?)?;
        }
    }
    Ok(())
}

/// Fingerprints a belief, and stores the fingerprint.
pub(super) fn seal_belief(connection: &Connection, belief: i64) -> rusqlite::Result<()> {
    let digest = digest(connection, belief, &LEARNED)?;
    connection.execute("UPDATE belief SET digest = ?2 WHERE id = ?1", (belief, digest)).map(|_| ())
}

/// Gives the beliefs of a file of version 2 their fingerprints.
pub(super) fn seal_beliefs(connection: &Connection) -> rusqlite::Result<()> {
    let mut query = connection.prepare("SELECT id FROM belief")?;
    let all: Vec<i64> = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    all.into_iter().try_for_each(|belief| seal_belief(connection, belief))
}

/// Has a belief changed since it was learned?
pub(super) fn belief_is_altered(connection: &Connection, belief: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT digest FROM belief WHERE id = ?1";
    let kept: Option<String> = connection.query_row(sql, [belief], |row| row.get(0))?;
    Ok(kept != Some(digest(connection, belief, &LEARNED)?))
}

/// What is wrong with a belief that has changed.
pub(super) fn problem_of_belief(belief: i64) -> String {
    format!("the summary of belief {belief} was changed afterwards")
}

/// The actions with their fingerprints, as the file has them.
pub(super) fn kept(connection: &Connection) -> rusqlite::Result<Kept> {
    let mut query = connection.prepare_cached("SELECT id, digest FROM action ORDER BY id")?;
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// What is wrong with an action whose rows have changed.
pub(super) fn problem(action: i64) -> String {
    format!("the data of action {action} were changed afterwards")
}

fn digest(connection: &Connection, action: i64, written: &[&str]) -> rusqlite::Result<String> {
    let mut hash = Sha256::new();
    for sql in written {
        let mut query = connection.prepare_cached(sql)?;
        let columns = query.column_count();
        let mut rows = query.query([action])?;
        while let Some(row) = rows.next()? {
            for k in 0..columns {
                match row.get_ref(k)? {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => hash.update(bytes),
                    ValueRef::Integer(number) => hash.update(number.to_string()),
                    ValueRef::Real(number) => hash.update(number.to_string()),
                    ValueRef::Null => hash.update("null"),
                }
                // A separator that occurs in no value.
                hash.update([0x1f]);
            }
            hash.update([0x1e]);
        }
        hash.update([0x1d]);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_earlier_versions_are_sealed_anew_and_what_had_changed_still_shows() {
        let file = Connection::open_in_memory().unwrap();
        file.execute_batch(include_str!("schema.sql")).unwrap();
        file.execute_batch(
            "INSERT INTO campaign VALUES (1, 7);
             INSERT INTO action (kind, what, at, note, undone) VALUES
               ('new', '', 'monday', '', NULL), ('add', '', 'tuesday', '', 'friday'), ('add', '', 'friday', '', NULL);",
        )
        .unwrap();
        for action in 1..=3 {
            store(&file, action, &digest(&file, action, &WRITTEN[..OF_VERSION[1]]).unwrap()).unwrap();
        }
        file.execute_batch("UPDATE action SET note = 'edited' WHERE id = 3").unwrap();
        seal_anew(&file, 1).unwrap();
        file.execute_batch(include_str!("version_3.sql")).unwrap();
        assert_eq!(altered(&file, &Vec::new()).unwrap(), [1, 2, 3]);
        seal_anew(&file, 2).unwrap();
        assert_eq!(altered(&file, &Vec::new()).unwrap(), [3]);
        file.execute_batch("UPDATE campaign SET seed = 8; UPDATE action SET undone = NULL WHERE id = 2;")
            .unwrap();
        assert_eq!(altered(&file, &Vec::new()).unwrap(), [1, 2, 3]);
    }

    /// A file of version 2 gets the table of requests, and is sound.
    #[test]
    fn a_file_of_version_2_is_brought_to_today() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.lab");
        crate::Lab::create(&path, "[[variable]]\nname = \"a\"\n", 3, "a note").unwrap();
        let file = Connection::open(&path).unwrap();
        let old = digest(&file, 1, &WRITTEN[..OF_VERSION[2]]).unwrap();
        store(&file, 1, &old).unwrap();
        file.execute_batch(
            "DROP TABLE request; ALTER TABLE belief DROP COLUMN digest; PRAGMA user_version = 2;",
        )
        .unwrap();
        drop(file);
        let lab = crate::Lab::open(&path, std::time::Duration::ZERO).unwrap();
        assert_eq!(lab.check().unwrap(), Vec::<String>::new());
        let actions = &lab.state().unwrap().actions;
        assert_eq!((&*actions[0].note, &*actions[0].who), ("a note", ""));
    }
}
