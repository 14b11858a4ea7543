//! Parses goals and designs from the command line.

use seabed::data::Names;
use seabed::design::Goal;
use seabed::scm::Intervention;

use crate::failure::Failure;
use crate::settings::parse_intervention;

/// The goal of `--goal`: `edge=A,B`, `parents=A`, `descendants=A` or `effect=A,B`.
pub fn parse_goal(text: &str, names: &Names) -> Result<Goal, Failure> {
    Goal::parse(text, names).map_err(|error| Failure::Input(anyhow::anyhow!("--goal {error}")))
}

/// Parses a design: `A=1,B=2`.
pub fn parse_design(text: &str, names: &Names) -> Result<Intervention, Failure> {
    // A name may contain a comma: a new setting starts where the text before the comma already has its `=`.
    let mut settings: Vec<String> = Vec::new();
    for part in text.split(',') {
        match settings.last_mut() {
            Some(open) if !open.contains('=') => *open = format!("{open},{part}"),
            _ => settings.push(part.to_string()),
        }
    }
    parse_intervention("--score", &settings, names)
}
