//! The content of a report: plain data, filled in by the caller.

use std::collections::BTreeMap;

use seabed::design::EvaluationRecord;
pub use seabed::evaluate::MetricRow;

/// Many runs: strategies compared on the same seeds, in one or more settings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Study {
    /// The page's or section's headline.
    pub title: String,
    /// Each a world and a posterior, with its own section.
    pub settings: Vec<Setting>,
    /// The label of the line to compare the others with, usually `random`.
    pub baseline: String,
}

impl Study {
    /// The labels of all lines, in every setting.
    pub fn labels(&self) -> impl Iterator<Item = &str> + Clone {
        self.settings.iter().flat_map(|setting| setting.lines.iter().map(|line| line.label.as_str()))
    }
}

/// Runs that differ only in what is compared and in their seeds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Setting {
    /// For the reader: `linear er, d = 20, bootstrap`.
    pub name: String,
    /// One per strategy.
    pub lines: Vec<Line>,
}

/// The runs of one strategy.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Line {
    /// The same label has the same colour in every setting.
    pub label: String,
    /// One per seed.
    pub runs: Vec<Run>,
}

/// What one run measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Run {
    /// Same setting and seed: same world and initial data.
    pub seed: u64,
    /// One per round; a missing or non-finite value is a gap in the figures.
    pub rows: Vec<MetricRow>,
    /// Rows of data that an experiment gives; 0 stands for 1.
    pub replicates: usize,
}

/// One run in detail. Everything but the title and the names may be empty.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunView {
    /// The page's or section's headline.
    pub title: String,
    /// The resolved configuration, shown as it is.
    pub config_text: String,
    /// The variables; `d` of them.
    pub names: Vec<String>,
    /// `truth[i][j]`: is there an edge `i -> j`? May have cycles; `None` in a laboratory. Shape `[d, d]`.
    pub truth: Option<Vec<Vec<bool>>>,
    /// `edge_probabilities[i][j]` of the edge `i -> j` after the last round. Shape `[d, d]`.
    pub edge_probabilities: Vec<Vec<f64>>,
    /// One per round.
    pub rows: Vec<MetricRow>,
    /// What information is measured in; nats if it is empty.
    pub unit: String,
    /// Every intervention made, in order.
    pub interventions: Vec<Intervention>,
    /// Information over values, of the last round.
    pub curves: Vec<InformationCurve>,
    /// (phase, seconds).
    pub timing: Vec<(String, f64)>,
    /// What in the data the models cannot have made, a sentence each.
    pub checks: Vec<String>,
    /// What was asked and measured, in sentences; what is believed and undecided follows from the probabilities.
    pub asked: String,
    /// What to do next, in sentences.
    pub next: String,
    /// What to beware of, each without its full stop.
    pub cautions: Vec<String>,
    /// What setting a variable does to another, the most probable first.
    pub effects: Vec<EffectRow>,
    /// Tables of texts, after the effects.
    pub tables: Vec<Table>,
}

/// What setting one variable does to another.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EffectRow {
    /// The variable that is set.
    pub from: String,
    /// The variable that is looked at.
    pub to: String,
    /// Change of `to` per unit of `from`.
    pub mean: f64,
    /// 90 % of the belief lies in it.
    pub interval: [f64; 2],
    /// Probability that there is an effect at all.
    pub not_zero: f64,
    /// The unit of the change, in words; may be empty.
    pub unit: String,
}

/// A table of texts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// Its headline.
    pub title: String,
    /// A sentence below it; may be empty.
    pub note: String,
    /// One per column.
    pub header: Vec<String>,
    /// Each as long as the header.
    pub rows: Vec<Vec<String>>,
}

impl RunView {
    /// What information is measured in.
    pub(crate) fn unit(&self) -> &str {
        if self.unit.is_empty() { "nats" } else { &self.unit }
    }

    /// The same where there is little room: `squared error` instead of `squared error of edge probabilities`.
    pub(crate) fn short_unit(&self) -> &str {
        self.unit().split(" of ").next().unwrap_or_default()
    }

    /// The probability of `i -> j`; 0 where it is missing or not a number, and for `i = j`.
    pub(crate) fn probability(&self, i: usize, j: usize) -> f64 {
        let p = self.edge_probabilities.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0.0);
        if i == j || p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) }
    }

    /// Is `i -> j` a true edge? `None` if the truth is unknown.
    pub(crate) fn is_true(&self, i: usize, j: usize) -> Option<bool> {
        let truth = self.truth.as_ref()?;
        Some(truth.get(i).and_then(|row| row.get(j)).copied().unwrap_or(false))
    }
}

/// One experiment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Intervention {
    /// The round it was made in.
    pub round: usize,
    /// (variable, value it was set to).
    pub targets: Vec<(String, f64)>,
    /// Expected information in the run's unit, if it was computed.
    pub information: Option<f64>,
    /// Monte Carlo standard error of the information.
    pub standard_error: Option<f64>,
}

/// Information against the value a target is set to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InformationCurve {
    /// The variable.
    pub target: String,
    /// (value, information in the run's unit), in any order.
    pub points: Vec<(f64, f64)>,
}

impl InformationCurve {
    /// Information against value for each target that was tried alone.
    pub fn of(evaluated: &[EvaluationRecord]) -> Vec<Self> {
        let mut of_target: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for evaluation in evaluated {
            if let [(target, value)] = &evaluation.targets[..] {
                of_target.entry(target).or_default().push((*value, evaluation.information));
            }
        }
        of_target.into_iter().map(|(target, points)| Self { target: target.into(), points }).collect()
    }
}
