//! How much faster a phase is with several threads than with one, as measured; and how many threads a run should have.

/// What is assumed of the share of work that threads can divide, before anything is measured, and its weight in measurements.
const ASSUMED: f64 = 0.5;
const WEIGHT: f64 = 2.0;

/// So many phases tell whether threads are of use.
const ENOUGH: usize = 4;

/// Less than this is not worth other threads' time.
const LEAST_GAIN: f64 = 1.05;

/// Phases measured with one and with several threads. The share of the work that threads divide is all that is kept: it
/// gives the speed-up for every number of threads (Amdahl).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpeedUp {
    shares: f64,
    count: usize,
}

impl SpeedUp {
    /// A phase took `seconds` with several threads, and similar ones took `alone` with one.
    pub(crate) fn measured(&mut self, threads: usize, alone: f64, seconds: f64) {
        if threads > 1 && alone > 0.0 {
            let share = (1.0 - seconds / alone) / (1.0 - 1.0 / threads as f64);
            self.shares += share.clamp(0.0, 1.0);
            self.count += 1;
        }
    }

    /// How much faster so many threads are than one.
    pub(crate) fn of(&self, threads: usize) -> f64 {
        let share = (ASSUMED * WEIGHT + self.shares) / (WEIGHT + self.count as f64);
        1.0 / (1.0 - share + share / threads.max(1) as f64)
    }

    /// So many threads if they are of use, or else one.
    pub(crate) fn worthwhile(&self, threads: usize) -> usize {
        let measured = self.shares / (self.count as f64).max(1.0);
        let gain = 1.0 / (1.0 - measured + measured / threads.max(1) as f64);
        if self.count >= ENOUGH && gain < LEAST_GAIN { 1 } else { threads }
    }
}

/// The threads of each run, if `jobs` runs go on at a time and `left` are not done: threads never gain as much as runs
/// side by side, so a run gets more than its share only when others have none to do.
pub(crate) fn threads_each(processors: usize, jobs: usize, left: usize) -> usize {
    (processors / jobs.min(left).max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_are_of_no_use_are_not_used() {
        let mut speed = SpeedUp::default();
        assert_eq!(speed.worthwhile(4), 4, "idle processors may as well try");
        for _ in 0..ENOUGH {
            speed.measured(4, 10.0, 10.2);
        }
        assert_eq!(speed.worthwhile(4), 1);
        assert!(speed.of(4) < 1.3, "{}", speed.of(4));
        let mut speed = SpeedUp::default();
        for _ in 0..40 {
            speed.measured(4, 10.0, 3.25);
        }
        // A share of 0.9 makes four threads 3.08 times as fast, two of them 1.82 times.
        assert!((speed.of(4) - 3.0).abs() < 0.15 && (speed.of(2) - 1.8).abs() < 0.05, "{speed:?}");
        assert_eq!(speed.worthwhile(4), 4);
        speed.measured(1, 10.0, 1.0);
        speed.measured(4, 0.0, 1.0);
        assert_eq!(speed.count, 40, "one thread, or nothing to compare with, says nothing");
    }

    #[test]
    fn idle_processors_go_to_the_runs_that_are_left() {
        let of = |left| threads_each(8, 8, left);
        assert_eq!([of(100), of(8), of(4), of(3), of(1), of(0)], [1, 1, 2, 2, 8, 8]);
        assert_eq!(threads_each(8, 2, 100), 4, "as many runs at a time as were asked for");
        assert_eq!(threads_each(2, 16, 100), 1);
    }
}
