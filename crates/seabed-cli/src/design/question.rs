//! Parses goals and designs from the command line.

use seabed::data::Names;
use seabed::design::Goal;
use seabed::scm::Intervention;

use crate::failure::Failure;
use crate::settings::{node_named, parse_intervention};

/// Parses a goal: `edge=A,B`, `parents=A`, `descendants=A` or `effect=A,B`.
pub fn parse_goal(text: &str, names: &Names) -> Result<Goal, Failure> {
    let wrong = || {
        let form = "write edge=A,B, parents=A, descendants=A or effect=A,B";
        Failure::Input(anyhow::anyhow!("--goal {text}: not a valid goal; {form}"))
    };
    let node = |name: &str| node_named(name, names, &format!("--goal {text}"));
    let (kind, rest) = text.split_once('=').ok_or_else(wrong)?;
    // A name may contain a comma: split at the one that leaves a variable on both sides.
    let commas = || rest.match_indices(',').map(|(at, _)| (&rest[..at], &rest[at + 1..]));
    let known = |name: &str| seabed::data::position(names, name.trim()).is_some();
    let two = || {
        let (a, b) =
            commas().find(|(a, b)| known(a) && known(b)).or_else(|| commas().next()).ok_or_else(wrong)?;
        let (a, b) = (node(a)?, node(b)?);
        if a == b { Err(wrong()) } else { Ok((a, b)) }
    };
    match kind {
        "edge" => two().map(|(from, to)| Goal::Edge { from, to }),
        "effect" => two().map(|(of, on)| Goal::Effect { of, on }),
        "parents" => Ok(Goal::Parents { of: node(rest)? }),
        "descendants" => Ok(Goal::Descendants { of: node(rest)? }),
        _ => Err(wrong()),
    }
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
