//! What in the data the learned models cannot have made, for the commands that fit.

use std::io::{self, Write};

use seabed::checks::{CheckError, Finding, check, summary};
use seabed::data::Dataset;
use seabed::scm::Ensemble;

use crate::progress::Bar;

/// The findings. What was learned is printed even if the user cannot wait for them.
pub fn findings(data: &Dataset, ensemble: &Ensemble) -> Vec<Finding> {
    check(data, ensemble, &Bar::new()).unwrap_or_else(|error| {
        match error {
            CheckError::Stopped => tell!("note: interrupted before the data were checked against the models"),
            error => tell!("note: {error}"),
        }
        Vec::new()
    })
}

/// The findings as lines of text, each with its prefix.
pub fn lines(findings: &[Finding]) -> impl Iterator<Item = String> {
    summary(findings).into_iter().map(|text| format!("check: {text}"))
}

/// A line for every finding that is told.
pub fn print(out: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    lines(findings).try_for_each(|line| writeln!(out, "{line}"))
}
