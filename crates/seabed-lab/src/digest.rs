//! A fingerprint of everything that an action wrote, stored with it, so that changes on the disk are noticed.

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

/// Everything that an action writes and that never changes afterwards.
const WRITTEN: [&str; 7] = [
    "SELECT kind, what, at, note FROM action WHERE id = ?1",
    "SELECT text FROM variables WHERE action = ?1",
    "SELECT id, file, sha256, rows FROM source WHERE action = ?1 ORDER BY id",
    "SELECT measured.id, targets, cells FROM measured JOIN source ON source.id = source WHERE action = ?1 ORDER BY measured.id",
    "SELECT id, wishes, designed FROM proposal WHERE action = ?1 ORDER BY id",
    "SELECT id, proposal, settings, replicates FROM experiment WHERE action = ?1 ORDER BY id",
    "SELECT id, experiment, replicate, status, targets, cells, file FROM record WHERE action = ?1 ORDER BY id",
];

/// Fingerprints what an action wrote, and stores the fingerprint.
pub(super) fn seal(connection: &Connection, action: i64) -> rusqlite::Result<()> {
    let digest = digest(connection, action)?;
    connection.execute("UPDATE action SET digest = ?2 WHERE id = ?1", (action, digest)).map(|_| ())
}

/// The actions whose rows have changed since.
pub(super) fn altered(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut query = connection.prepare("SELECT id, digest FROM action ORDER BY id")?;
    let kept: Vec<(i64, Option<String>)> =
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut altered = Vec::new();
    for (action, kept) in kept {
        if kept != Some(digest(connection, action)?) {
            altered.push(action);
        }
    }
    Ok(altered)
}

/// What is wrong with an action whose rows have changed.
pub(super) fn problem(action: i64) -> String {
    format!("the data of action {action} were changed afterwards")
}

fn digest(connection: &Connection, action: i64) -> rusqlite::Result<String> {
    let mut hash = Sha256::new();
    for sql in WRITTEN {
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
