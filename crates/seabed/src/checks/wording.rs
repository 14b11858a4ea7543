//! Findings as sentences: what was seen, and what it may mean.

use super::verdict::{Evidence, Test};
use super::{Finding, Kind};
use crate::data::Dataset;

/// Findings of one kind that are told in full.
const MOST_TOLD: usize = 3;

/// The findings as lines for a reader: at most three of each kind, and how many more there are.
pub fn summary(findings: &[Finding]) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in Kind::ALL {
        let of_kind: Vec<&Finding> = findings.iter().filter(|finding| finding.kind == kind).collect();
        lines.extend(of_kind.iter().take(MOST_TOLD).map(|finding| finding.text.clone()));
        if let Some(more) = of_kind.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            lines.push(format!("{more} more like the last one"));
        }
    }
    lines
}

/// What to say where draws agree, so that nothing else warns, on models that fail their checks; none elsewhere.
pub fn caution(findings: &[Finding], warned: bool) -> Option<&'static str> {
    (!findings.is_empty() && !warned).then_some(
        "the draws agree with each other, but their models fail checks against the data: probabilities are only as right as \
         the models",
    )
}

/// The findings of some evidence, in its order.
pub(super) fn findings(evidence: Vec<Evidence>, data: &Dataset) -> Vec<Finding> {
    let name = |node: usize| data.names()[node].clone();
    let finding = |one: Evidence| {
        let [first, second] = one.nodes;
        let variables = if first == second { vec![name(first)] } else { vec![name(first), name(second)] };
        Finding {
            kind: one.test.kind(),
            variables,
            row: one.row.map(|row| row + 1),
            p_value: one.p_value,
            text: sentence(&one, data),
        }
    };
    evidence.into_iter().map(finding).collect()
}

fn sentence(one: &Evidence, data: &Dataset) -> String {
    let (a, b) = (&data.names()[one.nodes[0]], &data.names()[one.nodes[1]]);
    let size = one.size;
    let direction = |up: &'static str, down: &'static str| if size > 0.0 { up } else { down };
    match one.test {
        Test::Outlier => {
            let row = one.row.map_or(0, |row| row + 1);
            format!(
                "{a}: row {row} is {size:.0} noise levels from where the other rows put it: check this row"
            )
        }
        Test::FarValue => {
            let at = one.row.unwrap_or(0);
            let value = data.column(one.nodes[0])[at];
            let verb = if data.targets(at).contains(one.nodes[0]) { "sets" } else { "has" };
            let shown = if value.abs() < 1e5 { format!("{value}") } else { format!("{value:e}") };
            let join = if verb == "sets" { "to" } else { "=" };
            format!(
                "{a}: row {} {verb} {a} {join} {shown}, {size:.0} spreads from all other values, and decides every effect of \
                 {a} alone: check this value",
                at + 1
            )
        }
        Test::Effect if one.edge => format!(
            "{a} -> {b}: setting {a} does not change {b} as the other rows say it should; both may have a cause that was not \
             measured, or setting {a} did not work as recorded"
        ),
        Test::Effect => format!(
            "{a} and {b}: {b} is different where {a} was set, and no edge explains it; an effect is missing, or setting {a} did \
             more than recorded"
        ),
        Test::Trend => format!(
            "{a} {} over the rows (rank correlation {size:.2}): time, batch or order acts on it, and certainty is overstated",
            direction("grows", "falls")
        ),
        Test::Neighbours => format!(
            "{a}: neighbouring rows are {} (rank correlation {size:.2}): rows are not independent, or sorted, and certainty is \
             overstated",
            direction("alike", "opposed")
        ),
        Test::Together => format!(
            "{a} and {b}: what the graphs leave unexplained goes together (rank correlation {size:.2}); an edge is missing, or \
             both have a cause that was not measured"
        ),
        Test::Curved => format!(
            "{a} and {b}: {b} is {} where {a} is far from what is expected, on either side; a curved effect is missing, or both \
             have a cause that was not measured",
            direction("higher", "lower")
        ),
        Test::Sizes => format!(
            "{a} and {b}: both are noisy in the same rows (rank correlation {size:.2}); a cause of both that was not measured, or \
             rows of different quality"
        ),
        Test::Curvature => {
            format!("{a} -> {b} is curved, but the models are linear: mcmc-gp learns curved effects")
        }
        Test::GrowsWithMean => format!(
            "{a}: its noise {} where {a} is expected to be large, but the models have noise of one size; a transform such as the \
             logarithm may help",
            direction("grows", "shrinks")
        ),
        Test::GrowsOutward => format!(
            "{a}: its noise is {} where {a} is expected to be far from its mean, but the models have noise of one size",
            direction("larger", "smaller")
        ),
        Test::WhereSet => format!(
            "{a} and {b}: the noise of {b} is {} where {a} was set, but the models have noise of one size",
            direction("larger", "smaller")
        ),
        Test::Skewness => format!(
            "{a}: its noise is lopsided (skewness {size:.1}), but the models have normal noise; a transform such as the logarithm \
             may help"
        ),
        Test::Kurtosis if size > 3.0 => format!(
            "{a}: its noise has heavy tails (kurtosis {size:.1}, normal 3.0), so that a few rows count for too much; a transform \
             may help"
        ),
        Test::Kurtosis => format!(
            "{a}: its noise has light tails or two peaks (kurtosis {size:.1}, normal 3.0), but the models have normal noise"
        ),
    }
}
