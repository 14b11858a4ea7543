//! A fit that was stopped within a round: its state is kept beside the files of the round, and it goes on from there.
//!
//! Without it a fit that takes longer than a scheduler allows would begin anew in every job and never end. A resumed fit gives
//! the bytes of one that was never stopped.

use std::fs;
use std::io::ErrorKind;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use seabed::data::write_atomically;
use seabed::observer::{Observer, Progress};
use seabed::posterior::State;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::StudyError;
use super::folder::RunFolder;

/// How often the state of a long fit is saved in case nobody says that it will be killed.
const SAVED_EVERY: Duration = Duration::from_secs(300);

const FILE: &str = "unfinished.json";

/// A fit that is not done.
pub(crate) struct Unfinished {
    /// Where it goes on.
    pub(crate) state: State,
    /// The seconds that it has taken.
    pub(crate) seconds: f64,
    /// The state as text.
    pub(crate) text: String,
}

#[derive(Deserialize)]
struct Form {
    seconds: f64,
    state: Box<RawValue>,
}

impl RunFolder {
    /// The fit of a round that was stopped, if its state can be used: one of another version is not.
    pub(crate) fn unfinished(&self, round: usize) -> Option<Unfinished> {
        let form: Form = serde_json::from_slice(&fs::read(self.round(round).join(FILE)).ok()?).ok()?;
        let text = form.state.get().to_string();
        Some(Unfinished { state: State::from_json(&text).ok()?, seconds: form.seconds, text })
    }

    /// Keeps the state of a fit, as JSON, and the seconds that it has taken.
    pub(crate) fn write_unfinished(&self, round: usize, state: &str, seconds: f64) -> Result<(), StudyError> {
        self.create_round(round)?;
        let path = self.round(round).join(FILE);
        write_atomically(&path, |out| write!(out, "{{\"seconds\":{seconds:?},\"state\":{state}}}"))
            .map_err(StudyError::file(&path))
    }

    /// The fit is done, or its state is of no use.
    pub(crate) fn remove_unfinished(&self, round: usize) -> Result<(), StudyError> {
        let path = self.round(round).join(FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StudyError::file(&path)(error)),
            _ => Ok(()),
        }
    }
}

/// Watches a fit and saves its state now and then.
pub(crate) struct Saving<'a> {
    observer: &'a dyn Observer,
    folder: &'a RunFolder,
    round: usize,
    /// The seconds of the fit so far, recorded with its state.
    seconds: &'a (dyn Fn() -> f64 + Sync),
    inner: Mutex<(Instant, Option<StudyError>)>,
}

impl<'a> Saving<'a> {
    pub(crate) fn new(
        observer: &'a dyn Observer,
        folder: &'a RunFolder,
        round: usize,
        seconds: &'a (dyn Fn() -> f64 + Sync),
    ) -> Self {
        Self { observer, folder, round, seconds, inner: Mutex::new((Instant::now(), None)) }
    }

    /// Why the fit was stopped, if its state could not be saved.
    pub(crate) fn failed(self) -> Result<(), StudyError> {
        self.inner.into_inner().ok().and_then(|(_, failed)| failed).map_or(Ok(()), Err)
    }
}

impl Observer for Saving<'_> {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        self.observer.progress(progress)
    }

    fn checkpoint(&self, state: &dyn Fn() -> String) -> bool {
        let Ok(mut inner) = self.inner.lock() else { return false };
        if inner.0.elapsed() >= SAVED_EVERY {
            inner.0 = Instant::now();
            inner.1 = self.folder.write_unfinished(self.round, &state(), (self.seconds)()).err();
        }
        inner.1.is_none() && self.observer.checkpoint(state)
    }
}
