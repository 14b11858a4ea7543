//! Progress of the evaluations of a design, and whether to continue.
//!
//! One piece of work is one row of one design under one generating draw. Any thread may count and check; the observer is
//! called by one thread at a time, with counts that only grow.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::observer::{Observer, Stopped, report};

/// The interval between reports: short enough to stop at once, long enough to cost nothing.
const EVERY: Duration = Duration::from_millis(50);

/// How many designs are evaluated, each of their rows counted.
#[derive(Clone, Copy)]
pub(super) struct Designs {
    /// At most.
    pub(super) most: usize,
    /// About: those that are looked at roughly count for a part.
    pub(super) expected: usize,
}

impl Designs {
    /// All of them, whatever is found.
    pub(super) fn exactly(count: usize) -> Self {
        Self { most: count, expected: count }
    }
}

pub(super) struct Work<'a> {
    observer: &'a dyn Observer,
    draws: u64,
    /// The most pieces that there can be.
    most: u64,
    /// The pieces that there will be, about.
    expected: u64,
    done: AtomicU64,
    stopped: AtomicBool,
    last_told: Mutex<Instant>,
}

impl<'a> Work<'a> {
    /// The evaluation of these designs under this many draws; stops at once if the observer asks to.
    pub(super) fn new(observer: &'a dyn Observer, designs: Designs, draws: usize) -> Result<Self, Stopped> {
        let pieces = |designs: usize| (designs as u64).saturating_mul(draws as u64);
        let work = Self {
            observer,
            draws: draws as u64,
            most: pieces(designs.most),
            expected: pieces(designs.expected.min(designs.most)),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            last_told: Mutex::new(Instant::now()),
        };
        work.report(0)?;
        Ok(work)
    }

    /// One design of so many rows was evaluated under one draw.
    pub(super) fn count(&self, rows: usize) -> Result<(), Stopped> {
        self.done.fetch_add(rows as u64, Relaxed);
        self.check_stop()
    }

    /// To be called within every loop that may take longer than a moment.
    pub(super) fn check_stop(&self) -> Result<(), Stopped> {
        if self.stopped.load(Relaxed) {
            return Err(Stopped);
        }
        // A thread need not wait while another one is reporting.
        let Ok(mut last_told) = self.last_told.try_lock() else { return Ok(()) };
        if last_told.elapsed() < EVERY {
            return Ok(());
        }
        *last_told = Instant::now();
        self.report(self.done.load(Relaxed))
    }

    /// All is done, even if there were fewer designs than there might have been.
    pub(super) fn finish(&self) -> Result<(), Stopped> {
        let done = self.done.load(Relaxed);
        debug_assert!(done <= self.most, "more designs were evaluated than announced");
        self.tell(done, done)
    }

    fn report(&self, done: u64) -> Result<(), Stopped> {
        self.tell(done, self.expected.max(done))
    }

    fn tell(&self, done: u64, all: u64) -> Result<(), Stopped> {
        let (designs, expected) = (done / self.draws, all / self.draws);
        let answer = report(
            self.observer,
            done,
            all,
            format_args!("{designs} of about {expected} experiments simulated"),
        );
        self.stopped.store(answer.is_err(), Relaxed);
        answer
    }
}
