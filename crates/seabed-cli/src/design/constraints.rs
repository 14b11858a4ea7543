//! The options that describe what a laboratory can do.

use clap::Args;
use seabed::data::{DataSummary, Names};
use seabed::design::{Allowed, Constraints, Levels};
use seabed::graph::Node;

use crate::failure::Failure;
use crate::settings::node_named;

#[derive(Args)]
pub struct Options {
    /// A variable that can be set (repeatable) [default: all].
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// A variable that cannot be set (repeatable).
    #[arg(long = "forbid", value_name = "NAME")]
    forbidden: Vec<String>,
    /// Range that every variable can be set to [default: from the least to the most in the data, or -10 to 10].
    #[arg(long, value_name = "LOW:HIGH", allow_hyphen_values = true)]
    range: Option<String>,
    /// Range that a variable can be set to (repeatable).
    #[arg(long, value_name = "NAME=LOW:HIGH")]
    bounds: Vec<String>,
    /// The only values that a variable can be set to (repeatable).
    #[arg(long, value_name = "NAME=A,B,…")]
    levels: Vec<String>,
    /// Cost of a row in which a variable is set (repeatable) [default: 1]. Designs are compared by information per cost.
    #[arg(long, value_name = "NAME=COST")]
    cost: Vec<String>,
    /// What an experiment costs besides its rows, whatever their number.
    #[arg(long, default_value_t = 0.0, value_name = "COST", allow_negative_numbers = true)]
    experiment_cost: f64,
    /// Maximum cost of the batch, which may then be smaller than --batch.
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Maximum number of experiments that set the same variable.
    #[arg(long, value_name = "COUNT")]
    max_repeats: Option<usize>,
    /// Maximum number of variables that one experiment sets.
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    max_targets: usize,
}

impl Options {
    /// The constraints on variables of these names; `data` are their observations in brief, if any.
    pub fn constraints(&self, names: &Names, data: Option<&DataSummary>) -> Result<Constraints, Failure> {
        let nodes = |list: &[String], option: &str| -> Result<Vec<Node>, Failure> {
            list.iter().map(|name| node_named(name, names, option)).collect()
        };
        let everywhere = self.range.as_deref().map(|text| parse_range("--range", text)).transpose()?;
        let usual = match (everywhere, data) {
            (Some((low, high)), _) => Constraints::range(names.len(), low, high),
            (None, Some(data)) => Constraints::remembered(data),
            (None, None) => {
                tell!(
                    "note: the belief does not remember its data (an earlier version saved it, or it is a model): values from -10 to \
                     10 are proposed; --range or --bounds change that"
                );
                Constraints::range(names.len(), -10.0, 10.0)
            }
        };
        let (targets, forbidden) = (nodes(&self.targets, "--target")?, nodes(&self.forbidden, "--forbid")?);
        let allowed =
            |node: Node| (targets.is_empty() || targets.contains(&node)) && !forbidden.contains(&node);
        let given = |name: &str, list: &[String]| {
            list.iter().any(|text| text.rsplit_once('=').is_some_and(|t| t.0.trim() == name))
        };
        let bounded = |name: &str| given(name, &self.bounds) || given(name, &self.levels);
        if let Some(name) = names.iter().find(|name| given(name, &self.bounds) && given(name, &self.levels)) {
            return Err(Failure::Input(anyhow::anyhow!(
                "{name:?} has both --bounds and --levels; give only one of them"
            )));
        }
        let mut variables: Vec<Option<Allowed>> = (0..names.len())
            .map(|node| {
                let of_node = usual.variables[node].clone();
                if of_node.is_none() && allowed(node) {
                    tell!(
                        "note: {:?} never varies in the data and is not set; --bounds or --levels would allow it",
                        names[node]
                    );
                }
                let unspecified = || Allowed { levels: Levels::Range(0.0, 0.0), cost: 1.0 };
                let possible = of_node.or_else(|| bounded(&names[node]).then(unspecified));
                possible.filter(|_| allowed(node))
            })
            .collect();
        let mut change =
            |option: &str, text: &str, apply: &dyn Fn(&mut Allowed, &str) -> Result<(), Failure>| {
                let Some((name, rest)) = text.rsplit_once('=') else {
                    return Err(Failure::Input(anyhow::anyhow!(
                        "{option} {text}: the `=` after the name is missing"
                    )));
                };
                let node = node_named(name, names, &format!("{option} {text}"))?;
                // Options for a variable that cannot be set are checked all the same.
                let mut discarded = Allowed { levels: Levels::Range(0.0, 0.0), cost: 1.0 };
                apply(variables[node].as_mut().unwrap_or(&mut discarded), rest)
            };
        for text in &self.bounds {
            change("--bounds", text, &|allowed, rest| {
                let (low, high) = parse_range("--bounds", rest)?;
                allowed.levels = Levels::Range(low, high);
                Ok(())
            })?;
        }
        for text in &self.levels {
            change("--levels", text, &|allowed, rest| {
                let mut levels =
                    rest.split(',').map(|level| number("--levels", level)).collect::<Result<Vec<_>, _>>()?;
                levels.sort_by(f64::total_cmp);
                levels.dedup();
                allowed.levels = Levels::List(levels);
                Ok(())
            })?;
        }
        for text in &self.cost {
            change("--cost", text, &|allowed, rest| {
                allowed.cost = number("--cost", rest)?;
                Ok(())
            })?;
        }
        Ok(Constraints {
            variables,
            experiment_cost: self.experiment_cost,
            budget: self.budget,
            max_repeats: self.max_repeats,
            max_targets: self.max_targets,
        })
    }
}

fn parse_range(option: &str, text: &str) -> Result<(f64, f64), Failure> {
    let (low, high) = text.split_once(':').ok_or_else(|| {
        Failure::Input(anyhow::anyhow!("{option} {text}: write LOW:HIGH, for example -2:2"))
    })?;
    Ok((number(option, low)?, number(option, high)?))
}

fn number(option: &str, text: &str) -> Result<f64, Failure> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(Failure::Input(anyhow::anyhow!("{option}: {text:?} is not a finite number"))),
    }
}
