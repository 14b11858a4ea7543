//! How many experiments the lines of a study need to reach what the baseline reaches: figures, a table, and sentences.

use std::fmt::Write;

use seabed::evaluate::{Estimate, LEVEL_METRICS, Metric, Needed, experiments_needed};

use crate::chart::{Chart, Point, Series};
use crate::model::{Setting, Study};
use crate::study::{curves, line_row, verdict, words};
use crate::style::Look;
use crate::svg::escape;

/// What each line of a setting needs, for the metrics that have levels.
fn tables(setting: &Setting, baseline: &str) -> Vec<(Metric, Vec<Needed>)> {
    let table = |metric: Metric| {
        let curves = curves(setting, metric, |run, row| row.experiments(run.replicates));
        (metric, experiments_needed(&curves, metric, baseline))
    };
    LEVEL_METRICS.into_iter().map(table).filter(|(_, table)| !table.is_empty()).collect()
}

/// The share of worlds that have reached the level against experiments, one chart per metric.
pub(crate) fn charts(
    setting: &Setting,
    baseline: &str,
    looks: &impl Fn(&str) -> Look,
) -> Vec<(Metric, Chart)> {
    let drawn =
        tables(setting, baseline).into_iter().map(|(metric, table)| (metric, chart(metric, &table, looks)));
    drawn.filter(|(_, chart)| chart.has_values()).collect()
}

fn chart(metric: Metric, table: &[Needed], looks: &impl Fn(&str) -> Look) -> Chart {
    let point = |needed: &Needed, (x, share): (f64, f64)| Point {
        x,
        y: Some(share),
        error: None,
        note: format!(
            "{}, {x} experiments: {} of {} worlds",
            needed.line,
            (share * needed.count() as f64).round(),
            needed.count()
        ),
    };
    let series = |needed: &Needed| Series {
        label: needed.line.clone(),
        look: looks(&needed.line),
        points: needed.share_reached().into_iter().map(|step| point(needed, step)).collect(),
    };
    let baseline = table.first().map_or("", |needed| needed.baseline.as_str());
    Chart {
        title: format!("Worlds at {baseline}’s final {}", words(metric).0),
        x_label: "experiments".into(),
        y_label: "share of worlds [0 to 1]".into(),
        steps: true,
        series: table.iter().map(series).collect(),
    }
}

/// The figures and the table of a setting; empty if there is nothing to compare.
pub(crate) fn section(setting: &Setting, baseline: &str, looks: &impl Fn(&str) -> Look) -> String {
    let tables = tables(setting, baseline);
    if tables.is_empty() {
        return String::new();
    }
    let (mut figures, mut rows) = (String::new(), String::new());
    for (metric, table) in &tables {
        let chart = chart(*metric, table, looks);
        if chart.has_values() {
            figures.push_str(&chart.draw().inline());
            figures.push('\n');
        }
        let _ = writeln!(
            rows,
            "<tbody>\n<tr class=\"group\"><th colspan=\"6\">{}</th></tr>",
            escape(words(*metric).0)
        );
        rows.extend(table.iter().map(table_row));
        rows.push_str("</tbody>\n");
    }
    let name = escape(baseline);
    let all = || tables.iter().flat_map(|(metric, table)| table.iter().map(move |needed| (metric, needed)));
    let silent = all()
        .filter(|(_, needed)| needed.line == baseline)
        .map(|(metric, needed)| (words(*metric).0, needed.worlds.len() - needed.count()));
    let silent: Vec<String> =
        silent.filter(|(_, count)| *count > 0).map(|(metric, count)| format!("{count} ({metric})")).collect();
    let silent = match silent.is_empty() {
        true => String::new(),
        false => {
            format!(
                " Worlds in which {name} learned nothing say nothing and are left out: {}.",
                silent.join(", ")
            )
        }
    };
    let left_out = match all().any(|(_, needed)| needed.left_out > 0) {
        true => " Runs that have not reached the end, and those without a partner, are left out.",
        false => "",
    };
    format!(
        "<h3>Experiments needed</h3>\n<p>How many experiments it takes to know as much as {name} knows at its end, world by \
         world: the share of worlds that have reached that level.</p>\n<div class=\"figures\">\n{figures}</div>\n\
         <div class=\"scroll\"><table class=\"areas needed\">\n<thead><tr><th>line</th>\
         <th class=\"number\" title=\"worlds\">n</th><th class=\"number\">experiments</th><th class=\"number\">÷ {name}</th>\
         <th class=\"number\">p</th><th class=\"number\">reached</th></tr></thead>\n{rows}</table></div>\n\
         <p class=\"note\">Medians over n worlds and their ratios to {name}’s, with 95 % intervals where there are 6 worlds or \
         more; &gt; where a line did not get there. The interval of a median is by order statistics, that of a ratio by \
         2000 resamples of the worlds. p is from Wilcoxon’s signed-rank test of the paired numbers, two-sided, \
         not corrected for the number of comparisons; where a line did not get there, its number is one more than the \
         experiments it had; ✓ fewer and ✗ more than {name} with p &lt; 0.05.{silent}{left_out}</p>\n"
    )
}

fn table_row(needed: &Needed) -> String {
    let cell = |estimate: Option<Estimate>, number: fn(f64) -> String| match estimate.map(|e| e.words(number))
    {
        None => "–".to_string(),
        Some((value, None)) => escape(&value),
        Some((value, Some(interval))) => escape(&format!("{value} ({interval})")),
    };
    let saved = needed.against_baseline();
    let cells = [
        needed.count().to_string(),
        cell(needed.median(), |value| value.to_string()),
        cell(saved.map(|saved| saved.ratio), |ratio| format!("{ratio:.2}")),
        saved.map_or("–".to_string(), |saved| verdict(saved.p, saved.ratio.value < 1.0)),
        needed.reached().to_string(),
    ];
    line_row(&needed.line, &cells)
}

/// A sentence per setting and line, on the first metric whose levels say something; the others are in the page.
pub(crate) fn sentences(study: &Study) -> String {
    let mut text = String::new();
    for setting in &study.settings {
        let tables = tables(setting, &study.baseline);
        let says_something = |table: &&(Metric, Vec<Needed>)| table.1.iter().any(|needed| needed.count() > 0);
        let Some((metric, table)) = tables.iter().find(says_something).or(tables.first()) else { continue };
        let sentences: Vec<String> = table.iter().filter_map(Needed::sentence).collect();
        if sentences.is_empty() {
            continue;
        }
        let place = if study.settings.len() > 1 { format!(" ({})", setting.name) } else { String::new() };
        let _ = writeln!(
            text,
            "experiments until the {} is where {} ends{place}:",
            words(*metric).0,
            study.baseline
        );
        for sentence in sentences {
            let _ = writeln!(text, "  {sentence}");
        }
    }
    text
}
