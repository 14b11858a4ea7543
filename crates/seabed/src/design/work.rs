//! Progress of the evaluations of a design, and whether to continue.
//!
//! One piece of work is one design under one generating draw. Any thread may count and check; the observer is
//! called by one thread at a time, with counts that only grow.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::observer::{Observer, Stopped, report};

/// The interval between reports: short enough to stop at once, long enough to cost nothing.
const EVERY: Duration = Duration::from_millis(50);

pub(super) struct Work<'a> {
    observer: &'a dyn Observer,
    draws: u64,
    /// The most pieces that there can be.
    all: u64,
    done: AtomicU64,
    stopped: AtomicBool,
    last_told: Mutex<Instant>,
}

impl<'a> Work<'a> {
    /// The evaluation of at most this many designs under this many draws; stops at once if the observer asks to.
    pub(super) fn new(observer: &'a dyn Observer, designs: usize, draws: usize) -> Result<Self, Stopped> {
        let work = Self {
            observer,
            draws: draws as u64,
            all: (designs as u64).saturating_mul(draws as u64),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            last_told: Mutex::new(Instant::now()),
        };
        work.report(0)?;
        Ok(work)
    }

    /// One design was evaluated under one draw.
    pub(super) fn count(&self) -> Result<(), Stopped> {
        self.done.fetch_add(1, Relaxed);
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
        debug_assert!(self.done.load(Relaxed) <= self.all, "more designs were evaluated than announced");
        self.report(self.all)
    }

    fn report(&self, done: u64) -> Result<(), Stopped> {
        let (designs, most) = (done / self.draws, self.all / self.draws);
        let answer = report(
            self.observer,
            done,
            self.all,
            format_args!("{designs} designs evaluated (at most {most})"),
        );
        self.stopped.store(answer.is_err(), Relaxed);
        answer
    }
}
