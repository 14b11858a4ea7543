//! Errors of the database in the words of somebody who has a file, not a database.

/// An error of the database, in words: no statements, no names of its own.
#[derive(Debug, thiserror::Error)]
#[error("{}", in_words(.0))]
pub struct DatabaseError(#[from] rusqlite::Error);

impl DatabaseError {
    /// Is it that the file, or those that are kept beside it, cannot be written to?
    pub(super) fn is_read_only(&self) -> bool {
        use rusqlite::ErrorCode::{CannotOpen, DiskFull, PermissionDenied, ReadOnly, SystemIoFailure};
        let code = self.0.sqlite_error_code();
        matches!(code, Some(CannotOpen | DiskFull | PermissionDenied | ReadOnly | SystemIoFailure))
    }
}

fn in_words(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, PermissionDenied, ReadOnly, SystemIoFailure};
    match error.sqlite_error_code() {
        Some(DiskFull) => "the disk is full; nothing was changed".into(),
        Some(ReadOnly | PermissionDenied) => {
            "the file or its folder is read-only; nothing was changed".into()
        }
        Some(CannotOpen) => "the file, or those that are kept beside it, cannot be opened".into(),
        Some(SystemIoFailure) => "the disk cannot be read or written; it may be full".into(),
        Some(code) => format!("the database failed ({code:?})"),
        None => "the database holds something unexpected; `seabed lab check` looks for damage".into(),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    /// Nothing of SQL reaches the user: no statement, table, column or message of the database.
    #[test]
    fn errors_show_no_sql() {
        let database = rusqlite::Connection::open_in_memory().unwrap();
        database.execute_batch("CREATE TABLE measured (cell REAL NOT NULL)").unwrap();
        let failures = [
            database.execute("SELEKT cell FROM measured", []).unwrap_err(),
            database.execute("INSERT INTO measured VALUES (NULL)", []).unwrap_err(),
            database.query_row("SELECT cell FROM nowhere", [], |row| row.get::<_, f64>(0)).unwrap_err(),
            database.query_row("SELECT cell FROM measured", [], |row| row.get::<_, f64>(0)).unwrap_err(),
            database.query_row("SELECT 'cell'", [], |row| row.get::<_, f64>(0)).unwrap_err(),
            database.query_row("SELECT ?1", [], |row| row.get::<_, f64>(0)).unwrap_err(),
        ];
        for failure in failures {
            let message = DatabaseError(failure).to_string();
            for word in "SELEKT SELECT INSERT measured nowhere cell syntax constraint Query column".split(' ')
            {
                assert!(!message.contains(word), "{message}");
            }
        }
    }

    /// What the machine cannot do is said as such, with what became of the change.
    #[test]
    fn failures_of_the_machine_have_words_of_their_own() {
        let words = |code: i32| {
            let message = Some("file is not a database: /secret".to_string());
            DatabaseError(rusqlite::Error::SqliteFailure(ffi::Error::new(code), message)).to_string()
        };
        assert_eq!(words(ffi::SQLITE_FULL), "the disk is full; nothing was changed");
        assert_eq!(words(ffi::SQLITE_READONLY), "the file or its folder is read-only; nothing was changed");
        assert_eq!(words(ffi::SQLITE_PERM), "the file or its folder is read-only; nothing was changed");
        assert_eq!(
            words(ffi::SQLITE_CANTOPEN),
            "the file, or those that are kept beside it, cannot be opened"
        );
        assert_eq!(words(ffi::SQLITE_IOERR), "the disk cannot be read or written; it may be full");
    }
}
