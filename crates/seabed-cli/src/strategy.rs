//! How a batch is chosen, as `design` and `lab propose` take it: by a utility, or by the name of a strategy.

use clap::Args;
use seabed::design::Strategy;

#[derive(Args)]
pub struct StrategyOptions {
    /// What experiments, picked one after the other, are worth: `edges`, `graph` or `ancestors` of beliefs with graphs
    /// (mcmc-gp, mcmc-linear), or information about the `model` [default: edges, or model without graphs].
    #[arg(long, value_name = "NAME", value_parser = utility, conflicts_with = "strategy")]
    utility: Option<Strategy>,
    /// How the batch is chosen, instead of --utility: cbed, greedy-cbed, soft-cbed, random, ait, soft-ait or abcd; with
    /// graphs also greedy-edges, greedy-graph and greedy-ancestors [default: greedy-edges, or greedy-cbed without graphs].
    #[arg(long, value_name = "NAME", value_parser = strategy)]
    strategy: Option<Strategy>,
}

impl StrategyOptions {
    /// The strategy that was asked for, if any.
    pub fn asked(&self) -> Option<Strategy> {
        self.strategy.or(self.utility)
    }
}

fn utility(name: &str) -> Result<Strategy, String> {
    among(&Strategy::BY_UTILITY, "utilities", name)
}

fn strategy(name: &str) -> Result<Strategy, String> {
    among(&Strategy::ALL, "strategies", name)
}

fn among(known: &[(&str, Strategy)], what: &str, name: &str) -> Result<Strategy, String> {
    let found = known.iter().find(|(known, _)| *known == name);
    let names: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
    found.map(|(_, strategy)| *strategy).ok_or_else(|| format!("the {what} are {}", names.join(", ")))
}
