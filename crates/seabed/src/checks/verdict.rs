//! One probability from many graphs and many tests.
//!
//! A test is made on several graphs of the belief. Twice the median of its probabilities is a probability again, and
//! small only if at least half of the graphs fail. Every kind of check has the same share of the error rate, and
//! the tests of a kind share it evenly (Bonferroni): the chance of any false alarm is at most the error rate.

use std::collections::BTreeMap;

use super::{ERROR_RATE, Kind, MOST_GRAPHS};
use crate::graph::Node;

/// One of the tests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Test {
    /// A residual that is too large, of a single row.
    Outlier,
    /// A value further from all others than they are apart.
    FarValue,
    /// Setting the first variable and the second one.
    Effect,
    /// Residuals against the place of the row.
    Trend,
    /// Residuals of neighbouring rows.
    Neighbours,
    /// Residuals of two variables.
    Together,
    /// The size of the first residual and the second residual.
    Curved,
    /// The sizes of two residuals.
    Sizes,
    /// Polynomials of the first variable and the second one.
    Curvature,
    /// The size of the residual and what is explained.
    GrowsWithMean,
    /// The size of the residual and how far from its mean what is explained lies.
    GrowsOutward,
    /// The size of the residual of the second where the first was set.
    WhereSet,
    /// Skewness of the residuals.
    Skewness,
    /// Kurtosis of the residuals.
    Kurtosis,
}

impl Test {
    pub fn kind(self) -> Kind {
        match self {
            Self::Outlier | Self::FarValue => Kind::Row,
            Self::Effect => Kind::Effect,
            Self::Trend | Self::Neighbours => Kind::Drift,
            Self::Together | Self::Curved | Self::Sizes => Kind::Dependence,
            Self::Curvature => Kind::Curvature,
            Self::GrowsWithMean | Self::GrowsOutward | Self::WhereSet => Kind::Spread,
            Self::Skewness | Self::Kurtosis => Kind::Tails,
        }
    }
}

/// The result of a test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Evidence {
    pub test: Test,
    /// The variables; twice the same if it is about one.
    pub nodes: [Node; 2],
    /// The probability of as much or more.
    pub p_value: f64,
    /// How much: a correlation, a ratio, a number of spreads.
    pub size: f64,
    /// Counted from 0.
    pub row: Option<usize>,
    /// Is the first variable a parent of the second?
    pub edge: bool,
}

/// Evidence of one test, each with how many graphs it is of.
type Votes = Vec<(usize, Evidence)>;

/// What is found in (votes, evidence) of several graphs and in evidence that no graph is needed for: probabilities
/// corrected, the likely causes first.
pub(super) fn verdict(of_graphs: Vec<(usize, Vec<Evidence>)>, of_data: Vec<Evidence>) -> Vec<Evidence> {
    let mut tests: BTreeMap<(Test, [Node; 2]), Votes> = BTreeMap::new();
    let all = of_graphs.into_iter().chain([(MOST_GRAPHS, of_data)]);
    for (votes, evidence) in all {
        for one in evidence {
            tests.entry((one.test, one.nodes)).or_default().push((votes, one));
        }
    }
    let decided: Vec<Evidence> = tests.into_values().filter_map(median).collect();
    let count = |kind: Kind| decided.iter().filter(|one| one.test.kind() == kind).count();
    let counts: BTreeMap<Kind, usize> = Kind::ALL.into_iter().map(|kind| (kind, count(kind))).collect();
    let corrected = |one: Evidence| {
        let shares = Kind::ALL.len() * counts[&one.test.kind()];
        Evidence { p_value: one.p_value * shares as f64, ..one }
    };
    let mut found: Vec<Evidence> =
        decided.into_iter().map(corrected).filter(|one| one.p_value <= ERROR_RATE).collect();
    found.sort_by(|a, b| {
        let order = |one: &Evidence| (one.test.kind(), one.test, one.nodes);
        a.test.kind().cmp(&b.test.kind()).then(a.p_value.total_cmp(&b.p_value)).then(order(a).cmp(&order(b)))
    });
    told_once(found)
}

/// One finding of a kind for the same variables: the most certain one, or heavy tails, which make noise look lopsided too.
fn told_once(found: Vec<Evidence>) -> Vec<Evidence> {
    let about = |one: &Evidence| {
        let [a, b] = one.nodes;
        (one.test.kind(), a.min(b), a.max(b))
    };
    let better = |k: usize, other: usize| match (found[k].test, found[other].test) {
        (Test::Kurtosis, Test::Skewness) => true,
        (Test::Skewness, Test::Kurtosis) => false,
        _ => k < other,
    };
    let best = |k: usize| {
        let mut others =
            (0..found.len()).filter(|&other| other != k && about(&found[other]) == about(&found[k]));
        others.all(|other| better(k, other))
    };
    (0..found.len()).filter(|&k| best(k)).map(|k| found[k]).collect()
}

/// The evidence at which half of the votes is reached, its probability doubled; none if fewer than half of the graphs
/// have the test at all.
fn median(mut votes: Vec<(usize, Evidence)>) -> Option<Evidence> {
    votes.sort_by(|a, b| a.1.p_value.total_cmp(&b.1.p_value));
    let mut reached = 0;
    let half = votes.into_iter().find(|(count, _)| {
        reached += count;
        2 * reached >= MOST_GRAPHS
    });
    half.map(|(_, one)| Evidence { p_value: (2.0 * one.p_value).min(1.0), ..one })
}
