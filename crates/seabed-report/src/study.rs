//! A study: one figure per setting and metric, and the areas under the curves with their paired differences.

use std::fmt::Write;

use seabed::evaluate::{Comparison, Curve, Metric, compare, mean_curve};

use crate::chart::{Chart, Point, Series, swatch};
use crate::levels;
use crate::model::{Line, MetricRow, Run, Setting, Study};
use crate::scale::{number, p_value, with_error};
use crate::style::{BASELINE, Look, look};
use crate::svg::{Figure, escape, stem};

/// A quantity measured in every round.
#[derive(Clone, Copy)]
pub(crate) enum Measure {
    Metric(Metric),
    BatchInformation,
}

impl Measure {
    pub(crate) fn all() -> impl Iterator<Item = Measure> {
        Metric::ALL.into_iter().map(Measure::Metric).chain([Measure::BatchInformation])
    }

    fn of(self, row: &MetricRow) -> Option<f64> {
        let value = match self {
            Measure::Metric(metric) => row.metric(metric),
            Measure::BatchInformation => row.batch_information,
        };
        value.filter(|v| v.is_finite())
    }

    fn stem(self) -> &'static str {
        match self {
            Measure::Metric(metric) => metric.name(),
            Measure::BatchInformation => "batch-information",
        }
    }

    /// (title, axis label with unit); `unit` is that of information.
    fn words(self, unit: &str) -> (String, String) {
        let Measure::Metric(metric) = self else {
            return ("Information of the batch".into(), format!("information [{unit}]"));
        };
        let (name, axis) = words(metric);
        let direction =
            if metric.higher_is_better() { "↑ higher is better" } else { "↓ lower is better" };
        (format!("{name} {direction}"), axis.into())
    }

    /// One line per entry of `lines`: the mean over its runs with a band of one standard error to either side.
    /// `unit` is that of information.
    pub(crate) fn chart<'a>(
        self,
        lines: impl Iterator<Item = (&'a str, Look, &'a [Run])>,
        unit: &str,
    ) -> Chart {
        let (title, axis) = self.words(unit);
        let series = lines.map(|(label, look, runs)| self.series(label, look, runs)).collect();
        Chart { title, x_label: "interventional samples".into(), y_label: axis, steps: false, series }
    }

    fn points(self, run: &Run) -> Vec<(f64, f64)> {
        let point = |row: &MetricRow| (row.interventional_samples as f64, self.of(row).unwrap_or(f64::NAN));
        run.rows.iter().map(point).collect()
    }

    fn series(self, label: &str, look: Look, runs: &[Run]) -> Series {
        let curves: Vec<Vec<(f64, f64)>> = runs.iter().map(|run| self.points(run)).collect();
        let means = mean_curve(curves.iter().map(Vec::as_slice));
        let mut places: Vec<f64> = curves.iter().flatten().map(|point| point.0).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let point = |x: f64| {
            let mean = means.iter().find(|(at, _)| *at == x).map(|(_, mean)| *mean);
            let note = mean.map_or(String::new(), |m| {
                let runs = if m.count > 1 { format!(" ({} runs)", m.count) } else { String::new() };
                format!("{label}, {x} samples: {}{runs}", with_error(m.mean, m.standard_error))
            });
            Point { x, y: mean.map(|m| m.mean), error: mean.and_then(|m| m.standard_error), note }
        };
        Series { label: label.to_string(), look, points: places.into_iter().map(point).collect() }
    }
}

/// (name, axis label with unit) of a metric.
pub(crate) fn words(metric: Metric) -> (&'static str, &'static str) {
    match metric {
        Metric::Eshd => ("E-SHD", "E-SHD [edges]"),
        Metric::Esid => ("E-SID", "E-SID [node pairs]"),
        Metric::Auroc => ("AUROC", "AUROC [0 to 1]"),
        Metric::Auprc => ("AUPRC", "AUPRC [0 to 1]"),
        Metric::Ef1 => ("E-F1", "E-F1 [0 to 1]"),
        Metric::Brier => ("Brier score", "Brier score [0 to 1]"),
        Metric::Ece => ("Calibration error", "ECE [0 to 1]"),
        Metric::EdgeLoss => ("Edge loss", "edge loss [edges]"),
        Metric::TruthMass => ("Weight of the truth", "weight [0 to 1]"),
        Metric::GoalErrors => ("Wrong answers", "wrong answers [pairs]"),
        Metric::GoalJaccard => ("Similar parents", "Jaccard [0 to 1]"),
    }
}

/// A label looks the same in every setting; the baseline is grey.
fn looks(study: &Study) -> impl Fn(&str) -> Look {
    let mut labels: Vec<String> = Vec::new();
    for line in study.settings.iter().flat_map(|setting| &setting.lines) {
        if line.label != study.baseline && !labels.contains(&line.label) {
            labels.push(line.label.clone());
        }
    }
    move |label| labels.iter().position(|known| known == label).map_or(BASELINE, look)
}

/// The charts of one setting that have values.
fn charts(setting: &Setting, looks: &impl Fn(&str) -> Look) -> Vec<(Measure, Chart)> {
    let lines =
        || setting.lines.iter().map(|line| (line.label.as_str(), looks(&line.label), line.runs.as_slice()));
    // Strategies may measure information in different units.
    let drawn = Measure::all().map(|measure| (measure, measure.chart(lines(), "own unit")));
    drawn.filter(|(_, chart)| chart.has_lines()).collect()
}

/// (file stem, figure with legend) of every setting and metric.
pub(crate) fn figures(study: &Study) -> Vec<(String, Figure)> {
    let looks = looks(study);
    let mut figures: Vec<(String, Figure)> = Vec::new();
    for (k, setting) in study.settings.iter().enumerate() {
        let mut name = stem(&setting.name);
        let same = |other: &Setting| stem(&other.name) == name;
        if name.is_empty() || study.settings.iter().filter(|other| same(other)).count() > 1 {
            name = format!("{}-{name}", k + 1).trim_end_matches('-').to_string();
        }
        let measures = charts(setting, &looks).into_iter().map(|(measure, chart)| (measure.stem(), chart));
        let named = measures.map(|(measure, chart)| (format!("{name}-{measure}"), chart));
        let reached = levels::charts(setting, &study.baseline, &looks).into_iter();
        let reached = reached.map(|(metric, chart)| (format!("{name}-reached-{}", metric.name()), chart));
        for (stem, mut chart) in named.chain(reached) {
            chart.title = format!("{} – {}", chart.title, setting.name);
            figures.push((stem, chart.draw_with_legend()));
        }
    }
    figures
}

/// The study as part of a page.
pub(crate) fn section(study: &Study) -> String {
    let looks = looks(study);
    let mut html = String::new();
    if study.settings.is_empty() {
        html.push_str("<p>No runs.</p>\n");
    }
    for setting in &study.settings {
        let charts = charts(setting, &looks);
        let _ = writeln!(html, "<section>\n<h2>{}</h2>\n<p>{}</p>", escape(&setting.name), seeds(setting));
        html.push_str("<div class=\"legend\">");
        for line in &setting.lines {
            let _ = write!(
                html,
                "<span><svg viewBox=\"0 0 30 14\" width=\"30\" height=\"14\" aria-hidden=\"true\">{}</svg> {}</span>",
                swatch(looks(&line.label)),
                escape(&line.label)
            );
        }
        html.push_str("</div>\n<div class=\"figures\">\n");
        for (_, chart) in &charts {
            html.push_str(&chart.draw().inline());
            html.push('\n');
        }
        html.push_str("</div>\n");
        if charts.is_empty() {
            html.push_str("<p>No run has a value yet.</p>\n");
        }
        html.push_str(&area_table(setting, &study.baseline));
        html.push_str(&levels::section(setting, &study.baseline, &looks));
        html.push_str("</section>\n");
    }
    html
}

fn seeds(setting: &Setting) -> String {
    let counts: Vec<usize> = setting.lines.iter().map(|line| line.runs.len()).collect();
    let (least, most) =
        (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    match (least, most) {
        (_, 0 | 1) => "One run per line.".into(),
        (a, b) if a == b => format!("Mean over {a} seeds per line; the bands are ± one standard error."),
        (a, b) => format!("Mean over {a} to {b} seeds per line; the bands are ± one standard error."),
    }
}

/// The curves of all runs of a setting over what `x` gives for a round.
pub(crate) fn curves(setting: &Setting, metric: Metric, x: impl Fn(&Run, &MetricRow) -> usize) -> Vec<Curve> {
    let points = |run: &Run| {
        let value = |row| Measure::Metric(metric).of(row).unwrap_or(f64::NAN);
        run.rows.iter().map(|row| (x(run, row) as f64, value(row))).collect()
    };
    let of_line = setting.lines.iter().flat_map(|line| line.runs.iter().map(move |run| (line, run)));
    let curve = |(line, run): (&Line, &Run)| Curve {
        setting: setting.name.clone(),
        line: line.label.clone(),
        seed: run.seed,
        points: points(run),
    };
    of_line.map(curve).collect()
}

/// Mean heights of the curves, and how they differ from the baseline's on the same seeds.
pub(crate) fn area_table(setting: &Setting, baseline: &str) -> String {
    let samples = |_: &Run, row: &MetricRow| row.interventional_samples;
    let mut rows = String::new();
    let mut incomplete = 0;
    for metric in Metric::ALL {
        let table = compare(&curves(setting, metric, samples), metric, baseline);
        if table.iter().all(|row| row.area.is_none()) {
            continue;
        }
        let (title, _) = Measure::Metric(metric).words("");
        let _ = writeln!(rows, "<tbody>\n<tr class=\"group\"><th colspan=\"6\">{}</th></tr>", escape(&title));
        for row in &table {
            incomplete = incomplete.max(row.incomplete);
            rows.push_str(&table_row(row, metric));
        }
        rows.push_str("</tbody>\n");
    }
    if rows.is_empty() {
        return String::new();
    }
    let name = escape(baseline);
    let left_out = if incomplete > 0 { " Runs that have not reached the end are left out." } else { "" };
    let known = setting.lines.iter().any(|line| line.label == baseline);
    let paired = if known {
        format!(
            "Differences are line minus {name} on the same seeds; p is from Wilcoxon’s signed-rank test, two-sided, not \
             corrected for the number of comparisons; ✓ better and ✗ worse than {name} with p &lt; 0.05."
        )
    } else {
        format!("No line is called {name}, so there are no differences.")
    };
    format!(
        "<h3>Areas under the curves</h3>\n<div class=\"scroll\"><table class=\"areas\">\n<thead><tr><th>line</th>\
         <th class=\"number\" title=\"runs\">n</th><th class=\"number\">mean height</th><th class=\"number\">− {name}</th>\
         <th class=\"number\">p</th><th class=\"number\">wins/<wbr>ties/<wbr>losses</th></tr></thead>\n{rows}</table></div>\n\
         <p class=\"note\">Mean height of a run’s curve over its interventional samples; mean ± standard error over \
         n seeds. {paired}{left_out}</p>\n"
    )
}

/// A p-value, marked if it is significant.
pub(crate) fn verdict(p: f64, better: bool) -> String {
    let text = escape(&p_value(p));
    match (p < 0.05, better) {
        (false, _) => text,
        (true, true) => format!("<span class=\"good\">✓ {text}</span>"),
        (true, false) => format!("<span class=\"bad\">✗ {text}</span>"),
    }
}

fn table_row(row: &Comparison, metric: Metric) -> String {
    let area = row.area.map_or(number(None), |area| with_error(area.mean, area.standard_error));
    let runs = row.area.map_or(0, |area| area.count);
    let cells = row.against_baseline.map_or_else(
        || ["–".to_string(), "–".to_string(), "–".to_string()],
        |against| {
            let mean = against.difference.mean;
            let verdict = verdict(against.p, (mean > 0.0) == metric.higher_is_better());
            let counts = format!("{}/{}/{}", against.wins, against.ties, against.losses);
            [with_error(mean, against.difference.standard_error), verdict, counts]
        },
    );
    let [difference, p, counts] = cells;
    line_row(&row.line, &[runs.to_string(), area, difference, p, counts])
}

/// A row of a table with a line per row; the cells are HTML.
pub(crate) fn line_row(line: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td class=\"number\">{cell}</td>")).collect();
    format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(line))
}
