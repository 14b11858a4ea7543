//! The settings of the paper's experiments, as studies.

/// The names of all presets, each with what it shows.
pub const PRESETS: [(&str, &str); 6] = [
    ("paper-linear-20", "linear models of 20 variables, bootstrap: all strategies"),
    ("paper-linear-50", "linear models of 50 variables, bootstrap: all strategies"),
    ("paper-nonlinear-20", "nonlinear models of 20 variables, DiBS: all strategies"),
    ("paper-nonlinear-50", "nonlinear models of 50 variables, DiBS: all strategies"),
    ("paper-values", "nonlinear models of 50 variables, DiBS: fixed, sampled and optimised values"),
    ("paper-batches", "nonlinear models of 50 variables, DiBS: one design, greedy and soft batches"),
];

/// The strategies that the paper compares, at optimised values and at a fixed one.
const STRATEGIES: &str = r#"
[[design]]
strategy = "random"
values = "fixed"
[[design]]
strategy = ["random", "ait", "soft-ait", "greedy-cbed", "soft-cbed"]
values = "gp-ucb"
"#;

const VALUES: &str = r#"
[design]
strategy = "soft-cbed"
values = ["fixed", "sample", "gp-ucb"]
"#;

const BATCHES: &str = r#"
[design]
strategy = ["cbed", "greedy-cbed", "soft-cbed"]
"#;

/// The configuration of a preset, if there is one of that name.
pub fn preset(name: &str) -> Option<String> {
    let (mechanism, posterior, nodes, design) = match name {
        "paper-linear-20" => ("linear", "bootstrap", 20, STRATEGIES),
        "paper-linear-50" => ("linear", "bootstrap", 50, STRATEGIES),
        "paper-nonlinear-20" => ("nonlinear", "dibs-nonlinear", 20, STRATEGIES),
        "paper-nonlinear-50" => ("nonlinear", "dibs-nonlinear", 50, STRATEGIES),
        "paper-values" => ("nonlinear", "dibs-nonlinear", 50, VALUES),
        "paper-batches" => ("nonlinear", "dibs-nonlinear", 50, BATCHES),
        _ => return None,
    };
    Some(format!(
        "seeds = 10\nrounds = 10\n\n[world]\nkind = [\"er\", \"sf\"]\nnodes = {nodes}\nmechanism = \"{mechanism}\"\n\n\
         [posterior]\nkind = \"{posterior}\"\n{design}"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{expand, parse_table};
    use super::*;

    #[test]
    fn every_preset_is_a_study() {
        for (name, _) in PRESETS {
            let table = parse_table(&preset(name).unwrap(), name).unwrap();
            let runs = expand(&table, name).unwrap();
            assert!(runs.len() >= 60 && runs.iter().all(|run| run.config.design.batch == 10), "{name}");
        }
        assert!(preset("paper").is_none());
    }
}
