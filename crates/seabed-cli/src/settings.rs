//! Interventions as people type them: NAME=VALUE.

use seabed::data::{MOST_VALUE, Names, closest, did_you_mean, position};
use seabed::graph::Node;
use seabed::scm::Intervention;

use crate::failure::Failure;

/// The variable with this name, which was given with `option`.
pub fn node_named(name: &str, names: &Names, option: &str) -> Result<Node, Failure> {
    position(names, name.trim()).ok_or_else(|| {
        let hint = did_you_mean(closest(name.trim(), names));
        Failure::Input(anyhow::anyhow!("{option}: there is no variable {name:?}{hint}"))
    })
}

/// Why a value cannot be computed with.
pub fn too_large(value: f64) -> String {
    format!(
        "{value:e} is too large to compute with: values must lie between -{MOST_VALUE:e} and {MOST_VALUE:e}"
    )
}

/// The intervention described by `NAME=VALUE` texts given with `option`; a name may itself contain `=`.
pub fn parse_intervention(option: &str, settings: &[String], names: &Names) -> Result<Intervention, Failure> {
    let wrong = |text: &str, problem: String| {
        let example = format!("write NAME=VALUE, for example {option} {}=1.5", names[0]);
        Failure::Input(anyhow::anyhow!("{option} {text}: {problem}; {example}"))
    };
    let mut pairs: Vec<(Node, f64)> = Vec::new();
    for text in settings {
        let Some((name, value)) = text.rsplit_once('=') else {
            return Err(wrong(text, "the `=` is missing".into()));
        };
        let Some(node) = position(names, name.trim()) else {
            let hint = did_you_mean(closest(name.trim(), names));
            let joined = if name.contains('=') { " (to set several, repeat --do)" } else { "" };
            return Err(wrong(text, format!("there is no variable {name:?}{hint}{joined}")));
        };
        if pairs.iter().any(|pair| pair.0 == node) {
            return Err(Failure::Input(anyhow::anyhow!(
                "{option} sets {:?} twice; set each variable only once",
                names[node]
            )));
        }
        match value.trim().parse::<f64>() {
            // Adding 0 turns -0 into 0: the two set the same value, so they are the same experiment.
            Ok(value) if value.abs() <= MOST_VALUE => pairs.push((node, value + 0.0)),
            Ok(value) if value.is_finite() => return Err(wrong(text, too_large(value))),
            _ => return Err(wrong(text, format!("{value:?} is not a finite number"))),
        }
    }
    Ok(Intervention::new(pairs)?)
}
