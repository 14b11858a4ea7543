//! What designs are compared by, how a batch is picked from them, and the strategies: names of combinations of the two.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::value::Values;

/// What designs are compared by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Utility {
    /// Information about the whole model, or about the answer to a question.
    Model,
    /// Information about the graph, or about the answer to a question, parameters integrated out.
    Graph,
    /// Expected squared error of the edge probabilities, parameters integrated out.
    Edges,
    /// Expected squared error of the probabilities that one variable is an ancestor of another, parameters integrated out.
    Ancestors,
    /// How far the draws' expectations are apart, in units of their noise (AIT).
    Discrepancy,
}

impl Utility {
    /// What worths are measured in, for people.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Model | Self::Graph | Self::Discrepancy => "nats",
            Self::Edges => "squared error of edge probabilities",
            Self::Ancestors => "squared error of ancestor probabilities",
        }
    }

    /// Is it about graphs, parameters integrated out?
    pub fn needs_graphs(self) -> bool {
        matches!(self, Self::Graph | Self::Edges | Self::Ancestors)
    }
}

/// How a batch is picked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The best design, as often as the batch is large.
    Best,
    /// One after the other, each the best together with those before it.
    Greedy,
    /// Drawn without replacement, in proportion to exp(worth / temperature).
    Soft,
    /// Targets and values at random.
    Random,
}

/// How a batch is put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The best design, as often as the batch is large.
    Cbed,
    /// One after the other, each the best together with those before it.
    GreedyCbed,
    /// Drawn without replacement, in proportion to exp(information / temperature).
    SoftCbed,
    /// Targets and values at random.
    Random,
    /// The design with the largest discrepancy between draws, as often as the batch is large.
    Ait,
    /// Drawn by discrepancy as in `SoftCbed`.
    SoftAit,
    /// `GreedyCbed` with a fixed value.
    Abcd,
    /// One after the other, each the best for the graph together with those before it.
    GreedyGraph,
    /// One after the other, each the best for the edges together with those before it.
    GreedyEdges,
    /// One after the other, each the best for ancestor relations together with those before it.
    GreedyAncestors,
}

impl Strategy {
    /// Every strategy with its name on the command line.
    pub const ALL: [(&'static str, Self); 10] = [
        ("cbed", Self::Cbed),
        ("greedy-cbed", Self::GreedyCbed),
        ("soft-cbed", Self::SoftCbed),
        ("random", Self::Random),
        ("ait", Self::Ait),
        ("soft-ait", Self::SoftAit),
        ("abcd", Self::Abcd),
        ("greedy-graph", Self::GreedyGraph),
        ("greedy-edges", Self::GreedyEdges),
        ("greedy-ancestors", Self::GreedyAncestors),
    ];

    /// The utilities that people choose by name, each with the strategy that picks one experiment after the other by it.
    pub const BY_UTILITY: [(&'static str, Self); 4] = [
        ("edges", Self::GreedyEdges),
        ("graph", Self::GreedyGraph),
        ("ancestors", Self::GreedyAncestors),
        ("model", Self::GreedyCbed),
    ];

    /// The strategy for one's own experiments unless another is asked for: by edges where the belief has graphs, else by
    /// information about the model.
    pub fn recommended(has_graphs: bool) -> Self {
        if has_graphs { Self::GreedyEdges } else { Self::GreedyCbed }
    }

    /// Outcomes of each draw that are simulated for one's own experiments unless another number is asked for. Information about
    /// the model compares every outcome with every draw, and 2000 outcomes in all have a standard error of a few hundredths of
    /// a nat; more of them would only take longer.
    pub fn usual_samples(self, draws: usize) -> usize {
        match self.parts().0 {
            Utility::Model => (2000 / draws.max(1)).clamp(10, 100),
            _ => 100,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, strategy)| *strategy == self).expect("all strategies are listed").0
    }

    /// What designs are worth to it, and how it picks them.
    pub fn parts(self) -> (Utility, Rule) {
        match self {
            Self::Cbed => (Utility::Model, Rule::Best),
            Self::GreedyCbed | Self::Abcd => (Utility::Model, Rule::Greedy),
            Self::SoftCbed => (Utility::Model, Rule::Soft),
            Self::Random => (Utility::Model, Rule::Random),
            Self::Ait => (Utility::Discrepancy, Rule::Best),
            Self::SoftAit => (Utility::Discrepancy, Rule::Soft),
            Self::GreedyGraph => (Utility::Graph, Rule::Greedy),
            Self::GreedyEdges => (Utility::Edges, Rule::Greedy),
            Self::GreedyAncestors => (Utility::Ancestors, Rule::Greedy),
        }
    }

    /// The values that it tries when these are requested: ABCD uses fixed ones only.
    pub(super) fn values(self, requested: &Values) -> Cow<'_, Values> {
        match (self, requested) {
            (Self::Abcd, Values::Sample | Values::Grid(_) | Values::Refined | Values::GpUcb { .. }) => {
                Cow::Owned(Values::Fixed(0.0))
            }
            _ => Cow::Borrowed(requested),
        }
    }
}
