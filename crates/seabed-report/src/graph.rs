//! Drawings of graphs: the true one, and the belief with edges drawn as strongly as they are probable.

use std::fmt::Write;

use crate::layout::{Layout, NAME_WIDTH};
use crate::model::RunView;
use crate::svg::{Figure, at, escape, fitted};

/// Edges below this probability are never drawn.
const LEAST_PROBABILITY: f64 = 0.1;

/// The probability from which edges are drawn: the 3 d most probable ones, and all that are more probable than not.
pub(crate) fn threshold(run: &RunView) -> f64 {
    let nodes = run.names.len();
    let all = (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j)));
    let mut probabilities: Vec<f64> = all.map(|(i, j)| run.probability(i, j)).collect();
    probabilities.sort_by(|a, b| b.total_cmp(a));
    probabilities.get(3 * nodes).map_or(LEAST_PROBABILITY, |p| (p + 1e-9).clamp(LEAST_PROBABILITY, 0.5))
}

struct Edge {
    from: usize,
    to: usize,
    strength: f64,
    /// `true`, `false`, or empty if the truth is unknown.
    class: &'static str,
}

/// The true graph; `None` if it is unknown.
pub(crate) fn truth(run: &RunView, layout: &Layout) -> Option<Figure> {
    run.truth.as_ref()?;
    let chosen = |i, j| run.is_true(i, j).unwrap_or(false).then_some((0.75, "true"));
    Some(draw(run, layout, "true graph", edges(run, chosen)))
}

/// The belief: edges at least as probable as the threshold, width and opacity by their probability.
pub(crate) fn belief(run: &RunView, layout: &Layout) -> Figure {
    let threshold = threshold(run);
    let chosen = |i, j| {
        let class = match run.is_true(i, j) {
            Some(true) => "true",
            Some(false) => "false",
            None => "",
        };
        Some((run.probability(i, j), class)).filter(|(p, _)| *p >= threshold)
    };
    draw(
        run,
        layout,
        &format!("belief: edges with probability of at least {threshold:.2}"),
        edges(run, chosen),
    )
}

fn edges(run: &RunView, chosen: impl Fn(usize, usize) -> Option<(f64, &'static str)>) -> Vec<Edge> {
    let nodes = run.names.len();
    let pairs = (0..nodes).flat_map(|i| (0..nodes).filter(move |&j| j != i).map(move |j| (i, j)));
    let mut edges: Vec<Edge> = pairs
        .filter_map(|(from, to)| chosen(from, to).map(|(strength, class)| Edge { from, to, strength, class }))
        .collect();
    // The strongest are drawn last, on top.
    edges.sort_by(|a, b| a.strength.total_cmp(&b.strength));
    edges
}

fn draw(run: &RunView, layout: &Layout, title: &str, edges: Vec<Edge>) -> Figure {
    let mut body = format!("<text class=\"title\" x=\"12\" y=\"18\">{}</text>\n", escape(title));
    body.push_str("<g class=\"plot\" transform=\"translate(0 26)\">\n");
    for edge in &edges {
        let both = edges.iter().any(|other| (other.from, other.to) == (edge.to, edge.from));
        draw_edge(&mut body, run, layout, edge, both);
    }
    for v in 0..run.names.len() {
        if layout.circular {
            draw_dot(&mut body, run, layout, v)
        } else {
            draw_pill(&mut body, run, layout, v)
        }
    }
    body.push_str("</g>\n");
    Figure { width: layout.width, height: layout.height + 26.0, title: title.to_string(), body }
}

fn draw_pill(body: &mut String, run: &RunView, layout: &Layout, v: usize) {
    let ((x, y), (half_width, half_height)) = (layout.centres[v], layout.halves[v]);
    let name = &run.names[v];
    let _ = writeln!(
        body,
        "<g><rect class=\"node\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>\
         <text class=\"mid\" x=\"{}\" y=\"{}\">{}</text><title>{}</title></g>",
        at(x - half_width),
        at(y - half_height),
        at(2.0 * half_width),
        at(2.0 * half_height),
        at(half_height),
        at(x),
        at(y + 4.0),
        escape(&fitted(name, 12.0, NAME_WIDTH)),
        escape(name)
    );
}

fn draw_dot(body: &mut String, run: &RunView, layout: &Layout, v: usize) {
    let (x, y) = layout.centres[v];
    let angle = (y - layout.height / 2.0).atan2(x - layout.width / 2.0).to_degrees();
    // On the left half, names are turned to read from left to right.
    let (turn, shift, class) =
        if angle.abs() <= 90.0 { (angle, 8.0, "small") } else { (angle + 180.0, -8.0, "small end") };
    let name = &run.names[v];
    let _ = writeln!(
        body,
        "<g><circle class=\"node\" cx=\"{0}\" cy=\"{1}\" r=\"3.5\"/>\
         <text class=\"{class}\" transform=\"translate({0} {1}) rotate({2})\" x=\"{shift}\" y=\"3.5\">{3}</text>\
         <title>{4}</title></g>",
        at(x),
        at(y),
        at(turn),
        escape(&fitted(name, 10.5, 60.0)),
        escape(name)
    );
}

/// A quadratic curve through the page.
#[derive(Clone, Copy)]
struct Curve {
    start: (f64, f64),
    control: (f64, f64),
    end: (f64, f64),
}

impl Curve {
    /// From centre to centre, with its middle displaced to the left by `bend` times its length.
    fn bent(start: (f64, f64), end: (f64, f64), bend: f64) -> Self {
        let (dx, dy) = (end.0 - start.0, end.1 - start.1);
        // The control point of a quadratic curve is displaced twice as far as its middle.
        let control = ((start.0 + end.0) / 2.0 + 2.0 * bend * dy, (start.1 + end.1) / 2.0 - 2.0 * bend * dx);
        Curve { start, control, end }
    }

    /// The blossom: the point at `t` for `s = t`, and the control point of the part between `s` and `t`.
    fn blossom(&self, s: f64, t: f64) -> (f64, f64) {
        let weights = [(1.0 - s) * (1.0 - t), (1.0 - s) * t + s * (1.0 - t), s * t];
        let mix = |a: f64, b: f64, c: f64| weights[0] * a + weights[1] * b + weights[2] * c;
        (mix(self.start.0, self.control.0, self.end.0), mix(self.start.1, self.control.1, self.end.1))
    }

    fn point(&self, t: f64) -> (f64, f64) {
        self.blossom(t, t)
    }
}

fn inside(point: (f64, f64), centre: (f64, f64), half: (f64, f64), margin: f64) -> bool {
    (point.0 - centre.0).abs() < half.0 + margin && (point.1 - centre.1).abs() < half.1 + margin
}

/// The first of several bends whose curve touches no other node, else the one that touches the fewest.
fn clear_curve(layout: &Layout, edge: &Edge, both: bool) -> Curve {
    let bends: &[f64] = if layout.circular {
        // Chords of a circle touch no other node.
        if both { &[0.04] } else { &[0.0] }
    } else if both {
        &[0.1, 0.17, 0.25, 0.35, 0.5, -0.25, -0.5]
    } else {
        &[0.0, 0.08, -0.08, 0.15, -0.15, 0.22, -0.22, 0.3, -0.3, 0.4, -0.4, 0.55, -0.55]
    };
    let met = |curve: &Curve| {
        let points: Vec<_> = (1..40).map(|k| curve.point(f64::from(k) / 40.0)).collect();
        let hit = |v: usize| points.iter().any(|p| inside(*p, layout.centres[v], layout.halves[v], 3.0));
        let nodes = (0..layout.centres.len()).filter(|&v| v != edge.from && v != edge.to && hit(v)).count();
        let middle = (layout.width / 2.0, layout.height / 2.0);
        let outside = points.iter().any(|p| !inside(*p, middle, middle, -2.0));
        nodes + usize::from(outside) * layout.centres.len()
    };
    let curve = |bend: f64| Curve::bent(layout.centres[edge.from], layout.centres[edge.to], bend);
    let curves = bends.iter().map(|bend| curve(*bend));
    // min_by_key keeps the first of equals: the straightest.
    curves.min_by_key(met).unwrap_or_else(|| curve(0.0))
}

fn draw_edge(body: &mut String, run: &RunView, layout: &Layout, edge: &Edge, both: bool) {
    let curve = clear_curve(layout, edge, both);
    let steps = 100;
    let time = |k: i32| f64::from(k) / f64::from(steps);
    let out_of = |v: usize, margin: f64| {
        move |k: &i32| !inside(curve.point(time(*k)), layout.centres[v], layout.halves[v], margin)
    };
    // From the border of the first node to that of the second, less the length of the arrowhead.
    let first = (0..steps).find(out_of(edge.from, 1.0)).unwrap_or(0);
    let tip = (0..=steps).rev().find(out_of(edge.to, 1.5)).unwrap_or(steps);
    let size = 5.0 + 2.5 * edge.strength;
    let end = curve.point(time(tip));
    let far = |k: &i32| (curve.point(time(*k)).0 - end.0).hypot(curve.point(time(*k)).1 - end.1) >= size;
    let neck = (first..tip).rev().find(far).unwrap_or(first);
    let (start, control, stop) =
        (curve.point(time(first)), curve.blossom(time(first), time(neck)), curve.point(time(neck)));
    let length = (end.0 - stop.0).hypot(end.1 - stop.1).max(1e-6);
    let side = ((end.1 - stop.1) / length * size * 0.45, -(end.0 - stop.0) / length * size * 0.45);
    let dash = if edge.class == "false" { " stroke-dasharray=\"5 3\"" } else { "" };
    let width = (0.9 + 2.1 * edge.strength) * if layout.circular { 0.6 } else { 1.0 };
    let opacity = 0.35 + 0.65 * edge.strength;
    let note = format!(
        "{} → {}: {:.2}",
        run.names[edge.from],
        run.names[edge.to],
        run.probability(edge.from, edge.to)
    );
    let _ = writeln!(
        body,
        "<g opacity=\"{opacity:.2}\"><path class=\"edge {class}\" stroke-width=\"{}\"{dash} d=\"M{} {}Q{} {} {} {}\"/>\
         <path class=\"head {class}\" d=\"M{} {}L{} {}L{} {}Z\"/><title>{}</title></g>",
        at(width),
        at(start.0),
        at(start.1),
        at(control.0),
        at(control.1),
        at(stop.0),
        at(stop.1),
        at(end.0),
        at(end.1),
        at(stop.0 + side.0),
        at(stop.1 + side.1),
        at(stop.0 - side.0),
        at(stop.1 - side.1),
        escape(&note),
        class = edge.class,
    );
}

/// What the strokes of the belief mean.
pub(crate) fn legend(run: &RunView) -> Figure {
    let mut body = String::from("<g class=\"legend\">\n");
    let mut x = 12.0;
    let entries: &[(&str, &str, f64)] = if run.truth.is_some() {
        &[("true", "true edge", 84.0), ("false", "not in the truth", 124.0)]
    } else {
        &[]
    };
    for (class, label, width) in entries {
        let dash = if *class == "false" { " stroke-dasharray=\"5 3\"" } else { "" };
        let _ = writeln!(
            body,
            "<g transform=\"translate({} 6)\"><path class=\"edge {class}\" stroke-width=\"2.4\"{dash} d=\"M0 7H24\"/>\
             <text x=\"30\" y=\"11\">{label}</text></g>",
            at(x)
        );
        x += width + 24.0;
    }
    let y = if entries.is_empty() { 17 } else { 37 };
    let _ = writeln!(
        body,
        "<text class=\"soft\" x=\"12\" y=\"{y}\">the wider and darker, the more probable</text>"
    );
    body.push_str("</g>\n");
    Figure { width: 360.0, height: f64::from(y) + 9.0, title: "legend".into(), body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_certain_edges_are_all_drawn_and_of_improbable_ones_only_some() {
        let of = |p: &dyn Fn(usize, usize) -> f64| {
            let all = 0..10;
            let row = |i: usize| all.clone().map(|j| p(i, j)).collect();
            let names = all.clone().map(|v| format!("v{v}")).collect();
            threshold(&RunView {
                names,
                edge_probabilities: all.clone().map(row).collect(),
                ..RunView::default()
            })
        };
        assert!(of(&|i, j| f64::from(u8::from(i < j))) <= 0.5);
        assert_eq!(of(&|_, _| 0.0), LEAST_PROBABILITY);
        let weak = |i: usize, j: usize| 0.4 * ((10 * i + j) as f64 / 100.0);
        let least = of(&weak);
        let pairs = (0..100).map(|at| (at / 10, at % 10)).filter(|(i, j)| i != j);
        assert_eq!(pairs.filter(|&(i, j)| weak(i, j) >= least).count(), 30);
    }
}
