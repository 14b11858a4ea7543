//! What was read of a campaign's file: the connections of a process may share it, and after a change only what is new is
//! read and checked. The rows of a data file are most of a campaign, and never change.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::digest::{self, Kept};
use super::load::{Unreadable, load_as_written};
use super::state::{Source, State};

/// What the connections of a process know of one file.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// Has a connection looked through the whole file?
    checked: bool,
    read: Option<Read>,
}

/// A campaign that was read.
pub(super) struct Read {
    kept: Kept,
    digest: String,
    state: Arc<State>,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does somebody have to look through the whole file?
    pub(super) fn is_unchecked(&self) -> bool {
        !self.lock().checked
    }

    pub(super) fn note_checked(&self) {
        self.lock().checked = true;
    }

    /// What is in force in the view of a connection, read as far as it is not known. Who asks meanwhile waits, and has it then.
    pub(super) fn state(&self, view: &Connection, kept: Kept) -> Result<Arc<State>, Unreadable> {
        let digest = digest::of_all(&kept);
        let mut known = self.lock();
        if let Some(read) = known.read.as_ref().filter(|read| read.digest == digest) {
            return Ok(read.state.clone());
        }
        let state = Arc::new(load_as_written(view, known.read.as_ref())?);
        known.read = Some(Read { kept, digest, state: state.clone() });
        Ok(state)
    }
}

impl Read {
    /// The actions that were looked at.
    pub(super) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// The data file that an action with this fingerprint brought.
    pub(super) fn source_of(&self, action: i64, fingerprint: &Option<String>) -> Option<Source> {
        let at = self.kept.binary_search_by_key(&action, |(known, _)| *known).ok()?;
        if self.kept[at].1 != *fingerprint {
            return None;
        }
        self.state.sources.iter().find(|source| source.action == action).cloned()
    }
}
