//! Long work is observed: it reports progress, offers its state for saving, and can be asked to stop.
//!
//! Everything that may take longer than a second takes an `&dyn Observer`. Progress bars, Ctrl-C, a page in a browser
//! and a notebook all use this one trait; `&()` ignores progress and never stops anything.

use std::fmt;

/// How far a piece of work has got.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Pieces that are done.
    pub done: u64,
    /// All pieces; for work that may end early, the most there can be.
    pub all: u64,
    /// What is going on, as text: `120 sweeps (at most 3200)`.
    pub what: fmt::Arguments<'a>,
}

/// Watches a piece of work; called from any thread.
pub trait Observer: Sync {
    /// Progress was made. Returning `false` asks the work to stop as soon as it can.
    fn progress(&self, progress: &Progress<'_>) -> bool;

    /// The work could be resumed from here; `state` returns the text to resume from, and is called only by observers
    /// that save it. Returning `false` asks the work to stop.
    fn checkpoint(&self, state: &dyn Fn() -> String) -> bool {
        let _ = state;
        true
    }
}

/// The observer asked the work to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stopped before it finished")]
pub struct Stopped;

/// Reports progress, with an error if the work should stop: `report(observer, 3, 10, format_args!("…"))?`.
pub(crate) fn report(
    observer: &dyn Observer,
    done: u64,
    all: u64,
    what: fmt::Arguments<'_>,
) -> Result<(), Stopped> {
    if observer.progress(&Progress { done, all, what }) { Ok(()) } else { Err(Stopped) }
}

/// Ignores everything.
impl Observer for () {
    fn progress(&self, _: &Progress<'_>) -> bool {
        true
    }
}

/// A closure receives progress only.
impl<F: Fn(&Progress<'_>) -> bool + Sync> Observer for F {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        self(progress)
    }
}

/// Work that is part of other work: its progress is prefixed with the name of the part.
pub struct Stage<'a> {
    /// The observer of the whole.
    pub observer: &'a dyn Observer,
    /// The part, as text: `fit of round 3`.
    pub name: String,
}

impl Observer for Stage<'_> {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        let what = format_args!("{}: {}", self.name, progress.what);
        self.observer.progress(&Progress { what, ..*progress })
    }

    fn checkpoint(&self, state: &dyn Fn() -> String) -> bool {
        self.observer.checkpoint(state)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_stage_prefixes_its_name_and_passes_the_answer_on() {
        let heard = Mutex::new(Vec::new());
        let observer = |progress: &Progress<'_>| {
            heard.lock().unwrap().push(format!("{}/{} {}", progress.done, progress.all, progress.what));
            progress.done < 2
        };
        let stage = Stage { observer: &observer, name: "fit of round 3".into() };
        assert_eq!(report(&stage, 1, 5, format_args!("sweeps")), Ok(()));
        assert_eq!(report(&stage, 2, 5, format_args!("sweeps")), Err(Stopped));
        assert_eq!(*heard.lock().unwrap(), ["1/5 fit of round 3: sweeps", "2/5 fit of round 3: sweeps"]);
        assert!(
            ().progress(&Progress { done: 0, all: 0, what: format_args!("") }) && ().checkpoint(&String::new)
        );
    }
}
