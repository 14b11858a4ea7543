//! One run in detail: the final belief, why the last batch was chosen, and which experiments were made.

use std::fmt::Write;

use crate::chart::{Chart, marker};
use crate::curves;
use crate::graph;
use crate::layout::layout;
use crate::matrix;
use crate::model::{Intervention, Run, RunView, Table};
use crate::scale::{number, with_error};
use crate::study::Measure;
use crate::style::look;
use crate::svg::{Figure, escape};
use crate::words;

fn charts(run: &RunView) -> Vec<Chart> {
    let rows = Run { rows: run.rows.clone(), ..Run::default() };
    let one = || std::iter::once(("this run", look(0), std::slice::from_ref(&rows)));
    Measure::all().map(|measure| measure.chart(one(), run.short_unit())).filter(Chart::has_lines).collect()
}

/// (file stem, figure) of every figure of a run.
pub(crate) fn figures(run: &RunView) -> Vec<(String, Figure)> {
    let mut figures: Vec<(String, Figure)> = Vec::new();
    for chart in charts(run) {
        let axis = chart.y_label.split(" [").next().unwrap_or_default();
        figures.push((format!("run-{}", crate::svg::stem(axis)), chart.draw()));
    }
    if !run.names.is_empty() {
        let places = layout(run);
        figures.push(("run-belief".into(), graph::belief(run, &places).above(&graph::legend(run))));
        figures.extend(graph::truth(run, &places).map(|figure| ("run-truth".to_string(), figure)));
        figures.push(("run-edge-probabilities".into(), matrix::draw(run)));
    }
    figures.extend(curves::together(run).map(|figure| ("run-information".to_string(), figure)));
    figures
}

/// The run as part of a page, which may have the same title.
pub(crate) fn section(run: &RunView, page: &str) -> String {
    let mut html = String::from("<section>\n");
    if run.title != page {
        let _ = writeln!(html, "<h2>{}</h2>", escape(&run.title));
    }
    for paragraph in words::opening(run) {
        let _ = writeln!(html, "<p>{}</p>", escape(&paragraph));
    }
    let charts = charts(run);
    if !charts.is_empty() {
        html.push_str("<div class=\"figures\">\n");
        for chart in charts {
            html.push_str(&chart.draw().inline());
            html.push('\n');
        }
        html.push_str("</div>\n");
    }
    if !run.names.is_empty() {
        belief(&mut html, run);
    }
    checks(&mut html, &run.checks);
    texts(&mut html, &words::effects(&run.effects));
    run.tables.iter().for_each(|table| texts(&mut html, table));
    information(&mut html, run);
    interventions(&mut html, &run.interventions, run.unit());
    if !run.timing.is_empty() {
        html.push_str("<h3>Time</h3>\n<table><thead><tr><th>phase</th><th class=\"number\">seconds</th></tr></thead><tbody>\n");
        for (phase, seconds) in &run.timing {
            let (phase, seconds) = (escape(phase), number(Some(*seconds)));
            let _ =
                writeln!(html, "<tr><th scope=\"row\">{phase}</th><td class=\"number\">{seconds}</td></tr>");
        }
        html.push_str("</tbody></table>\n");
    }
    if !run.config_text.is_empty() {
        let text = escape(&run.config_text);
        let _ = writeln!(html, "<details><summary>Configuration</summary><pre>{text}</pre></details>");
    }
    html.push_str("</section>\n");
    html
}

fn belief(html: &mut String, run: &RunView) {
    let places = layout(run);
    let matrix = matrix::draw(run);
    // A small matrix goes beside the graphs; a large one keeps its size and can be scrolled.
    let beside = !places.circular && matrix.width <= 400.0;
    let class = if places.circular { "pair" } else { "figures" };
    let _ = writeln!(html, "<h3>Belief after the last round</h3>\n<div class=\"{class}\">");
    html.push_str(&graph::belief(run, &places).above(&graph::legend(run)).inline());
    if let Some(truth) = graph::truth(run, &places) {
        html.push('\n');
        html.push_str(&truth.inline());
    }
    if beside {
        let _ = writeln!(html, "\n{}\n</div>", matrix.inline());
    } else {
        let _ = writeln!(html, "\n</div>\n<div class=\"scroll\">{}</div>", matrix.inline());
    }
}

fn checks(html: &mut String, findings: &[String]) {
    if findings.is_empty() {
        return;
    }
    html.push_str(
        "<h3>Checks</h3>\n<p class=\"note\">What the learned models cannot explain in the data; of data that they can \
         explain, at most 5 % have any of these.</p>\n<ul>\n",
    );
    for finding in findings {
        let _ = writeln!(html, "<li>{}</li>", escape(finding));
    }
    html.push_str("</ul>\n");
}

fn information(html: &mut String, run: &RunView) {
    let panels = curves::panels(run);
    if panels.is_empty() {
        return;
    }
    let diamond = marker(curves::CHOSEN, 7.0, 7.0);
    let _ = writeln!(
        html,
        "<h3>Information over values, last round</h3>\n<p class=\"note\">Expected information [{}] of setting one variable \
         to a value; the most informative variable first. <svg viewBox=\"0 0 14 14\" width=\"14\" height=\"14\" \
         aria-hidden=\"true\">{diamond}</svg> marks what the last batch chose.</p>\n<div class=\"panels\">",
        escape(run.unit())
    );
    for panel in panels {
        html.push_str(&panel.inline());
        html.push('\n');
    }
    html.push_str("</div>\n");
}

/// A table of texts; nothing if it has no rows.
pub(crate) fn texts(html: &mut String, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let _ = writeln!(html, "<h3>{}</h3>", escape(&table.title));
    if !table.note.is_empty() {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(&table.note));
    }
    html.push_str("<div class=\"scroll\"><table class=\"texts\">\n<thead><tr>");
    for cell in &table.header {
        let _ = write!(html, "<th>{}</th>", escape(cell));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for cell in row {
            let _ = write!(html, "<td>{}</td>", escape(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

fn interventions(html: &mut String, made: &[Intervention], unit: &str) {
    if made.is_empty() {
        return;
    }
    let open = if made.len() <= 20 { " open" } else { "" };
    let _ = writeln!(
        html,
        "<h3>Interventions</h3>\n<details{open}><summary>{} in all</summary>\n<div class=\"scroll\"><table>\n\
         <thead><tr><th class=\"number\">round</th><th>intervention</th><th class=\"number\">information [{}]</th></tr></thead>\n<tbody>",
        made.len(),
        escape(unit)
    );
    for intervention in made {
        let target = |(name, value): &(String, f64)| format!("{name} = {}", number(Some(*value)));
        let targets: Vec<String> = intervention.targets.iter().map(target).collect();
        let information = intervention.information.filter(|i| i.is_finite());
        let _ = writeln!(
            html,
            "<tr><td class=\"number\">{}</td><td>{}</td><td class=\"number\">{}</td></tr>",
            intervention.round,
            escape(&format!("do({})", targets.join(", "))),
            information.map_or(number(None), |i| with_error(i, intervention.standard_error))
        );
    }
    html.push_str("</tbody></table></div></details>\n");
}
