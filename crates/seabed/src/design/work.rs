//! How far the evaluations of a design are, and whether to go on with them.
//!
//! One piece of work is one design under one generating draw. Any thread may count and ask; the observer hears at
//! most one of them at a time, and of counts that only grow.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::observer::{Observer, Stopped, told};

/// The observer is told this often: often enough to stop at once, seldom enough to cost nothing.
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
    /// The evaluation of at most so many designs under so many draws; none is evaluated if the observer wants none.
    pub(super) fn new(observer: &'a dyn Observer, designs: usize, draws: usize) -> Result<Self, Stopped> {
        let work = Self {
            observer,
            draws: draws as u64,
            all: (designs as u64).saturating_mul(draws as u64),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            last_told: Mutex::new(Instant::now()),
        };
        work.tell(0)?;
        Ok(work)
    }

    /// One design was evaluated under one draw.
    pub(super) fn count(&self) -> Result<(), Stopped> {
        self.done.fetch_add(1, Relaxed);
        self.go_on()
    }

    /// To be asked within every loop that may take longer than a moment.
    pub(super) fn go_on(&self) -> Result<(), Stopped> {
        if self.stopped.load(Relaxed) {
            return Err(Stopped);
        }
        // Whoever finds somebody else telling need not wait for it.
        let Ok(mut last_told) = self.last_told.try_lock() else { return Ok(()) };
        if last_told.elapsed() < EVERY {
            return Ok(());
        }
        *last_told = Instant::now();
        self.tell(self.done.load(Relaxed))
    }

    /// There were fewer designs to evaluate than there might have been: all is done.
    pub(super) fn finish(&self) -> Result<(), Stopped> {
        debug_assert!(self.done.load(Relaxed) <= self.all, "more designs were evaluated than announced");
        self.tell(self.all)
    }

    fn tell(&self, done: u64) -> Result<(), Stopped> {
        let (designs, most) = (done / self.draws, self.all / self.draws);
        let answer =
            told(self.observer, done, self.all, format_args!("{designs} designs evaluated (at most {most})"));
        self.stopped.store(answer.is_err(), Relaxed);
        answer
    }
}
