//! The statistics of a study: curves of one metric over many runs, and strategies compared on the same seeds.
//!
//! A run gives one curve per metric: its value after each round against the number of interventional samples so far.
//! Here curves become means over seeds and areas, and areas become paired differences against a baseline: seed by
//! seed, as both strategies met the same world. Drawing is left to others.

use serde::Serialize;

use super::wilcoxon::wilcoxon_signed_rank;

/// What a curve shows, and which direction is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Expected structural Hamming distance.
    Eshd,
    /// Expected structural intervention distance.
    Esid,
    /// Area under the ROC curve of the edge probabilities.
    Auroc,
    /// Average precision of the edge probabilities.
    Auprc,
    /// Expected F1 of the edges.
    Ef1,
    /// Mean squared error of the edge probabilities.
    Brier,
    /// Expected calibration error of the edge probabilities.
    Ece,
    /// Squared errors of the edge probabilities, summed over all ordered pairs.
    EdgeLoss,
    /// Weight of the draws with the true graph.
    TruthMass,
    /// Expected number of wrong answers among the pairs that the question is about.
    GoalErrors,
    /// Expected Jaccard similarity of the parents asked for with the true ones.
    GoalJaccard,
}

impl Metric {
    /// Every metric, in the order in which they are reported.
    pub const ALL: [Metric; 11] = [
        Metric::Eshd,
        Metric::Esid,
        Metric::Auroc,
        Metric::Auprc,
        Metric::Ef1,
        Metric::Brier,
        Metric::Ece,
        Metric::EdgeLoss,
        Metric::TruthMass,
        Metric::GoalErrors,
        Metric::GoalJaccard,
    ];

    /// The name of its column in `metrics.csv`.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Eshd => "eshd",
            Metric::Esid => "esid",
            Metric::Auroc => "auroc",
            Metric::Auprc => "auprc",
            Metric::Ef1 => "ef1",
            Metric::Brier => "brier",
            Metric::Ece => "ece",
            Metric::EdgeLoss => "edge_loss",
            Metric::TruthMass => "truth_mass",
            Metric::GoalErrors => "goal_errors",
            Metric::GoalJaccard => "goal_jaccard",
        }
    }

    /// Distances and errors are better when lower, the others when higher.
    pub fn higher_is_better(self) -> bool {
        use Metric::{Auprc, Auroc, Ef1, GoalJaccard, TruthMass};
        matches!(self, Auroc | Auprc | Ef1 | TruthMass | GoalJaccard)
    }
}

/// One metric of one run. A study has each (setting, line, seed) once; of repeated ones the first is paired.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// What the compared runs have in common: world and posterior.
    pub setting: String,
    /// What is compared: the strategy.
    pub line: String,
    /// Same setting and seed: same world and same initial data.
    pub seed: u64,
    /// (interventional samples or experiments so far, value) after each round; a value that is not finite is missing.
    pub points: Vec<(f64, f64)>,
}

/// A mean over seeds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Mean {
    /// How many values.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Its standard error; none for one value.
    pub standard_error: Option<f64>,
}

/// The mean of the values; none without any.
pub fn mean(values: &[f64]) -> Option<Mean> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_error = (count > 1).then(|| (squares / (count - 1) as f64 / count as f64).sqrt());
    Some(Mean { count, mean, standard_error })
}

/// The mean over runs at every number of samples that at least one run has a value at, in increasing order.
pub fn mean_curve<'a>(runs: impl IntoIterator<Item = &'a [(f64, f64)]>) -> Vec<(f64, Mean)> {
    let mut points: Vec<(f64, f64)> = runs.into_iter().flat_map(present).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |same: &[(f64, f64)]| {
        let values: Vec<f64> = same.iter().map(|point| point.1).collect();
        mean(&values).map(|mean| (same[0].0, mean))
    };
    points.chunk_by(|a, b| a.0 == b.0).filter_map(at).collect()
}

/// The mean height of a curve: the area by trapezoids divided by the range of x. A missing value is bridged by a
/// straight line; a single point is its own height; none without points. The points may come in any order.
pub fn area_under_curve(points: &[(f64, f64)]) -> Option<f64> {
    let mut points: Vec<(f64, f64)> = present(points).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, last) = (points.first()?, points.last()?);
    let range = last.0 - first.0;
    if range == 0.0 {
        return mean(&points.iter().map(|point| point.1).collect::<Vec<_>>()).map(|mean| mean.mean);
    }
    let area: f64 = points.windows(2).map(|w| (w[1].0 - w[0].0) * (w[0].1 + w[1].1) / 2.0).sum();
    Some(area / range)
}

/// Differences to a baseline over common seeds, line minus baseline.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Paired {
    /// Mean difference over the common seeds, in the units of the metric.
    pub difference: Mean,
    /// Two-sided p of Wilcoxon's signed-rank test.
    pub p: f64,
    /// Seeds on which the line was better than the baseline.
    pub wins: usize,
    /// Seeds on which both were equal.
    pub ties: usize,
    /// Seeds on which the line was worse.
    pub losses: usize,
}

/// The differences (line minus baseline, one per seed, finite) as a comparison; none without any.
pub fn paired(metric: Metric, differences: &[f64]) -> Option<Paired> {
    let higher = differences.iter().filter(|d| **d > 0.0).count();
    let lower = differences.iter().filter(|d| **d < 0.0).count();
    let (wins, losses) = if metric.higher_is_better() { (higher, lower) } else { (lower, higher) };
    Some(Paired {
        difference: mean(differences)?,
        p: wilcoxon_signed_rank(differences)?,
        wins,
        ties: differences.len() - wins - losses,
        losses,
    })
}

/// One line of one setting: its areas, and how they differ from the baseline's.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// What the compared runs have in common.
    pub setting: String,
    /// The strategy.
    pub line: String,
    /// Mean area over the complete runs; none if there is none.
    pub area: Option<Mean>,
    /// Runs left out, because they do not span the setting's range of interventional samples.
    pub incomplete: usize,
    /// Against the baseline; none for the baseline itself, and without common seeds.
    pub against_baseline: Option<Paired>,
}

/// Areas under the curves of one metric, and their paired differences against the line named `baseline`: one entry
/// per (setting, line), in the order of their first curves.
///
/// Only runs that span the whole range of interventional samples of their setting count, as the mean height of a run
/// that stopped early is another quantity.
pub fn compare(curves: &[Curve], metric: Metric, baseline: &str) -> Vec<Comparison> {
    lines_of(curves)
        .into_iter()
        .map(|(setting, line)| {
            let of_setting: Vec<&Curve> = curves.iter().filter(|curve| curve.setting == setting).collect();
            let range = range_of(of_setting.iter().flat_map(|curve| present(&curve.points)));
            let runs: Vec<&Curve> = of_setting.iter().copied().filter(|curve| curve.line == line).collect();
            let areas = areas_by_seed(&runs, range);
            let others =
                of_setting.iter().copied().filter(|curve| curve.line == baseline && line != baseline);
            let others = areas_by_seed(&others.collect::<Vec<_>>(), range);
            let difference = |&(seed, area): &(u64, f64)| {
                others.iter().find(|other| other.0 == seed).map(|other| area - other.1)
            };
            let differences: Vec<f64> = areas.iter().filter_map(difference).collect();
            Comparison {
                setting: setting.to_string(),
                line: line.to_string(),
                area: mean(&areas.iter().map(|area| area.1).collect::<Vec<_>>()),
                incomplete: runs.len() - areas.len(),
                against_baseline: paired(metric, &differences),
            }
        })
        .collect()
}

/// Every (setting, line), in the order of their first curves.
pub(super) fn lines_of(curves: &[Curve]) -> Vec<(&str, &str)> {
    let mut lines: Vec<(&str, &str)> = Vec::new();
    for curve in curves {
        if !lines.contains(&(&curve.setting, &curve.line)) {
            lines.push((&curve.setting, &curve.line));
        }
    }
    lines
}

/// (seed, area) of the runs that span the range.
fn areas_by_seed(runs: &[&Curve], range: Option<(f64, f64)>) -> Vec<(u64, f64)> {
    let complete = runs.iter().filter(|run| range_of(present(&run.points)) == range);
    complete.filter_map(|run| Some((run.seed, area_under_curve(&run.points)?))).collect()
}

/// The least and the largest x.
pub(super) fn range_of(points: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    points.map(|point| (point.0, point.0)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The points that have a value.
pub(super) fn present(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(line: &str, seed: u64, values: &[f64]) -> Curve {
        let points = values.iter().enumerate().map(|(round, value)| (10.0 * round as f64, *value)).collect();
        Curve { setting: "er".into(), line: line.into(), seed, points }
    }

    #[test]
    fn the_mean_and_its_standard_error_by_hand() {
        // Deviations -2, 0, 2: variance 8 / 2 = 4, standard error sqrt(4 / 3).
        let found = mean(&[1.0, 3.0, 5.0]).unwrap();
        assert_eq!((found.count, found.mean), (3, 3.0));
        assert!((found.standard_error.unwrap() - (4.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(mean(&[7.0]), Some(Mean { count: 1, mean: 7.0, standard_error: None }));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn a_mean_curve_takes_at_each_point_the_runs_that_have_a_value() {
        let runs = [curve("a", 0, &[4.0, 2.0, 1.0]), curve("a", 1, &[6.0, f64::NAN])];
        let means = mean_curve(runs.iter().map(|run| run.points.as_slice()));
        let flat: Vec<_> = means.iter().map(|(x, m)| (*x, m.count, m.mean)).collect();
        assert_eq!(flat, [(0.0, 2, 5.0), (10.0, 1, 2.0), (20.0, 1, 1.0)]);
        assert_eq!(means[0].1.standard_error, Some(1.0));
    }

    #[test]
    fn areas_by_hand() {
        // Unequal steps: (10 * 3 + 30 * 1.5) / 40.
        assert_eq!(area_under_curve(&[(0.0, 4.0), (10.0, 2.0), (40.0, 1.0)]), Some(75.0 / 40.0));
        // A constant has its own height, on any range and in any order; a gap is bridged.
        assert_eq!(area_under_curve(&[(30.0, 2.5), (10.0, 2.5), (20.0, f64::NAN)]), Some(2.5));
        assert_eq!(area_under_curve(&[(5.0, 3.0)]), Some(3.0));
        assert_eq!(area_under_curve(&[(5.0, f64::INFINITY)]), None);
    }

    #[test]
    fn pairs_are_made_over_common_seeds_and_complete_runs() {
        let curves = [
            curve("random", 1, &[4.0, 4.0]),
            curve("soft", 1, &[4.0, 2.0]),
            curve("random", 2, &[4.0, 3.0]),
            curve("soft", 2, &[4.0, 3.0]),
            curve("random", 3, &[4.0, 1.0]),
            curve("soft", 3, &[4.0, 2.0]),
            curve("soft", 4, &[4.0, 0.0]), // no partner
            curve("soft", 5, &[4.0]),      // stopped early
            curve("random", 5, &[4.0, 2.0]),
        ];
        let table = compare(&curves, Metric::Eshd, "random");
        assert_eq!(table.iter().map(|row| row.line.as_str()).collect::<Vec<_>>(), ["random", "soft"]);
        assert_eq!(table[0].against_baseline, None);
        assert_eq!(table[0].area.unwrap().count, 4);
        assert_eq!((table[1].area.unwrap().count, table[1].incomplete), (4, 1));
        let against = table[1].against_baseline.unwrap();
        // Areas: 3 - 4, 3.5 - 3.5, 3 - 2.5.
        assert_eq!(against.difference.count, 3);
        assert!((against.difference.mean + 0.5 / 3.0).abs() < 1e-15);
        assert_eq!((against.wins, against.ties, against.losses), (1, 1, 1));
        // Ranks 2 (negative) and 1: every two-sided p is 1 with two signs unless both agree.
        assert_eq!(against.p, 1.0);
    }

    #[test]
    fn a_win_is_in_the_better_direction() {
        let differences = [1.0, 2.0, -1.0, 0.0];
        for metric in Metric::ALL {
            let found = paired(metric, &differences).unwrap();
            let higher = ["auroc", "auprc", "ef1", "truth_mass", "goal_jaccard"].contains(&metric.name());
            let expected = if higher { (2, 1, 1) } else { (1, 1, 2) };
            assert_eq!((found.wins, found.ties, found.losses), expected, "{}", metric.name());
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
        }
    }

    #[test]
    fn settings_do_not_mix() {
        let mut curves = vec![curve("random", 1, &[1.0, 1.0]), curve("soft", 1, &[3.0, 3.0])];
        let elsewhere = |c: &Curve| Curve { setting: "sf".into(), line: "soft".into(), ..c.clone() };
        curves.push(elsewhere(&curves[0]));
        let table = compare(&curves, Metric::Esid, "random");
        assert_eq!(table.len(), 3);
        assert_eq!(table[1].against_baseline.unwrap().losses, 1);
        assert_eq!(table[2].against_baseline, None, "the baseline of another setting is not a partner");
    }
}
