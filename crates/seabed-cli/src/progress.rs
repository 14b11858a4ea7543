//! Progress of long work: a bar on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// How much of a known number of pieces is done.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Nothing of `pieces` is done; `what` they are, in the plural.
    pub fn new(pieces: u64, what: &str) -> Self {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {eta} left")
            .expect("the template is well formed");
        Self { bar: ProgressBar::new(pieces).with_style(style).with_message(what.to_string()) }
    }

    /// One more piece is done; from any thread.
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// So many pieces are done; `what` says more about it.
    pub fn stands(&self, done: u64, what: String) {
        self.bar.set_position(done);
        self.bar.set_message(what);
    }

    /// So many of so many pieces are done; `what` says more about it.
    pub fn stands_of(&self, done: u64, all: u64, what: String) {
        self.bar.set_length(all);
        self.bar.set_position(done);
        self.bar.set_message(what);
    }

    /// A line that stays, above the bar; without a terminal a line on standard error.
    pub fn say(&self, line: &str) {
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }

    /// Takes the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
