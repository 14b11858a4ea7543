//! Progress of long work: a bar on standard error, if that is a terminal, and Ctrl-C, which asks the work to stop.

use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use seabed::observer::{Observer, Progress};

/// Set by Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C asks observed work to stop; a second one ends the program at once.
pub fn stop_on_interrupt() {
    // Without a handler Ctrl-C ends the program, which is what it would do anyway.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// A progress bar of the work it observes.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// An empty bar.
    pub fn new() -> Self {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {eta} left")
            .expect("the template is well formed");
        Self { bar: ProgressBar::new(0).with_style(style) }
    }

    /// An empty bar for this many pieces of work; `what` names them, in the plural.
    pub fn of(pieces: u64, what: &str) -> Self {
        let bar = Self::new();
        bar.bar.set_length(pieces);
        bar.bar.set_message(what.to_string());
        bar
    }

    /// Counts one more piece as done; may be called from any thread.
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// Prints a permanent line above the bar, or on standard error if that is not a terminal.
    pub fn say(&self, line: &str) {
        if self.bar.is_hidden() {
            eprintln!("{line}");
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
        if !self.bar.is_hidden() {
            self.bar.set_length(progress.all);
            self.bar.set_position(progress.done);
            self.bar.set_message(progress.what.to_string());
        }
        !INTERRUPTED.load(Ordering::Relaxed)
    }
}

/// Shows nothing but stops on Ctrl-C: for work whose progress is shown elsewhere.
pub struct Silent;

impl Observer for Silent {
    fn progress(&self, _: &Progress<'_>) -> bool {
        !INTERRUPTED.load(Ordering::Relaxed)
    }
}
