//! Information against the value of an intervention: one small panel per target, on one scale of information.

use std::fmt::Write;

use crate::chart::{axes, marker};
use crate::model::{InformationCurve, RunView};
use crate::scale::{Scale, drawable};
use crate::style::{Look, Marker, look};
use crate::svg::{Figure, at, escape, fitted};

const WIDTH: f64 = 176.0;
const HEIGHT: f64 = 136.0;

/// How a chosen value is marked.
pub(crate) const CHOSEN: Look = Look { class: "c1", dash: "", marker: Marker::Diamond };

/// A panel per target, the most informative first.
pub(crate) fn panels(run: &RunView) -> Vec<Figure> {
    // One value is a dot, not a curve.
    let mut curves: Vec<&InformationCurve> =
        run.curves.iter().filter(|curve| points(curve).len() > 1).collect();
    // A stable sort: equal ones stay in the order of the run.
    curves.sort_by(|a, b| best(b).unwrap_or(0.0).total_cmp(&best(a).unwrap_or(0.0)));
    let heights = curves.iter().flat_map(|curve| points(curve)).map(|point| point.1);
    // Information starts at zero; an estimate may fall below it.
    let y = Scale::covering(heights.chain([0.0]), false, HEIGHT - 36.0, 10.0, 3);
    curves.into_iter().map(|curve| panel(run, curve, &y)).collect()
}

/// All panels in one figure, four in a row.
pub(crate) fn together(run: &RunView) -> Option<Figure> {
    let panels = panels(run);
    let title = format!("Information over values [{}]", run.short_unit());
    let mut body = format!(
        "<text class=\"title\" x=\"12\" y=\"18\">{}; ◆ chosen in the last round</text>\n",
        escape(&title)
    );
    for (k, panel) in panels.iter().enumerate() {
        let (column, row) = ((k % 4) as f64, (k / 4) as f64);
        let _ = writeln!(
            body,
            "<g transform=\"translate({} {})\">{}</g>",
            at(column * WIDTH),
            at(28.0 + row * HEIGHT),
            panel.body
        );
    }
    let columns = panels.len().clamp(2, 4) as f64;
    let height = 28.0 + panels.len().div_ceil(4) as f64 * HEIGHT;
    (!panels.is_empty()).then_some(Figure { width: columns * WIDTH, height, title, body })
}

/// The drawable points, in the order of their values.
fn points(curve: &InformationCurve) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        curve.points.iter().copied().filter(|(x, y)| drawable(*x) && drawable(*y)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn best(curve: &InformationCurve) -> Option<f64> {
    points(curve).into_iter().map(|point| point.1).reduce(f64::max)
}

/// The values to which the last round set this target alone.
fn chosen(run: &RunView, target: &str) -> Vec<f64> {
    let last = run.interventions.iter().map(|made| made.round).max();
    let of_last = run.interventions.iter().filter(|made| Some(made.round) == last);
    let value = |made: &crate::model::Intervention| match made.targets.as_slice() {
        [(name, value)] if name == target => Some(*value),
        _ => None,
    };
    let mut values: Vec<f64> = of_last.filter_map(value).filter(|v| drawable(*v)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

fn panel(run: &RunView, curve: &InformationCurve, y: &Scale) -> Figure {
    let points = points(curve);
    let (left, right, bottom) = (44.0, WIDTH - 12.0, HEIGHT - 36.0);
    let x = Scale::covering(points.iter().map(|point| point.0), false, left, right, 2);
    let mut body = String::new();
    axes(&mut body, &x, y, true);
    let middle = (left + right) / 2.0;
    let name = fitted(&curve.target, 12.0, 78.0);
    let _ = writeln!(
        body,
        "<text class=\"mid\" x=\"{}\" y=\"{}\">value of \
         <tspan class=\"bold\">{}</tspan></text>",
        at(middle),
        at(bottom + 30.0),
        escape(&name)
    );
    let places: Vec<String> =
        points.iter().map(|(px, py)| format!("{} {}", at(x.place(*px)), at(y.place(*py)))).collect();
    let _ = writeln!(body, "<g class=\"plot\"><path class=\"line s-c0\" d=\"M{}\"/>", places.join("L"));
    for &(px, py) in &points {
        let note = format!("do({} = {px:.4}): {py:.4} {}", curve.target, run.unit());
        let _ = writeln!(
            body,
            "<g>{}<title>{}</title></g>",
            marker(look(0), x.place(px), y.place(py)),
            escape(&note)
        );
    }
    for value in chosen(run, &curve.target) {
        // Only chosen values that were evaluated are marked: the others have no height.
        if let Some(&(px, py)) = points.iter().find(|point| point.0 == value) {
            let place = format!("translate({} {}) scale(1.7)", at(x.place(px)), at(y.place(py)));
            let note = format!("chosen: do({} = {px:.4})", curve.target);
            let diamond = marker(CHOSEN, 0.0, 0.0);
            let _ = writeln!(body, "<g transform=\"{place}\">{diamond}<title>{}</title></g>", escape(&note));
        }
    }
    body.push_str("</g>\n");
    Figure {
        width: WIDTH,
        height: HEIGHT,
        title: format!("information over values of {}", curve.target),
        body,
    }
}
