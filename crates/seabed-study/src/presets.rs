//! The settings of the paper's experiments, as studies.

use std::path::Path;

/// The names of all presets, with descriptions.
pub const PRESETS: [(&str, &str); 8] = [
    ("paper-linear-20", "linear models of 20 variables, bootstrap: all strategies"),
    ("paper-linear-50", "linear models of 50 variables, bootstrap: all strategies"),
    ("paper-nonlinear-20", "nonlinear models of 20 variables, DiBS: all strategies"),
    ("paper-nonlinear-50", "nonlinear models of 50 variables, DiBS: all strategies"),
    ("paper-values", "nonlinear models of 50 variables, DiBS: fixed, sampled and optimised values"),
    ("paper-batches", "nonlinear models of 50 variables, DiBS: one design, greedy and soft batches"),
    ("paper-dream-10", "gene networks of 10 genes, DiBS: knock-outs, 20 batches of 5"),
    ("paper-dream-50", "gene networks of 50 genes, DiBS: knock-outs, 20 batches of 20"),
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

/// The configuration of the preset with this name, if there is one. `networks` is a folder with the DREAM3 networks for
/// the presets on gene networks; without it they use generated networks.
pub fn preset(name: &str, networks: Option<&Path>) -> Option<String> {
    let (mechanism, posterior, nodes, design) = match name {
        "paper-linear-20" => ("linear", "bootstrap", 20, STRATEGIES),
        "paper-linear-50" => ("linear", "bootstrap", 50, STRATEGIES),
        "paper-nonlinear-20" => ("nonlinear", "dibs-nonlinear", 20, STRATEGIES),
        "paper-nonlinear-50" => ("nonlinear", "dibs-nonlinear", 50, STRATEGIES),
        "paper-values" => ("nonlinear", "dibs-nonlinear", 50, VALUES),
        "paper-batches" => ("nonlinear", "dibs-nonlinear", 50, BATCHES),
        "paper-dream-10" => return Some(dream(10, 5, networks)),
        "paper-dream-50" => return Some(dream(50, 20, networks)),
        _ => return None,
    };
    Some(format!(
        "seeds = 10\nrounds = 10\n\n[world]\nkind = [\"er\", \"sf\"]\nnodes = {nodes}\nmechanism = \"{mechanism}\"\n\n\
         [posterior]\nkind = \"{posterior}\"\n{design}"
    ))
}

/// Knock-outs, so one value for all; levels differ in scale and noise, so data are standardised and noise is learned.
fn dream(genes: usize, batch: usize, networks: Option<&Path>) -> String {
    let which = match networks {
        None => format!("nodes = {genes}\norganism = [\"ecoli-like\", \"yeast-like\"]"),
        Some(folder) => {
            let file = |kind| folder.join(format!("InSilicoSize{genes}-{kind}.xml")).display().to_string();
            let files = ["Ecoli1", "Ecoli2", "Yeast1", "Yeast2"].map(file).map(toml::Value::String);
            format!("file = {}", toml::Value::Array(files.to_vec()))
        }
    };
    format!(
        "seeds = 5\nrounds = 20\n\n[world]\nkind = \"grn\"\n{which}\n\n[posterior]\nkind = \"dibs-nonlinear\"\n\
         noise = \"learned\"\nstandardise = true\n\n[design]\nstrategy = [\"random\", \"soft-ait\", \"soft-cbed\"]\n\
         values = \"fixed\"\nfixed-value = 0.0\nrange = [0.0, 1.0]\nbatch = {batch}\n"
    )
}

#[cfg(test)]
mod tests {
    use seabed::settings::Keys;

    use super::super::expand;
    use super::*;

    #[test]
    fn every_preset_is_a_study() {
        for (name, _) in PRESETS {
            for networks in [None, Some(Path::new("some \"folder\""))] {
                let keys = Keys::parse(&preset(name, networks).unwrap(), name).unwrap();
                assert!(expand(&keys).unwrap().len() >= 30, "{name}");
            }
        }
        assert!(preset("paper", None).is_none());
    }
}
