//! Long work is observed: it says how far it is, offers its state for safekeeping, and can be asked to stop.
//!
//! Everything that may take longer than a second takes an `&dyn Observer`. Progress bars, Ctrl-C, a page in a browser
//! and a notebook all hang on this one trait; `&()` watches nothing and never stops anything.

use std::fmt;

/// How far a piece of work is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Pieces that are done.
    pub done: u64,
    /// All pieces, as far as is known now: work that may end early counts the most there can be.
    pub all: u64,
    /// What is going on, for people: `120 sweeps (at most 3200)`.
    pub what: fmt::Arguments<'a>,
}

/// Watches a piece of work; called from any thread.
pub trait Observer: Sync {
    /// So much is done. `false` asks the work to stop as soon as it can.
    fn progress(&self, progress: &Progress<'_>) -> bool;

    /// A moment from which the work could be taken up again; `state` gives the text to take it up with, and is only
    /// called by those who want to keep it. `false` asks the work to stop.
    fn checkpoint(&self, state: &dyn Fn() -> String) -> bool {
        let _ = state;
        true
    }
}

/// The observer asked for an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stopped before it was done")]
pub struct Stopped;

/// Tells the observer, and hears whether to go on: `told(observer, 3, 10, format_args!("…"))?`.
pub(crate) fn told(
    observer: &dyn Observer,
    done: u64,
    all: u64,
    what: fmt::Arguments<'_>,
) -> Result<(), Stopped> {
    if observer.progress(&Progress { done, all, what }) { Ok(()) } else { Err(Stopped) }
}

/// Nobody watches.
impl Observer for () {
    fn progress(&self, _: &Progress<'_>) -> bool {
        true
    }
}

/// A closure watches progress alone.
impl<F: Fn(&Progress<'_>) -> bool + Sync> Observer for F {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        self(progress)
    }
}

/// Work that is a part of other work: what is going on is preceded by the name of the part.
pub struct Stage<'a> {
    /// Who watches the whole.
    pub observer: &'a dyn Observer,
    /// The part, for people: `fit of round 3`.
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
    fn a_stage_says_whose_part_it_is_and_hears_the_same_answer() {
        let heard = Mutex::new(Vec::new());
        let observer = |progress: &Progress<'_>| {
            heard.lock().unwrap().push(format!("{}/{} {}", progress.done, progress.all, progress.what));
            progress.done < 2
        };
        let stage = Stage { observer: &observer, name: "fit of round 3".into() };
        assert_eq!(told(&stage, 1, 5, format_args!("sweeps")), Ok(()));
        assert_eq!(told(&stage, 2, 5, format_args!("sweeps")), Err(Stopped));
        assert_eq!(*heard.lock().unwrap(), ["1/5 fit of round 3: sweeps", "2/5 fit of round 3: sweeps"]);
        assert!(
            ().progress(&Progress { done: 0, all: 0, what: format_args!("") }) && ().checkpoint(&String::new)
        );
    }
}
