//! Progress of long work: a bar on standard error, if that is a terminal, and signals (Ctrl-C, and what schedulers and
//! closed terminals send), which ask the work to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use seabed::observer::{Observer, Progress};
use signal_hook::{consts, flag};

/// Set by a signal.
static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on Ctrl-C, SIGTERM and SIGHUP ask observed work to stop; a second one ends the program at once.
pub fn stop_on_interrupt() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut signals = vec![consts::SIGINT, consts::SIGTERM];
    #[cfg(unix)]
    if !hangups_are_ignored() {
        signals.push(consts::SIGHUP);
    }
    for signal in signals {
        // Without a handler the signal ends the program, which is what it would do anyway.
        let _ = flag::register_conditional_shutdown(signal, 130, INTERRUPTED.clone());
        let _ = flag::register(signal, INTERRUPTED.clone());
    }
}

/// Has a signal asked to stop?
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Was the command started by `nohup`? Then it is meant to outlive the terminal. Only Linux tells.
#[cfg(unix)]
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (consts::SIGHUP - 1) & 1 == 1)
}

/// A progress bar of the work it observes.
pub struct Bar {
    bar: ProgressBar,
    pace: Mutex<Pace>,
}

/// How fast a piece of work goes, to say how long it will take.
struct Pace {
    /// When the present piece of work began, what was done then, and how far it has got.
    began: Instant,
    start: u64,
    done: u64,
    all: u64,
    /// The words before the numbers: another piece of work has others.
    what: String,
}

impl Pace {
    fn new() -> Self {
        Self { began: Instant::now(), start: 0, done: 0, all: 0, what: String::new() }
    }

    /// Starts again where another piece of work begins: it has another name, or goes back. What is expected of all may change.
    fn follow(&mut self, done: u64, all: u64, what: &str) {
        let kind: String = what.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect();
        // Threads may report a little out of order.
        if kind != self.what || 2 * done < self.done {
            *self = Self { began: Instant::now(), start: done, done, all, what: kind };
        }
        (self.done, self.all) = (self.done.max(done), all);
    }

    /// How long the rest takes at the pace so far; nothing before a fiftieth is done, or two seconds have passed, and nothing in
    /// the last second, when other work may follow.
    fn left(&self, done: u64) -> Option<Duration> {
        let elapsed = self.began.elapsed();
        let (done, all) = (done.saturating_sub(self.start), self.all.saturating_sub(self.start));
        if done == 0 || done * 50 < all || elapsed < Duration::from_secs(2) {
            return None;
        }
        let left = elapsed.mul_f64(all.saturating_sub(done) as f64 / done as f64);
        (left >= Duration::from_secs(1)).then_some(left)
    }
}

/// `2 min`, as precise as a forecast is.
pub fn roughly(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds @ 100..=5999 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

impl Bar {
    /// An empty bar.
    pub fn new() -> Self {
        let style =
            ProgressStyle::with_template("{bar:30} {percent}% {msg}").expect("the template is well formed");
        Self { bar: ProgressBar::new(0).with_style(style), pace: Mutex::new(Pace::new()) }
    }

    /// An empty bar for this many pieces of work; `what` names them, in the plural.
    pub fn of(pieces: u64, what: &str) -> Self {
        let bar = Self::new();
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
        bar.bar.set_style(style.expect("the template is well formed"));
        bar.bar.set_length(pieces);
        bar.bar.set_message(what.to_string());
        bar
    }

    /// Changes the words beside the bar.
    pub fn describe(&self, what: &str) {
        self.bar.set_message(what.to_string());
    }

    /// Counts one more piece as done; may be called from any thread.
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// Prints a permanent line above the bar, or on standard error if that is not a terminal.
    pub fn say(&self, line: &str) {
        if self.bar.is_hidden() {
            tell!("{line}");
        } else {
            self.bar.println(line);
        }
    }

    /// Hides the bar while something else is printed.
    pub fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Bar {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        if !self.bar.is_hidden()
            && let Ok(mut pace) = self.pace.lock()
        {
            let what = progress.what.to_string();
            pace.follow(progress.done, progress.all, &what);
            let left = pace.left(progress.done);
            let left = left.map_or(String::new(), |left| format!(", about {} left", roughly(left)));
            self.bar.set_length(progress.all);
            self.bar.set_position(progress.done);
            self.bar.set_message(what + &left);
        }
        !INTERRUPTED.load(Ordering::Relaxed)
    }
}

/// Shows nothing but stops on signals: for work whose progress is shown elsewhere.
pub struct Silent;

impl Observer for Silent {
    fn progress(&self, _: &Progress<'_>) -> bool {
        !INTERRUPTED.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_pace_of_the_present_work() {
        let mut pace = Pace::new();
        pace.follow(0, 1000, "3 sweeps");
        pace.began -= Duration::from_secs(10);
        assert_eq!(pace.left(10), None, "a hundredth says nothing");
        pace.follow(100, 1000, "103 sweeps");
        let left = pace.left(100).unwrap().as_secs_f64();
        assert!((89.0..=92.0).contains(&left), "{left}");
        pace.follow(150, 1600, "153 sweeps");
        let left = pace.left(150).unwrap().as_secs_f64();
        assert!((96.0..=98.0).contains(&left), "more is to be done than was expected: {left}");
        pace.follow(1500, 1600, "1503 sweeps");
        assert_eq!(pace.left(1500), None, "the last second, after which other work may follow");
        pace.follow(20, 1000, "23 sweeps");
        assert_eq!(pace.left(300), None, "the sweeps of another fit begin anew");
        pace.follow(1, 50, "outcomes simulated");
        assert_eq!(pace.left(2), None, "other work begins anew");
        assert_eq!(roughly(Duration::from_secs(125)), "2 min");
        assert_eq!(roughly(Duration::from_secs(9000)), "2.5 h");
    }
}
