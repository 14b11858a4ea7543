//! The edge probabilities as a matrix: causes in rows, effects in columns, true edges outlined.

use std::fmt::Write;

use crate::model::RunView;
use crate::svg::{Figure, at, escape, fitted, text_width};

const LABELS: f64 = 74.0;

/// The matrix with its legend. With few variables, cells show their numbers; with many, the matrix is large.
pub(crate) fn draw(run: &RunView) -> Figure {
    let nodes = run.names.len();
    let cell = if nodes <= 9 { 30.0 } else { (270.0 / nodes as f64).max(14.0) };
    let font = if cell >= 16.0 { ("", 12.0) } else { (" small", 10.5) };
    let longest = run.names.iter().map(|name| text_width(name, font.1)).fold(20.0, f64::max);
    let labels = longest.min(LABELS);
    let (left, top) = (labels + 32.0, labels + 56.0);
    let size = cell * nodes as f64;
    let mut body = String::from("<text class=\"title\" x=\"12\" y=\"18\">edge probabilities</text>\n");
    let middle = size / 2.0;
    let _ = writeln!(
        body,
        "<text class=\"soft mid\" x=\"{}\" y=\"40\">effect</text>\n\
         <text class=\"soft mid\" transform=\"translate(16 {}) rotate(-90)\">cause</text>",
        at(left + middle.max(20.0)),
        at(top + middle.max(20.0))
    );
    for (v, name) in run.names.iter().enumerate() {
        let centre = (v as f64 + 0.5) * cell + 4.0;
        let label = escape(&fitted(name, font.1, LABELS));
        let _ = writeln!(
            body,
            "<text class=\"end{2}\" x=\"{0}\" y=\"{1}\">{label}</text>\
             <text class=\"{2}\" transform=\"translate({3} {4}) rotate(-90)\">{label}</text>",
            at(left - 5.0),
            at(top + centre),
            font.0,
            at(left + centre),
            at(top - 5.0)
        );
    }
    let _ = writeln!(
        body,
        "<g class=\"plot\" transform=\"translate({} {})\">\n<rect class=\"empty\" width=\"{2}\" height=\"{2}\"/>",
        at(left),
        at(top),
        at(size)
    );
    cells(&mut body, run, cell);
    body.push_str("</g>\n");
    let width = (left + size + 14.0).max(340.0);
    let figure = Figure { width, height: top + size + 8.0, title: "edge probabilities".into(), body };
    figure.above(&legend(run))
}

fn cells(body: &mut String, run: &RunView, cell: f64) {
    let nodes = run.names.len();
    // No variable causes itself: a line through the diagonal.
    let size = at(cell * nodes as f64);
    let _ = writeln!(body, "<path class=\"diagonal\" d=\"M0 0L{size} {size}\"/>");
    let pairs = || (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j)));
    let square = |class: &str, i: usize, j: usize, inset: f64, more: &str| {
        let (x, y) = (at(j as f64 * cell + inset), at(i as f64 * cell + inset));
        let side = at(cell - 2.0 * inset);
        format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\"{more}")
    };
    for (i, j) in pairs() {
        let p = run.probability(i, j);
        if p >= 0.005 {
            let note = escape(&format!("{} → {}: {p:.2}", run.names[i], run.names[j]));
            let opacity = format!(" fill-opacity=\"{p:.2}\"");
            let _ = writeln!(body, "{}><title>{note}</title></rect>", square("cell", i, j, 0.5, &opacity));
        }
    }
    for (i, j) in pairs().filter(|&(i, j)| i != j && run.is_true(i, j) == Some(true)) {
        let _ = writeln!(body, "{}/>", square("edgecell", i, j, 1.5, ""));
    }
    if cell >= 28.0 {
        for (i, j) in pairs().filter(|&(i, j)| run.probability(i, j) >= 0.005) {
            let (x, y) = ((j as f64 + 0.5) * cell, (i as f64 + 0.5) * cell + 4.0);
            let p = run.probability(i, j);
            let _ = writeln!(body, "<text class=\"mid small\" x=\"{}\" y=\"{}\">{p:.2}</text>", at(x), at(y));
        }
    }
}

fn legend(run: &RunView) -> Figure {
    let mut body = String::from("<g class=\"legend\" transform=\"translate(12 4)\">\n");
    body.push_str("<text class=\"soft\" y=\"13\">probability 0</text>");
    for k in 0..5 {
        let _ = write!(
            body,
            "<rect class=\"empty\" x=\"{0}\" y=\"2\" width=\"16\" height=\"14\"/>\
             <rect class=\"cell\" x=\"{0}\" y=\"2\" width=\"16\" height=\"14\" fill-opacity=\"{1}\"/>",
            88 + 16 * k,
            f64::from(k) / 4.0
        );
    }
    body.push_str("<text class=\"soft\" x=\"174\" y=\"13\">1</text>\n");
    if run.truth.is_some() {
        body.push_str(
            "<rect class=\"edgecell\" x=\"205\" y=\"2\" width=\"14\" height=\"14\"/>\
             <text class=\"soft\" x=\"226\" y=\"13\">true edge</text>\n",
        );
    }
    body.push_str("</g>\n");
    Figure { width: 340.0, height: 30.0, title: "legend".into(), body }
}
