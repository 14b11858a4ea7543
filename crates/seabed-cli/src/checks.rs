//! What in the data the learned models cannot have made, for the commands that fit.

use std::io::{self, Write};

use seabed::checks::{CheckError, Finding, check, summary};
use seabed::data::Dataset;
use seabed::scm::Ensemble;

use crate::failure::Failure;
use crate::progress::Bar;

/// The findings, and how the command is to end: what was learned is printed even if the user cannot wait for them.
pub fn findings(data: &Dataset, ensemble: &Ensemble) -> (Vec<Finding>, Result<(), Failure>) {
    match check(data, ensemble, &Bar::new()) {
        Ok(findings) => (findings, Ok(())),
        Err(CheckError::Stopped) => {
            let words = anyhow::anyhow!("interrupted before the data were checked against the models");
            (Vec::new(), Err(Failure::Stopped(words)))
        }
        Err(error) => {
            tell!("note: {error}");
            (Vec::new(), Ok(()))
        }
    }
}

/// The findings as lines of text, each with its prefix.
pub fn lines(findings: &[Finding]) -> impl Iterator<Item = String> {
    summary(findings).into_iter().map(|text| format!("check: {text}"))
}

/// A line for every finding that is told.
pub fn print(out: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    lines(findings).try_for_each(|line| writeln!(out, "{line}"))
}
