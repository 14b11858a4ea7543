//! Who asks for a change, and by which request: stored with the action, so that the history says who did what, and a request
//! that is repeated after a lost answer changes nothing twice.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Lab, LabError};

/// Who asks for the changes that follow, and by which request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Signature {
    /// A name for the history; empty if unknown.
    pub who: String,
    /// What the request is recognised by; none if it is not to be recognised.
    pub key: Option<String>,
    /// A fingerprint of the request: another one must not have the same key.
    pub content: String,
}

impl Signature {
    /// Stores it with an action, if it says anything.
    pub(super) fn store(&self, connection: &Connection, action: i64) -> rusqlite::Result<()> {
        if self.who.is_empty() && self.key.is_none() {
            return Ok(());
        }
        let sql = "INSERT INTO request (action, who, key, content) VALUES (?1, ?2, ?3, ?4)";
        connection.execute(sql, params![action, self.who, self.key, self.content]).map(|_| ())
    }

    /// The action that the same request led to before, if it did; an error if it was another request.
    pub(super) fn earlier(&self, connection: &Connection) -> rusqlite::Result<Option<Earlier>> {
        let Some(key) = &self.key else { return Ok(None) };
        let sql = "SELECT action, content FROM request WHERE key = ?1";
        let found = connection.query_row(sql, [key], |row| {
            Ok(Earlier { action: row.get(0)?, same: row.get::<_, String>(1)? == self.content })
        });
        found.optional()
    }
}

/// An action whose request had the same key.
pub(super) struct Earlier {
    pub(super) action: i64,
    /// Was it the same request?
    pub(super) same: bool,
}

impl Earlier {
    /// Why nothing is done.
    pub(super) fn refusal(&self) -> LabError {
        let Self { action, same } = *self;
        if same { LabError::Repeated { action } } else { LabError::KeyReused { action } }
    }
}

impl Lab {
    /// Signs the changes that follow.
    pub fn sign(&mut self, signature: Signature) {
        self.signature = signature;
    }

    /// The action that a request led to before; an error if its key belongs to another request.
    pub fn done_before(&self, signature: &Signature) -> Result<Option<i64>, LabError> {
        match signature.earlier(&self.connection).map_err(|error| self.failed(error))? {
            Some(earlier) if !earlier.same => Err(earlier.refusal()),
            earlier => Ok(earlier.map(|earlier| earlier.action)),
        }
    }
}
