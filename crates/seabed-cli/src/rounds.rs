//! The rounds of a closed loop on the terminal: a growing table, with a progress bar below it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use seabed::evaluate::MetricRow;
use seabed::observer::{Observer, Progress};
use seabed_study::RunEvent;

use crate::progress::{Bar, stop_on_interrupt};

/// The heading of the table.
const HEADING: &str = "round  samples  E-SHD  E-SID  AUROC  AUPRC  information  seconds";

/// A line of the table.
fn line(row: &MetricRow) -> String {
    let number =
        |value: Option<f64>, places: usize| value.map_or("-".into(), |value| format!("{value:.places$}"));
    format!(
        "{:>5}  {:>7}  {:>5}  {:>5}  {:>5}  {:>5}  {:>11}  {:>7.1}",
        row.round,
        row.interventional_samples,
        number(row.eshd, 1),
        number(row.esid, 1),
        number(row.auroc, 2),
        number(row.auprc, 2),
        number(row.batch_information, 2),
        row.fit_seconds + row.design_seconds.unwrap_or(0.0),
    )
}

/// Shows a run in progress: rounds on standard output, the work of a round as a bar on standard error.
pub struct Live {
    bar: Bar,
    json: bool,
    /// The heading of the table is still to be printed.
    heading_due: AtomicBool,
    /// Standard output was closed: the run ends.
    closed: AtomicBool,
}

impl Live {
    /// Nothing is shown yet. Ctrl-C stops the run from now on.
    pub fn new(json: bool) -> Self {
        stop_on_interrupt();
        Self { bar: Bar::new(), json, heading_due: AtomicBool::new(!json), closed: AtomicBool::new(false) }
    }

    /// Shows an event of the run.
    pub fn show(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::Note(note) => self.bar.say(&format!("note: {note}")),
            RunEvent::Round(row) => {
                crate::panic_if_asked("round");
                if self.heading_due.swap(false, Ordering::Relaxed) {
                    self.say(HEADING);
                }
                let text =
                    if self.json { serde_json::to_string(row).expect("plain numbers") } else { line(row) };
                self.say(&text);
            }
        }
    }

    fn say(&self, text: &str) {
        let print = || {
            let mut out = io::stdout().lock();
            if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
                self.closed.store(true, Ordering::Relaxed);
            }
        };
        self.bar.suspend(print);
    }
}

impl Observer for Live {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        self.bar.progress(progress) && !self.closed.load(Ordering::Relaxed)
    }
}
