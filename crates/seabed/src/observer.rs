//! Long work is observed: it says beforehand what it will take, reports progress, offers its state for saving, and can be
//! asked to stop.
//!
//! Everything that may take longer than a second takes an `&dyn Observer`. Progress bars, Ctrl-C, a page in a browser
//! and a notebook all use this one trait; `&()` ignores progress and never stops anything.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use std::{fmt, fs};

/// How far a piece of work has got.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Pieces that are done.
    pub done: u64,
    /// All pieces, as far as that is known: work that may end early or go on says what is expected.
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

/// What work is estimated to take before it begins: orders of magnitude, not promises.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Effort {
    /// Seconds of one processor.
    pub seconds: f64,
    /// Memory, in bytes.
    pub bytes: f64,
}

impl Effort {
    /// This and other work after it.
    pub fn then(self, next: Self) -> Self {
        Self { seconds: self.seconds + next.seconds, bytes: self.bytes.max(next.bytes) }
    }

    /// Why the work looks too large for this computer, if it does: it would not fit in memory, or take more than a day.
    pub fn too_large(self) -> Option<String> {
        let processors = available_parallelism().map_or(1, usize::from);
        let (seconds, memory) = (self.seconds / processors as f64, memory());
        if let Some(memory) = memory.filter(|memory| self.bytes > *memory) {
            let (need, have) = (gigabytes(self.bytes), memory / 1e9);
            return Some(format!("this is estimated to need {need} of memory, and there are {have:.0} GB"));
        }
        let days = seconds / A_DAY;
        (days > 1.0).then(|| {
            let days =
                if days < 1000.0 { format!("{days:.1} days") } else { format!("{:.0} years", days / 365.25) };
            format!("this is estimated to take {days} on {processors} processors")
        })
    }
}

/// In seconds.
const A_DAY: f64 = 86_400.0;

fn gigabytes(bytes: f64) -> String {
    if bytes < 1e12 { format!("{:.0} GB", bytes / 1e9) } else { format!("{:.0} TB", bytes / 1e12) }
}

/// The memory that this process can have, in bytes, where the system tells it: what the computer has, or less if the
/// container is given less.
pub fn memory() -> Option<f64> {
    // Asked for every table that is read.
    static KNOWN: OnceLock<Option<f64>> = OnceLock::new();
    *KNOWN.get_or_init(told_memory)
}

fn told_memory() -> Option<f64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let all = line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0;
    let given = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    // Without a limit it says `max`.
    Some(given.and_then(|text| text.trim().parse::<f64>().ok()).map_or(all, |given| given.min(all)))
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

/// How often a [`Pulse`] asks: rarely enough to cost nothing, often enough that a stop is felt at once.
const PULSE: Duration = Duration::from_millis(50);

/// Asks now and then whether parallel work of many small pieces should go on; once told to stop, it remembers.
pub(crate) struct Pulse<'a> {
    /// Reports progress, told how many pieces were begun; false if the work should stop.
    ask: &'a (dyn Fn(u64) -> bool + Sync),
    pieces: AtomicU64,
    asked: Mutex<Instant>,
    stopped: AtomicBool,
}

impl<'a> Pulse<'a> {
    pub(crate) fn new(ask: &'a (dyn Fn(u64) -> bool + Sync)) -> Self {
        let (pieces, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { ask, pieces, asked: Mutex::new(Instant::now()), stopped }
    }

    /// Should the next piece be done?
    pub(crate) fn goes_on(&self) -> bool {
        let begun = self.pieces.fetch_add(1, Ordering::Relaxed);
        // Whoever does not get the lock leaves the question to who has it.
        if let Ok(mut asked) = self.asked.try_lock()
            && asked.elapsed() >= PULSE
        {
            *asked = Instant::now();
            if !(self.ask)(begun) {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
        !self.stopped.load(Ordering::Relaxed)
    }
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
    use super::*;

    #[test]
    fn a_pulse_asks_now_and_then_and_remembers_the_answer() {
        let count = AtomicBool::new(true);
        let told = AtomicU64::new(0);
        let ask = |begun: u64| {
            told.store(begun, Ordering::Relaxed);
            count.swap(false, Ordering::Relaxed)
        };
        let pulse = Pulse::new(&ask);
        let start = Instant::now();
        let mut pieces = 0u64;
        while pulse.goes_on() {
            pieces += 1;
        }
        assert_eq!(told.load(Ordering::Relaxed), pieces, "all before the one that was not begun");
        // Asked twice: the first time it was to go on.
        assert!(pieces > 0 && start.elapsed() >= 2 * PULSE && !pulse.goes_on());
    }

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
