//! Rounds of a closed loop as people see them: a table that grows, and what is going on below it.

use std::io::{self, Write};

use seabed::campaign::{Happened, MetricRow};

use crate::progress::Progress;

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

/// Shows a run while it goes on: rounds on standard output, the work of a round as a bar on standard error.
pub struct Live {
    bar: Option<(usize, Progress)>,
    json: bool,
    /// Is the heading of the table still to come?
    bare: bool,
    /// Standard output was closed: the run ends.
    closed: bool,
}

impl Live {
    /// Nothing is shown yet.
    pub fn new(json: bool) -> Self {
        Self { bar: None, json, bare: !json, closed: false }
    }

    /// Takes note of what happened; false if nobody listens any more.
    pub fn hear(&mut self, happened: &Happened<'_>) -> bool {
        match *happened {
            Happened::Note(ref note) => eprintln!("note: {note}"),
            Happened::Fitting { round, done, all } => {
                if self.bar.as_ref().is_none_or(|(of, _)| *of != round) {
                    self.finish();
                    self.bar = Some((round, Progress::new(all, "")));
                }
                if let Some((_, bar)) = &self.bar {
                    bar.stands(done, format!("of the fit of round {round}"));
                }
            }
            Happened::Designing { round } => {
                if let Some((_, bar)) = &self.bar {
                    bar.stands(0, format!("designing the batch of round {round}"));
                }
            }
            Happened::Round(row) => {
                self.finish();
                if std::mem::take(&mut self.bare) {
                    self.closed |= self.say(HEADING).is_err();
                }
                let text =
                    if self.json { serde_json::to_string(row).expect("plain numbers") } else { line(row) };
                self.closed |= self.say(&text).is_err();
            }
        }
        !self.closed
    }

    fn say(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some((_, bar)) = self.bar.take() {
            bar.finish();
        }
    }
}

/// Ctrl-C ends the program at once: whatever is complete is on disk, and the same command goes on.
pub fn interruptible() {
    // Without a handler Ctrl-C ends the program too, only without a word.
    let _ = ctrlc::set_handler(|| {
        eprintln!("\ninterrupted; nothing is lost: the same command goes on");
        std::process::exit(130);
    });
}
