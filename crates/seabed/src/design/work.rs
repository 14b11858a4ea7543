//! Progress of the evaluations of a design, and whether to continue.
//!
//! Work is counted by what it costs, row by row of each design under each generating draw. Any thread may count and check; the
//! observer is called by one thread at a time, with counts that only grow.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::observer::{Observer, Stopped, report};

/// The interval between reports: short enough to stop at once, long enough to cost nothing.
const EVERY: Duration = Duration::from_millis(50);

/// What simulating costs, in eighths of one row of a design that is looked at before anything is chosen. Measured, and
/// rounded: so that half of the work takes about half of the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Prices {
    /// A row that is shown to every law of a path, as a multiple.
    shown: u64,
    /// One more row of a design that is looked at, whose laws have been shown those before it, as a multiple.
    further: u64,
    /// What every row of the batch so far adds.
    kept: u64,
}

/// The price of one row of a design that is looked at.
const ROW: u64 = 8;

impl Prices {
    /// Every row costs the same.
    pub(super) const EQUAL: Self = Self { shown: 1, further: 1, kept: 0 };

    /// Processes keep the rows that they are shown, and compare every new one with all of them.
    pub(super) const PROCESSES: Self = Self { shown: 20, further: 5, kept: 1 };

    /// So many rows of a design that is looked at, after `before` rows of the batch.
    pub(super) fn looked_at(self, rows: usize, before: usize) -> u64 {
        let further = self.further.saturating_mul(rows.saturating_sub(1) as u64);
        self.row(before).saturating_mul(1 + further)
    }

    /// So many rows of a design that are shown to all laws, after `before` rows of the batch.
    pub(super) fn shown(self, rows: usize, before: usize) -> u64 {
        self.row(before).saturating_mul(self.shown).saturating_mul(rows as u64)
    }

    fn row(self, before: usize) -> u64 {
        ROW.saturating_add(self.kept.saturating_mul(before as u64))
    }
}

/// What the evaluations of a design cost under one draw.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// At most.
    pub(super) most: u64,
    /// About: designs that are looked at roughly count for a part.
    pub(super) expected: u64,
}

impl Cost {
    /// This, whatever is found.
    pub(super) fn exactly(cost: u64) -> Self {
        Self { most: cost, expected: cost }
    }

    /// The rows that could be looked at for what is expected.
    pub(super) fn rows(self) -> f64 {
        self.expected as f64 / ROW as f64
    }
}

pub(super) struct Work<'a> {
    observer: &'a dyn Observer,
    prices: Prices,
    /// What it can cost at most.
    most: u64,
    /// What it will cost, about.
    expected: u64,
    done: AtomicU64,
    stopped: AtomicBool,
    last_told: Mutex<Instant>,
}

impl<'a> Work<'a> {
    /// Evaluations of this cost under this many draws; stops at once if the observer asks to.
    pub(super) fn new(
        observer: &'a dyn Observer,
        prices: Prices,
        cost: Cost,
        draws: usize,
    ) -> Result<Self, Stopped> {
        let work = Self {
            observer,
            prices,
            most: cost.most.saturating_mul(draws as u64),
            expected: cost.expected.min(cost.most).saturating_mul(draws as u64),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            last_told: Mutex::new(Instant::now()),
        };
        work.report(0)?;
        Ok(work)
    }

    /// One design of so many rows was looked at under one draw, after `before` rows of the batch.
    pub(super) fn looked_at(&self, rows: usize, before: usize) -> Result<(), Stopped> {
        self.count(self.prices.looked_at(rows, before))
    }

    /// So many rows of a design were shown to all laws of one draw, after `before` rows of the batch.
    pub(super) fn shown(&self, rows: usize, before: usize) -> Result<(), Stopped> {
        self.count(self.prices.shown(rows, before))
    }

    fn count(&self, cost: u64) -> Result<(), Stopped> {
        self.done.fetch_add(cost, Relaxed);
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
        let answer = report(self.observer, done, all, format_args!("experiments simulated"));
        self.stopped.store(answer.is_err(), Relaxed);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_after_others_cost_more_where_laws_keep_them() {
        for (prices, costs) in
            [(Prices::EQUAL, [8, 24, 8, 8, 24]), (Prices::PROCESSES, [8, 88, 160, 16, 960])]
        {
            let found = [
                prices.looked_at(1, 0),
                prices.looked_at(3, 0),
                prices.shown(1, 0),
                prices.looked_at(1, 8),
                prices.shown(3, 8),
            ];
            assert_eq!(found, costs, "{prices:?}");
        }
    }
}
