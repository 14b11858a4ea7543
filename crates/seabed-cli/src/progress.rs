//! Progress of long work: a bar on standard error, if that is a terminal, and signals (Ctrl-C, and what schedulers and
//! closed terminals send), which ask the work to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

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
        if !self.bar.is_hidden() {
            self.bar.set_length(progress.all);
            self.bar.set_position(progress.done);
            self.bar.set_message(progress.what.to_string());
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
